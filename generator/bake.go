package generator

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrNothingToBake says that no hook is run once per image.
var ErrNothingToBake = errors.New("no hook says run: once-per-image")

// Bake returns a POSIX shell script that runs the once-per-image hooks among hooks in an image that is being made: in
// the order in which a node runs them, with their attempts, timeouts, files, drop-ins and environment. Of each that is
// done it leaves a stamp, /var/lib/kopshook/@image/NAME, with the hash that stands in the hook's unit. The runner
// compares the two: a node of the image runs verify alone where they are equal.
//
// The error is that of Generate, or ErrNothingToBake.
func Bake(ig InstanceGroup, runtime string, hooks []Hook) (string, error) {
	m, err := newModel(ig, runtime, hooks)
	if err != nil {
		return "", err
	}
	m.hooks = slices.DeleteFunc(m.hooks, func(h *hook) bool { return !h.OncePerImage })
	if len(m.hooks) == 0 {
		return "", ErrNothingToBake
	}
	var b strings.Builder
	if slices.ContainsFunc(m.hooks, (*hook).fetches) {
		b.WriteString(bakedFile("fetch/fetch", 0o755, []byte(m.runtime.Fetch)))
	}
	if helper := m.cloudHelper(); helper != "" {
		b.WriteString(bakedFile("fetch/cloud", 0o755, []byte(helper)))
	}
	for _, h := range m.hooks {
		b.WriteString(h.bake())
	}
	return strings.NewReplacer(
		"@cluster@", ig.Cluster,
		"@group@", ig.Name,
		"@role@", ig.Role,
		"@hooks@\n", b.String(),
	).Replace(m.runtime.Bake), nil
}

// inImage is where an attempt runs in an image: a folder for each hook, side by side. systemd may not run there.
var inImage = surroundings{label: "../label", fetch: "../fetch/fetch", cloud: "../fetch/cloud", reload: "[ ! -d /run/systemd/system ] || systemctl daemon-reload"}

// bake returns the lines of the script that bring the hook's files and run it.
func (h *hook) bake() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# %s\n", h.Name)
	for _, f := range h.nodeFiles("")[1:] { // not the unit
		b.WriteString(bakedFile(h.Name+strings.TrimPrefix(f.path, hookDir(h.Name)), f.mode, f.content))
	}
	fail := "block"
	if h.Continue {
		fail = "continue"
	}
	var codes []string
	for _, code := range h.RebootExitCodes {
		codes = append(codes, strconv.Itoa(code))
	}
	words := []string{"hook", h.Name, string(h.Phase), h.hash(), fail, strconv.Itoa(h.Attempts), strconv.Itoa(seconds(h.RetryDelay)), strconv.Itoa(seconds(h.AttemptTimeout())), strings.Join(codes, " ")}
	command, args := h.command(inImage)
	for i, line := range [][]string{words, environment(h.Env), command, args} {
		if len(line) == 0 {
			continue
		}
		if i > 0 {
			b.WriteString(" \\\n  ")
		}
		for j, w := range line {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(shellWord(w))
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// bakedFile returns the lines that write a file: plain where a here-document can hold it.
func bakedFile(path string, mode uint32, content []byte) string {
	const end = "KOPSHOOK_END"
	head := fmt.Sprintf("file %s %04o", shellWord(path), mode)
	odd := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }
	text := string(content)
	if utf8.Valid(content) && !strings.ContainsFunc(text, odd) && !strings.HasSuffix(text, "\n") {
		return "printf %s " + shellWord(text) + " | " + head + " || exit\n"
	}
	if utf8.Valid(content) && !strings.ContainsFunc(text, odd) && strings.HasSuffix(text, "\n") && !slices.Contains(strings.Split(text, "\n"), end) {
		return head + " <<'" + end + "'\n" + text + end + "\n"
	}
	return "base64 -d <<'" + end + "' | " + head + " || exit\n" + base64.StdEncoding.EncodeToString(content) + "\n" + end + "\n"
}
