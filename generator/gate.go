package generator

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/templates"
)

// gateEntry is a line of the gate: how a hook is started, and what waits for it.
type gateEntry struct {
	dropIn string // NNN-NAME
	hook   string
	pull   string // in the unit of kops-configuration, up to the name of the hook's unit
	units  []string
	hash   func() string // of what the hook brings
}

// holdsNodeup says whether the hook is one of phase pre-nodeup; those come first.
func (e gateEntry) holdsNodeup() bool { return len(e.units) > 0 && e.units[0] == kopsConfiguration }

// gateEntries returns a line for each hook that has a unit. hooks are in the order in which they run: each holds back
// what waits for its phase, and its successor, so that a hook that blocks stops what follows.
func gateEntries(hooks []*hook) []gateEntry {
	var entries []gateEntry
	var posts []int // of entries: started when nodeup has succeeded
	if url := archiveURL(hooks); url != "" {
		e := gateEntry{dropIn: archiveHook.dropIn, hook: archiveHook.hook, pull: pullBefore, units: []string{kopsConfiguration, kubelet}}
		if i := slices.IndexFunc(hooks, func(h *hook) bool { return h.Phase.Holds() }); i >= 0 {
			e.units = append(e.units, UnitName(hooks[i].Name))
		}
		entries = append(entries, e)
	}
	for i, h := range hooks {
		if h.Phase == Boot {
			continue
		}
		e := gateEntry{dropIn: dropInName(h), hook: h.Name, pull: pullBefore, hash: h.hash}
		switch h.Phase {
		case PreNodeup:
			e.units = append([]string{kopsConfiguration, kubelet}, h.Before...)
		case PreKubelet:
			e.units = append([]string{kubelet}, h.Before...)
		case PostNodeup, PostKubelet:
			e.pull = pullNothing
			posts = append(posts, len(entries))
		}
		if i+1 < len(hooks) && chained(h.Phase, hooks[i+1].Phase) {
			e.units = append(e.units, UnitName(hooks[i+1].Name))
		}
		entries = append(entries, e)
	}
	if n := len(posts); n > 0 {
		last := &entries[posts[n-1]]
		last.pull = pullAfter
		for _, i := range posts[:n-1] {
			last.pull += strings.TrimSuffix(UnitName(entries[i].hook), ".service") + " "
		}
	}
	return entries
}

// chained says whether a hook of phase next waits for its predecessor of phase p. The hooks of pre-shutdown are
// ordered in their units, since they stop in the opposite order and none stops another.
func chained(p, next Phase) bool {
	return p == next && p != PreShutdown || p == PreNodeup && next == PreKubelet
}

// dropInName returns NNN-NAME: names are sorted by systemd and read by people.
func dropInName(h *hook) string { return fmt.Sprintf("%03d-%s", 500+h.Weight, h.Name) }

// What makes kops-configuration.service start a hook, up to the name of its unit. ExecStartPost= runs when nodeup has
// succeeded, and only then: OnSuccess= also fires when somebody stops nodeup half way, and systemd 247 lacks it. It is one
// command for all hooks, in the drop-in of the last: of several, systemd 247 forgets the rest when a hook that places units
// has it reload meanwhile.
const (
	pullBefore  = "Wants="
	pullNothing = "#"
	pullAfter   = "[Service]\nExecStartPost=-systemctl --no-block start "
)

func gateScript(rt *templates.Runtime, ig InstanceGroup, entries []gateEntry) string {
	if entries[0].hook == archiveHook.hook {
		return fillGate(rt, ig, tabled(entries))
	}
	var lines []string
	short := len(entries) > 1 && entries[1].holdsNodeup() // and with it the first
	if short {
		lines = append(lines, `nodeup() { hook Wants= "$@" kops-configuration.service kubelet.service; }`)
	}
	for _, e := range entries {
		if short && e.holdsNodeup() {
			lines = append(lines, strings.Join(append([]string{"nodeup", e.dropIn}, shellWords(e.units[2:])...), " "))
		} else {
			lines = append(lines, e.line())
		}
	}
	return fillGate(rt, ig, lines)
}

// line returns the call of the gate's function for the hook.
func (e gateEntry) line() string {
	pull := e.pull
	switch others, ok := strings.CutPrefix(e.pull, pullAfter); {
	case e.pull == pullNothing:
		pull = `\#`
	case ok && others == "":
		pull = `"$post"`
	case ok:
		pull = `"${post}` + others + `"`
	}
	return strings.Join(append([]string{"hook", pull, e.dropIn}, shellWords(e.units)...), " ")
}

func shellWords(list []string) []string {
	var words []string
	for _, w := range list {
		words = append(words, shellWord(w))
	}
	return words
}

func fillGate(rt *templates.Runtime, ig InstanceGroup, lines []string) string {
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, `hook "$`) }) {
		lines = append([]string{"post='" + pullAfter + "'"}, lines...)
	}
	return strings.NewReplacer(
		"@cluster@", ig.Cluster,
		"@group@", ig.Name,
		"@role@", ig.Role,
		"@hooks@", strings.Join(lines, "\n"),
	).Replace(rt.Gate)
}

// dropIns returns the files that the gate writes on the node, sorted by path.
func dropIns(entries []gateEntry) []File {
	content := map[string]string{}
	add := func(unit string, e gateEntry, line, second string) {
		path := "/etc/systemd/system/" + unit + ".d/kopshook-" + e.dropIn + ".conf"
		content[path] += "[Unit]\n" + line + "\n" + second + "\n"
	}
	for _, e := range entries {
		add(kopsConfiguration, e, e.pull+UnitName(e.hook), "")
		for _, u := range e.units {
			add(u, e, "After="+UnitName(e.hook), "AssertPathExists=/run/kopshook/ok/"+e.hook)
		}
	}
	var files []File
	for path, text := range content {
		files = append(files, File{Path: path, Mode: 0o644, Owner: "root:root", Content: []byte(text)})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
