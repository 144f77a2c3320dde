package cli

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// printChanges says what merging changes, by what it means: a line for each hook, with its fields, the instance groups and
// how many nodes they have; then what all hooks share. With files, the contents on the nodes follow. It says whether anything
// changes.
func printChanges(w io.Writer, groups []*plan.Group, files bool) bool {
	p := changePrinter{color: colored(w), bodies: map[string]string{}}
	hooks, shared := tallyChanges(groups, func(c plan.HookChange) string {
		text := p.head(c)
		if files {
			text += "\n" + p.body(c)
		}
		return text
	})
	for _, s := range append(hooks, shared...) {
		head, body, _ := strings.Cut(s.text, "\n")
		before := "  "
		if files {
			fmt.Fprintln(w)
			before = ""
		}
		fmt.Fprint(w, onScreen(w, before, head+" ("+s.among()+")"), body)
	}
	return len(hooks)+len(shared) > 0
}

// tallyChanges returns what text says of each change of a hook, and one line, or two, about what has no hook of its own.
func tallyChanges(groups []*plan.Group, text func(plan.HookChange) string) (hooks, shared []*said) {
	var ofHooks, ofRuntime tally
	verbs := map[string][]string{}
	for _, g := range groups {
		if !g.Changes() {
			continue
		}
		for _, c := range g.HookChanges() {
			s := text(c)
			ofHooks.add(s, s, g)
		}
		changes := g.PartChanges()
		told := false
		for _, p := range changes {
			if hookOfPart(p.Name) != "" {
				continue
			}
			name := sharedName(p.Name)
			if !slices.Contains(verbs[p.Verb()], name) {
				verbs[p.Verb()] = append(verbs[p.Verb()], name)
			}
			if !told {
				ofRuntime.add("", "", g)
			}
			told = true
		}
		if len(changes) == 0 {
			ofRuntime.add("order", "~ the same parts in another order", g)
		}
	}
	for _, s := range ofRuntime.all {
		if s.text != "" {
			continue
		}
		var texts []string
		for _, verb := range []string{"adds", "changes", "removes"} {
			if names := verbs[verb]; len(names) > 0 {
				texts = append(texts, verb+" "+strings.Join(names, ", "))
			}
		}
		s.text = "~ what all hooks share: " + strings.Join(texts, "; ")
	}
	return ofHooks.all, ofRuntime.all
}

// sharedName is what people call a part that all hooks share: "gate" of kopshook-000-gate.sh.
func sharedName(part string) string {
	name := strings.TrimPrefix(part, "kopshook-")
	if number, rest, ok := strings.Cut(name, "-"); ok && strings.Trim(number, "0123456789") == "" {
		name = rest
	}
	return report.OneLine(strings.TrimSuffix(name, ".sh"))
}

// changePrinter writes changes of hooks, each body once.
type changePrinter struct {
	color  bool
	bodies map[string]string
}

func (p *changePrinter) paint(code, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// head is "~ a: timeout 2m -> 3m", "+ a: pre-nodeup, timeout 20m, attempts 3", "- a".
func (p *changePrinter) head(c plan.HookChange) string {
	hook := report.OneLine(c.Hook)
	switch c.Verb {
	case "adds":
		return p.paint("32", "+ "+hook) + settings(c)
	case "removes":
		return p.paint("31", "- "+hook)
	}
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, report.OneLine(f.String()))
	}
	return p.paint("33", "~ "+hook) + ": " + strings.Join(fields, ", ")
}

// settings are what one wants to know of a hook that comes: its phase, how long it may take, and what is not the default.
func settings(c plan.HookChange) string {
	fields := c.Settings()
	value := func(name string) string {
		i := slices.IndexFunc(fields, func(f generator.FieldChange) bool { return f.Field == name })
		if i < 0 {
			return ""
		}
		return fields[i].New
	}
	phase := value("phase")
	if phase == "" { // only its hash is known
		return ""
	}
	text := ": " + phase
	for _, f := range fields {
		field := hookspec.HookField(f.Field)
		always := f.Field == "timeout" || f.Field == "attempts"
		if slices.Contains([]string{"phase", "script", "verify", "files", "dropIns", "cloudConfig"}, f.Field) || f.New == "" ||
			!always && field != nil && f.New == field.DefaultFor(hookspec.Phase(phase)) {
			continue
		}
		text += ", " + f.Field + " " + report.OneLine(f.New)
	}
	return text
}

// body is what follows the head: values that are too long for it, and the files on the node.
func (p *changePrinter) body(c plan.HookChange) string {
	if body, ok := p.bodies[c.Key()]; ok {
		return body
	}
	var b strings.Builder
	for _, f := range c.Fields {
		inFiles := slices.Contains([]string{"script", "verify", "files", "dropIns", "cloudConfig"}, f.Field)
		if !inFiles && f.String() == f.Field && f.Old != f.New {
			b.WriteString("  " + f.Field + "\n")
			p.lines(&b, f.Old, f.New)
		}
	}
	for _, f := range c.Files() {
		p.file(&b, f)
	}
	if c.InBucket() {
		b.WriteString("  its files lie in a bucket: --pushed shows what differs\n")
	}
	p.bodies[c.Key()] = b.String()
	return b.String()
}

// file prints a file of the node: what there is to it, as far as that is new, and the lines that differ.
func (p *changePrinter) file(b *strings.Builder, f generator.FileChange) {
	head := report.OneLine(f.Path)
	switch {
	case f.New == nil:
		head = p.paint("1", "- "+head)
	case f.Old == nil:
		head = p.paint("1", "+ "+head) + " (" + report.OneLine(strings.Join(attributes(f.New), ", ")) + ")"
	default:
		head = p.paint("1", "~ "+head)
		var differ []string
		old, now := attributes(f.Old), attributes(f.New)
		for i := range max(len(old), len(now)) {
			was, is := "", ""
			if i < len(old) {
				was = old[i]
			}
			if i < len(now) {
				is = now[i]
			}
			if was != is {
				differ = append(differ, cmp.Or(was, "none")+" -> "+cmp.Or(is, "none"))
			}
		}
		if len(differ) > 0 {
			head += " (" + report.OneLine(strings.Join(differ, ", ")) + ")"
		}
	}
	b.WriteString("  " + head + "\n")
	p.lines(b, contentOf(f.Old), contentOf(f.New))
}

// attributes are what there is to a file beside its content.
func attributes(f *generator.File) []string {
	all := []string{f.ModeString(), f.Owner}
	if f.Secret != "" {
		return append(all, f.Secret)
	}
	if f.SHA256 != "" {
		all = append(all, "sha256 "+f.SHA256)
	}
	return append(all, f.URLs...)
}

func contentOf(f *generator.File) string {
	switch {
	case f == nil:
		return ""
	case !utf8.Valid(f.Content):
		return fmt.Sprintf("%s bytes, sha256 %x\n", report.Thousands(len(f.Content)), sha256.Sum256(f.Content))
	}
	return string(f.Content)
}

// lines prints what differs between two texts, three lines around each change.
func (p *changePrinter) lines(b *strings.Builder, old, now string) {
	a, z := linesOf(old), linesOf(now)
	for i, group := range difflib.NewMatcher(a, z).GetGroupedOpCodes(3) {
		if i > 0 {
			b.WriteString(p.paint("36", "    ...") + "\n")
		}
		for _, op := range group {
			if op.Tag == 'e' {
				p.marked(b, "", " ", a[op.I1:op.I2])
				continue
			}
			p.marked(b, "31", "-", a[op.I1:op.I2])
			p.marked(b, "32", "+", z[op.J1:op.J2])
		}
	}
}

// mostShown is how much of a line is shown that is more than twice as long: lists and packed files in one line.
const mostShown = 160

func (p *changePrinter) marked(b *strings.Builder, code, mark string, lines []string) {
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 2*mostShown {
			line = fmt.Sprintf("%s… (%s characters, --raw shows all)", string([]rune(line)[:mostShown]), report.Thousands(n))
		}
		line = mark + line
		if code != "" {
			line = p.paint(code, line)
		}
		b.WriteString("    " + line + "\n")
	}
}

// linesOf are the lines of a text, with what would control a terminal made harmless.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	var lines []string
	for line := range strings.Lines(text) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i := range words {
			words[i] = report.OneLine(words[i])
		}
		lines = append(lines, strings.Join(words, "\t"))
	}
	if !strings.HasSuffix(text, "\n") && strings.Contains(text, "\n") {
		lines[len(lines)-1] += " (no newline at the end)"
	}
	return lines
}
