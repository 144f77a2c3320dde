package generator

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	kopsConfiguration = "kops-configuration.service"
	kubelet           = "kubelet.service"
)

// UnitName returns the systemd unit of a hook.
func UnitName(hook string) string { return "kopshook-" + hook + ".service" }

// hookDir is where a hook's scripts and staged files lie on the node. They run in it.
func hookDir(hook string) string { return "/opt/kopshook/hooks/" + hook }

// unit returns the text of a hook's unit. hash stands for all that the hook's part holds.
func (h *hook) unit(hash string) string {
	template := h.runtime.Hook
	if h.Phase == PreShutdown {
		template = h.runtime.PreShutdown
	}
	return strings.NewReplacer(
		"@order@", h.unitOrder(),
		"@timeout@", strconv.Itoa(h.unitTimeout()),
		"@run@", h.runArguments(hash),
	).Replace(template) + h.unitExtras()
}

// unitOrder returns what the unit waits for beyond what all hooks wait for. What gates what is not said here but by
// the gate.
func (h *hook) unitOrder() string {
	switch {
	case h.Phase == PostKubelet:
		return " " + kubelet
	case h.Phase == PreShutdown && h.predecessor != "":
		return "\nBefore=" + UnitName(h.predecessor) // units stop in the opposite order
	}
	return ""
}

// unitExtras returns the lines of the unit that few hooks need.
func (h *hook) unitExtras() string {
	var b strings.Builder
	if len(h.Before) > 0 {
		// what the image starts at boot has already failed for want of the hook on the first one; "enabled" is literal,
		// so that a unit that nobody wants stays down
		b.WriteString("ExecStartPost=-/bin/sh -c 'for u; do [ \"$$(systemctl is-enabled \"$$u\")\" != enabled ] || systemctl start --no-block \"$$u\"; done' - " + join(h.Before) + "\n")
	}
	if len(h.RebootExitCodes) > 0 {
		fmt.Fprintf(&b, "ExecStartPost=/bin/rm -f /var/lib/kopshook/status/%s.reboots\n", h.Name)
	}
	if h.CleanUp && !h.EveryBoot && !h.OncePerImage {
		fmt.Fprintf(&b, "ExecStartPost=/bin/sh -c '[ -e /var/lib/kopshook/skip/%s ] || rm -rf %s'\n", h.Name, hookDir(h.Name))
	}
	return b.String()
}

// unitTimeout returns seconds above the longest that the runner may take, so that systemd never ends a hook that the
// runner has in hand, and yet no unit starts forever.
func (h *hook) unitTimeout() int {
	const (
		attempt = 9 + 5 // timeout -k, and until all processes are gone
		reboot  = 10*60 + 5*60
	)
	around := 10 * 60 // writing back what the hook wrote to a slow disk
	if h.Phase == PreShutdown {
		around = 60
	}
	attempts := h.Attempts
	if h.OncePerImage {
		attempts++ // verify alone
	}
	total := around + attempts*(seconds(h.AttemptTimeout())+attempt)
	delay := seconds(h.RetryDelay)
	for range h.Attempts - 1 {
		total += delay
		delay = min(2*delay, 120)
	}
	if len(h.RebootExitCodes) > 0 {
		total += reboot
	}
	return total
}

// seconds rounds up: the runner counts whole seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// runArguments returns the runner's arguments, quoted for ExecStart=.
func (h *hook) runArguments(hash string) string {
	how, fail, after := "once", "block", ":"
	switch {
	case h.EveryBoot:
		how = "every"
	case h.OncePerImage:
		how = "image"
	}
	if h.Continue {
		fail = "continue"
	}
	if len(h.RebootExitCodes) > 0 {
		after = "/bin/sh /opt/kopshook/bin/reboot " + h.Name
		for _, code := range h.RebootExitCodes {
			after += " " + strconv.Itoa(code)
		}
	}
	settings := []string{h.Name, string(h.Phase), hash, how, fail, strconv.Itoa(h.Attempts), strconv.Itoa(seconds(h.RetryDelay)), strconv.Itoa(seconds(h.AttemptTimeout())), after}
	command, args := h.command(surroundings{label: "/run/kopshook/ok/" + h.Name + "~", fetch: "/opt/kopshook/bin/fetch", cloud: "/opt/kopshook/bin/cloud", facts: "/opt/kopshook/bin/facts", reload: "systemctl daemon-reload"})
	env := environment(h.Env)
	if env == nil && args == nil {
		return join(append(settings, command...))
	}
	var lines []string
	for _, words := range [][]string{settings, env, command, args} {
		if words != nil {
			lines = append(lines, join(words))
		}
	}
	return strings.Join(lines, " \\\n  ")
}

// join returns arguments on one line of ExecStart=.
func join(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = argument(a)
	}
	return strings.Join(quoted, " ")
}

// surroundings are what an attempt finds where it runs.
type surroundings struct {
	label  string // a file: it says in what the attempt has failed
	fetch  string // the helper that downloads
	cloud  string // the helper that asks the cloud as the machine
	facts  string // the helper that sets variables which few hooks ask for; "" where they are empty
	reload string // tells systemd of new units
}

// command returns what one attempt runs: the script itself, or a shell that takes the steps one after the other. The
// shell's text is ours alone: what comes from the spec are its arguments.
func (h *hook) command(at surroundings) (command, args []string) {
	if h.Phase == PostKubelet {
		command = []string{"/bin/sh", "/opt/kopshook/bin/up"}
	}
	switch {
	case !h.asks():
	case at.facts == "":
		command = append(command, "env", "KOPSHOOK_API_ENDPOINT=", "KOPSHOOK_OPERATION=", "KOPSHOOK_SHUTDOWN=")
	default:
		command = append(command, "/bin/sh", at.facts)
	}
	if len(h.Scripts) == 1 && len(h.Files)+len(h.DropIns) == 0 && h.Verify == nil && !h.OncePerImage {
		return append(command, execute(h.Scripts[0].Name, h.Scripts[0].Content)...), nil
	}
	s := steps{label: "script"}
	if h.OncePerImage {
		h.verifyAlone(&s)
	}
	h.placeFiles(&s, at)
	if len(h.Scripts) > 1 {
		s.add(ownTime, seconds(h.Timeout))
	}
	for i, script := range h.Scripts {
		switch {
		case len(h.Scripts) == 1:
			s.in("script")
		case isSafeName(script.Name):
			s.in(script.Name)
		default:
			s.in(fmt.Sprintf("script %d", i+1))
		}
		if len(h.Scripts) > 1 {
			s.with("own", script.Name, script.Content)
		} else {
			s.run(script.Name, script.Content)
		}
	}
	if h.Verify != nil {
		s.in("verify")
		s.run("verify", h.Verify)
	}
	if len(s.text) == 0 {
		return append(command, "/bin/true"), nil
	}
	// -x, so that the journal shows each step
	return append(command, "/bin/sh", "-exc", strings.Join(s.text, "; ")), append([]string{at.label}, s.args...)
}

// verifyAlone adds what attempt 0 does: the image has done the rest.
func (h *hook) verifyAlone(s *steps) {
	if h.Verify == nil {
		s.add(`[ "$KOPSHOOK_ATTEMPT" != 0 ] || exit 0`)
		return
	}
	words := execute("verify", h.Verify)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	s.add(`[ "$KOPSHOOK_ATTEMPT" != 0 ] || { echo verify: > "$0"; exec %s; }`, strings.Join(words, " "))
}

// placeFiles adds the steps that put files and drop-ins in place.
func (h *hook) placeFiles(s *steps, at surroundings) {
	reload := false
	files := h.staged()
	for i, f := range files {
		s.in("files")
		reload = reload || isUnitFile(f.Path)
		path := s.arg(f.Path)
		if f.isEmbedded() {
			user, group, _ := strings.Cut(f.Owner, ":")
			s.add("install -DT -m %04o -o %s -g %s files/%d %s", f.Mode, user, group, embedded(files, i), path)
			continue
		}
		s.addQuiet("%s", strings.Join(h.brings(s, at, f, i, path), " || "))
	}
	if reload {
		s.add("%s", at.reload)
	}
}

// steps is a shell command line and its arguments.
type steps struct {
	text  []string
	args  []string
	label string
}

// arg adds an argument and returns the word that stands for it.
func (s *steps) arg(value string) string {
	s.args = append(s.args, value)
	if n := len(s.args); n > 9 {
		return fmt.Sprintf(`"${%d}"`, n)
	}
	return fmt.Sprintf(`"$%d"`, len(s.args))
}

func (s *steps) add(format string, args ...any) {
	s.text = append(s.text, fmt.Sprintf(format, args...))
}

// addQuiet is add for what the journal is not to show: an address may be signed. Something comes before it.
func (s *steps) addQuiet(format string, args ...any) {
	if last := len(s.text) - 1; s.text[last] == traceOn {
		s.text = s.text[:last]
	} else {
		s.add(traceOff)
	}
	s.add(format, args...)
	s.add(traceOn)
}

const traceOff, traceOn = "set +x", "set -x"

// in says in what the attempt has failed, if it fails from here on: $0 is where the runner looks.
func (s *steps) in(label string) {
	if label != s.label {
		s.add(`echo %s: > "$0"`, label)
		s.label = label
	}
}

// ownTime is a function that runs one of several scripts with a time of its own. $0 holds the name of the script: a status
// says which one took too long, and for how long it might have run.
const ownTime = `own() { timeout -vk 9 %[1]d "$@" || { s=$?; [ $s != 124 ] || { read -r n < "$0"; echo "${n%%:} timed out after %[1]d s:" > "$0"; s=1; }; exit $s; }; }`

func (s *steps) run(name string, content []byte) { s.with("", name, content) }

// with is run behind a command.
func (s *steps) with(command, name string, content []byte) {
	var words []string
	if command != "" {
		words = append(words, command)
	}
	for _, w := range execute(name, content) {
		words = append(words, s.arg(w))
	}
	s.text = append(s.text, strings.Join(words, " "))
}

// execute returns the command that runs a script of the hook. It names the interpreter, as the kernel would take it
// from the first line (Linux, fs/binfmt_script.c): a file system that is mounted noexec does not matter then.
func execute(name string, content []byte) []string {
	file := "./" + name
	first, _, _ := bytes.Cut(content, []byte("\n"))
	line, shebang := bytes.CutPrefix(first, []byte("#!"))
	if bytes.HasPrefix(content, []byte("\x7fELF")) || shebang && !utf8.Valid(line) {
		return []string{file}
	}
	line = bytes.Trim(line, " \t")
	if !shebang || len(line) == 0 {
		return []string{"/bin/sh", file}
	}
	interpreter, argument := line, []byte(nil)
	if i := bytes.IndexAny(line, " \t"); i >= 0 {
		interpreter, argument = line[:i], bytes.TrimLeft(line[i:], " \t")
	}
	if len(argument) > 0 {
		return []string{string(interpreter), string(argument), file}
	}
	return []string{string(interpreter), file}
}

// isUnitFile says whether systemd reads the file: it has to be told.
func isUnitFile(path string) bool {
	for _, dir := range []string{"/etc/systemd/system/", "/run/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/", "/usr/local/lib/systemd/system/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// embedded returns the index of the file whose content stands for that of files[i]: what is the same is embedded once.
func embedded(files []File, i int) int {
	return slices.IndexFunc(files, func(f File) bool { return f.isEmbedded() && bytes.Equal(f.Content, files[i].Content) })
}

// staged returns the hook's files and drop-ins, all of which the runner puts in place.
func (h *hook) staged() []File {
	files := append([]File(nil), h.Files...)
	for _, d := range h.DropIns {
		files = append(files, File{
			// not kopshook-*.conf, which the gate sweeps; late, so that it wins over others
			Path: "/etc/systemd/system/" + d.Unit + ".d/90-kopshook-" + h.Name + ".conf",
			Mode: 0o644, Owner: "root:root", Content: []byte(d.Content),
		})
	}
	return files
}
