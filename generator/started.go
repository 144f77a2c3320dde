package generator

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Started is how a unit starts a hook: what its line gives the runner (templates/v1/run.sh).
type Started struct {
	Name            string
	Phase           Phase
	Hash            string
	Run             string // OncePerInstance, OncePerImage or EveryBoot
	OnFailure       string // block or continue
	Attempts        int
	RetryDelay      time.Duration
	Timeout         time.Duration
	RebootExitCodes []string

	command []string // variables, and what an attempt runs
}

// StartOf reads how a unit that Generate made starts its hook, as its text tells; false of other units, and of one that
// somebody edited until it starts no hook.
func StartOf(unit string) (Started, bool) {
	for _, line := range unitLines(unit) {
		if key, value, _ := strings.Cut(line, "="); key == "ExecStart" || key == "ExecStop" {
			if s, ok := startOf(value); ok {
				return s, true
			}
		}
	}
	return Started{}, false
}

// unitLines are the lines of a unit, continued ones as one.
func unitLines(text string) []string {
	return strings.Split(strings.ReplaceAll(text, " \\\n  ", " "), "\n")
}

// startOf reads what runArguments wrote.
func startOf(line string) (Started, bool) {
	words := splitArguments(line)
	i := slices.Index(words, "/opt/kopshook/bin/run")
	if i < 0 || len(words) < i+11 {
		return Started{}, false
	}
	words = words[i+1:]
	s := Started{Name: words[0], Phase: Phase(words[1]), Hash: words[2], OnFailure: words[4], command: words[9:]}
	s.Run = map[string]string{"once": OncePerInstance, "every": EveryBoot, "image": OncePerImage}[words[3]]
	s.Attempts, _ = strconv.Atoi(words[5]) // of an edited unit it may be anything
	s.RetryDelay, s.Timeout = secondsOf(words[6]), secondsOf(words[7])
	if after := strings.Fields(words[8]); len(after) > 3 {
		s.RebootExitCodes = after[3:]
	}
	return s, true
}

func secondsOf(s string) time.Duration {
	n, _ := strconv.Atoi(s)
	return time.Duration(n) * time.Second
}

// scriptTimeout is how long a script may take: the attempt's time, or one of several scripts its own.
func (s *Started) scriptTimeout() time.Duration {
	for _, w := range s.command {
		if _, rest, ok := strings.Cut(w, "own() { timeout -vk 9 "); ok {
			n, _, _ := strings.Cut(rest, " ")
			return secondsOf(n)
		}
	}
	return s.Timeout
}
