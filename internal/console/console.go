// Package console reads what hooks wrote to the console of a machine: of a node that never joined, a console is often
// all that a cloud lets one see. Runtime v1 writes each change of a hook's state as one line, "kopshook: " and the JSON of
// the status file (templates/v1/run.sh), and where the gate or an archive fails, one with "part", "state" and "reason".
//
// A console is shared and bounded: the kernel writes into lines, terminals add colors and carriage returns, clouds keep
// the last 64 KiB, and a second boot follows the first. What cannot be read whole is read as far as it goes, and counted.
package console

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"kopshook.dev/kopshook/internal/nodestatus"
)

// Limit is the most of a console that is read, in bytes: its end. Clouds keep far less.
const Limit = 16 << 20

// Mark begins each line of ours.
const Mark = "kopshook: "

// Boot is what one boot of the machine wrote.
type Boot struct {
	Hooks    []nodestatus.Status // the last state of each hook, in the order in which hooks were first named
	Messages []string            // of the gate and of archives; each once
}

// Console is what was found in a console's text.
type Console struct {
	Boots []Boot // in their order, without those that wrote nothing of ours; the first one may have lost its beginning
	Cut   int    // lines of ours that were cut or written into, and not read
}

// Last is the newest boot that wrote something, or nil.
func (c *Console) Last() *Boot {
	if len(c.Boots) == 0 {
		return nil
	}
	return &c.Boots[len(c.Boots)-1]
}

// Failed returns the hooks that had failed when the boot's text ends, and those that still ran.
func (b *Boot) Failed() (failed, running []nodestatus.Status) {
	for _, s := range b.Hooks {
		switch s.State {
		case nodestatus.Failed:
			failed = append(failed, s)
		case nodestatus.Running:
			running = append(running, s)
		}
	}
	return failed, running
}

var patterns = sync.OnceValue(func() (p struct{ controls, kernel, boot, partial *regexp.Regexp }) {
	// what a terminal takes as a command; line feeds and tabs are text
	p.controls = regexp.MustCompile("\x1b(?:\\[[0-9;:?!]*[A-Za-z]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|[^\\[\\]\n])|[\x00-\x08\x0b-\x1f\x7f]")
	// a message of the kernel that was written into a line: "[   12.345678] usb 1-1: ..."
	p.kernel = regexp.MustCompile(`(?:<\d+>)?\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? .*$`)
	// the first line of a kernel, or of systemd where there is no kernel of the machine's own
	p.boot = regexp.MustCompile(`^(?:\[ *0\.000000\](?:\[ *[TC]\d+\])? )?Linux version \d|^(?:\[ *\d+\.\d+\] )?systemd(?:\[1\]:)? (?:systemd )?\d+.* running in system mode`)
	p.partial = regexp.MustCompile(`^\{"hook": ?"([a-z0-9-]+)", ?"phase": ?"([a-z-]+)", ?"state": ?"(running|succeeded|failed|skipped)"(?:, ?"reason": ?"([^"\\]*))?`)
	return p
})

// joined is how many lines one status may have been torn into: a serial port sends 16 bytes at a time, and the kernel may
// write between any two of them.
const joined = 32

// longest is the most that one of our lines takes, in bytes, with what was written into it. A status is far below it.
const longest = 16 << 10

// Parse reads the text of a console. It never fails: what is not ours is passed over.
func Parse(text []byte) *Console {
	if len(text) > Limit {
		text = text[len(text)-Limit:]
	}
	p := patterns()
	lines := strings.Split(string(p.controls.ReplaceAll(bytes.ToValidUTF8(text, []byte("?")), nil)), "\n")
	c := &Console{}
	r := &reader{console: c, fresh: true}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if p.boot.MatchString(line) {
			r.fresh = true
		}
		for {
			_, after, ours := strings.Cut(line, Mark)
			if !ours {
				break
			}
			line = after
			if !strings.HasPrefix(after, "{") {
				continue // somebody else's sentence
			}
			text, _, _ := strings.Cut(after, Mark)
			text = text[:min(len(text), longest)]
			e, length, ok := whole(text)
			line = after[length:]
			if !ok {
				var more int
				if e, more, ok = torn(text, lines[i+1:]); ok {
					i += more
				} else if e.status, ok = partial(text); !ok {
					c.Cut++
				}
			}
			switch {
			case ok && e.message != "":
				r.message(e.message)
			case ok:
				r.status(e.status)
			}
		}
	}
	return c
}

// entry is one line of ours: a hook's status, or a message.
type entry struct {
	status  nodestatus.Status
	message string
}

// whole reads an entry at the beginning of text, and returns its length there.
func whole(text string) (e entry, length int, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return e, 0, false
	}
	length = int(d.InputOffset())
	var part struct{ Part, State, Reason string }
	if json.Unmarshal(raw, &part) == nil && part.Part != "" && part.State != "" {
		e.message = part.Part + " " + part.State
		if part.Reason != "" {
			e.message += ": " + part.Reason
		}
		return e, length, true
	}
	var err error
	e.status, err = nodestatus.Parse(raw)
	return e, length, err == nil
}

// torn reads an entry that messages of the kernel were written into: its rest stands on one of the next lines.
func torn(text string, next []string) (e entry, more int, ok bool) {
	p := patterns()
	text = p.kernel.ReplaceAllString(text, "")
	for n := 0; n < len(next) && n < joined; n++ {
		if len(text)+len(next[n]) > longest || strings.Contains(next[n], Mark) {
			break
		}
		text += p.kernel.ReplaceAllString(next[n], "")
		if e, _, ok := whole(text); ok {
			return e, n + 1, true
		}
	}
	return e, 0, false
}

// partial reads the beginning of a status, as far as its state.
func partial(text string) (s nodestatus.Status, ok bool) {
	m := patterns().partial.FindStringSubmatch(text)
	if m == nil {
		return s, false
	}
	return nodestatus.Status{Hook: m[1], Phase: m[2], State: nodestatus.State(m[3]), Reason: m[4]}, true
}

type reader struct {
	console *Console
	fresh   bool           // the next thing of ours belongs to another boot
	hooks   map[string]int // where the hooks of the last boot stand in it
	said    map[string]bool
}

func (r *reader) boot() *Boot {
	if r.fresh {
		r.console.Boots = append(r.console.Boots, Boot{})
		r.fresh, r.hooks, r.said = false, map[string]int{}, map[string]bool{}
	}
	return r.console.Last()
}

func (r *reader) status(s nodestatus.Status) {
	b := r.console.Last()
	// an image's other machine, or an instance that was replaced behind the same console
	if b != nil && !r.fresh && len(b.Hooks) > 0 && s.InstanceID != "" && b.Hooks[0].InstanceID != "" && b.Hooks[0].InstanceID != s.InstanceID {
		r.fresh = true
	}
	b = r.boot()
	if i, known := r.hooks[s.Hook]; known {
		b.Hooks[i] = s
		return
	}
	r.hooks[s.Hook] = len(b.Hooks)
	b.Hooks = append(b.Hooks, s)
}

func (r *reader) message(text string) {
	if b := r.boot(); !r.said[text] {
		r.said[text] = true
		b.Messages = append(b.Messages, text)
	}
}
