package adopt

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/shell"
)

// hook is one of a spec.
type hook struct {
	name      string
	want      string // what it would best be called
	phase     hookspec.Phase
	weight    int
	everyBoot bool // where the phase leaves a choice
	disabled  bool
	block     bool   // where it may: without it the node joins
	timeout   string // "" for a day
	script    string
	files     []*file
	config    *pyyaml.Value // cloudConfig, or nil
	comment   []string
	parts     []int // that it is made of
}

// file is one of a hook.
type file struct {
	path, content, owner string
	mode                 uint32
}

// source is where hooks come from: the kind of thing that a part has one of.
type source string

const (
	fromScript source = ""
	fromConfig source = "files" // write_files, and what is passed through
	fromBoot   source = "bootcmd"
	fromRun    source = "runcmd"
	fromAppend source = "append"
	fromBefore source = "before-nodeup" // a drop-in that bootcmd writes
	fromAfter  source = "after-nodeup"
)

// makeHooks makes hooks of all that runs today and is taken over, in the order in which it runs.
func (a *Adopted) makeHooks() {
	a.hooks, a.left, a.recipe = nil, map[int]string{}, nil
	for i := range a.Today.Runs {
		r := &a.Today.Runs[i]
		if !a.takes(r.Part) {
			continue
		}
		switch {
		case r.What == "boothook":
			a.add(&hook{phase: hookspec.Boot, script: a.asWritten(r)}, fromScript, r.Part)
		case r.What == "bootcmd":
			a.addBootcmd(r)
		case r.File != nil:
			a.addFile(r)
		case strings.HasPrefix(r.What, "script"):
			a.addScript(r)
		}
	}
	a.addRecipe()
	a.addConfig()
	a.addLost()
	a.nameHooks()
}

// partsOf are the parts that items of bootcmd or runcmd come from.
func (a *Adopted) partsOf(r *cloudinit.Run) []int {
	var parts []int
	for _, item := range r.Items {
		if a.takes(item.Part) && !slices.Contains(parts, item.Part) {
			parts = append(parts, item.Part)
		}
	}
	if len(parts) == 0 {
		parts = []int{r.Part}
	}
	return parts
}

func (a *Adopted) add(h *hook, from source, parts ...int) *hook {
	h.parts = parts
	h.want = a.wanted(from, parts)
	h.comment = append(h.comment, a.origin(from, parts))
	for _, p := range parts {
		h.comment = append(h.comment, a.Remarks[p]...)
	}
	if strings.Contains(h.script, "ExecStartPre") && strings.Contains(h.script, "kops-configuration") {
		h.comment = append(h.comment, "It makes nodeup wait by hand, which goes wrong on the second boot (docs/older-recipe.md). What nodeup is to wait for does so as a script of phase pre-nodeup; then this hook can go.")
	}
	a.hooks = append(a.hooks, h)
	return h
}

// origin says where a hook comes from.
func (a *Adopted) origin(from source, parts []int) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = a.partName(p)
	}
	what := map[source]string{fromBoot: "bootcmd of ", fromRun: "runcmd of ", fromAppend: "an entry of write_files with append, of ",
		fromBefore: "ExecStartPre= in the drop-in that bootcmd writes, of ", fromAfter: "ExecStopPost= in the drop-in that bootcmd writes, of "}[from]
	return fmt.Sprintf("From %s%s.", what, strings.Join(names, ", "))
}

func (a *Adopted) partName(p int) string {
	if name := strings.TrimSpace(onOneLine(a.Parts[p].Name)); name != "" {
		return name
	}
	return fmt.Sprintf("part %d", p+1)
}

// addScript makes a hook of a script that cloud-init runs in its final stage.
func (a *Adopted) addScript(r *cloudinit.Run) {
	h := &hook{phase: hookspec.PreNodeup, script: a.asWritten(r), everyBoot: r.EveryBoot}
	from, parts := fromScript, []int{r.Part}
	if isRuncmd(r) {
		h.script, from, parts = r.Content, fromRun, a.partsOf(r)
	}
	if r.What == "script" && r.Name > cloudinit.NodeupName {
		h.phase = hookspec.PostNodeup
		h.comment = []string{}
	}
	if r.What == "script-per-once" {
		h.comment = append(h.comment, "Today it runs once in the life of a disk, not once per instance.")
	}
	a.add(h, from, parts...)
	if h.phase != hookspec.PostNodeup {
		return
	}
	why := "Today it runs beside nodeup, and nothing waits for it."
	if unit := waitsFor(h.script); unit != "" {
		h.comment = append(h.comment, why+" Leave it in this phase: it starts "+unit+", which would wait for the hook in an earlier one (docs/rules/KH039.md).")
		return
	}
	h.comment = append(h.comment, why+" If the node must not join without it, make it phase: pre-nodeup and onFailure: block.")
}

// waitsFor names a unit that a script starts, or restarts, and that waits for hooks of phase pre-nodeup.
func waitsFor(script string) string {
	s := shell.Parse(script)
	for i := range s.Commands {
		for _, unit := range s.Commands[i].Starts() {
			if slices.Contains([]string{"kubelet.service", "kops-configuration.service", "containerd.service"}, unit) {
				return unit
			}
		}
	}
	return ""
}

// isRuncmd tells the script that cloud-init makes of runcmd.
func isRuncmd(r *cloudinit.Run) bool { return r.Name == "runcmd" && len(r.Items) > 0 }

// asWritten returns a script with the characters that its author wrote: kops' framing changes some of them today.
func (a *Adopted) asWritten(r *cloudinit.Run) string {
	changed := slices.ContainsFunc(a.Today.Lost, func(l cloudinit.Loss) bool { return l.Kind == cloudinit.Changed && l.Part == r.Part })
	if s, ok := a.wholePart(r.Part); changed && ok {
		return s
	}
	return r.Content
}

// wholePart returns the script that a part is, not just holds.
func (a *Adopted) wholePart(part int) (string, bool) {
	fates := 0
	boothook := false
	for _, f := range a.Today.Parts {
		if f.Part == part {
			fates++
			boothook = f.Type == cloudinit.TypeBoothook
			if !isScript(f.Type) {
				return "", false
			}
		}
	}
	if fates != 1 || part < 0 || part >= len(a.Parts) {
		return "", false
	}
	s := a.Parts[part].Content
	if i := strings.IndexByte(s, '\n'); i > 0 && s[i-1] == '\r' {
		s = strings.ReplaceAll(s, "\r\n", "\n") // as cloud-init does
	}
	if boothook {
		s = strings.TrimLeftFunc(strings.TrimPrefix(s, "#cloud-boothook"), pyyaml.IsSpace)
	}
	return s, utf8.ValidString(s)
}

// addFile adds a file to the hook of its part, unless another hook places the same file between the two.
func (a *Adopted) addFile(r *cloudinit.Run) {
	f := &file{path: r.File.Path, content: r.Content, mode: r.File.Mode, owner: owner(r.File)}
	var mine *hook
	before, known := "", false
	for _, h := range a.hooks {
		if h.phase != hookspec.PreNodeup || len(h.files) == 0 {
			continue
		}
		if slices.Equal(h.parts, []int{r.Part}) {
			mine = h
		}
		for _, other := range h.files {
			if other.path == f.path {
				before, known = other.content, true
				if mine != h {
					mine = nil
				}
			}
		}
	}
	if r.File.Append && !known {
		a.add(&hook{phase: hookspec.PreNodeup, script: appendScript(r.File, r.Content)}, fromAppend, r.Part)
		return
	}
	if r.File.Append {
		f.content = before + f.content
	}
	if mine == nil {
		mine = a.add(&hook{phase: hookspec.PreNodeup}, fromConfig, r.Part)
	}
	if i := slices.IndexFunc(mine.files, func(other *file) bool { return other.path == f.path }); i >= 0 {
		mine.files = slices.Delete(mine.files, i, i+1)
	}
	mine.files = append(mine.files, f)
}

func owner(f *cloudinit.File) string {
	user, group := f.User, f.Group
	if user == "" {
		user = "root"
	}
	if group == "" {
		group = "root"
	}
	return user + ":" + group
}

// appendScript does what write_files does for an entry that says append.
func appendScript(f *cloudinit.File, content string) string {
	path := shell.Quote(f.Path)
	lines := []string{"#!/bin/sh", "set -eu"}
	if dir := f.Path[:strings.LastIndexByte(f.Path, '/')]; dir != "" {
		lines = append(lines, "mkdir -p "+shell.Quote(dir))
	}
	switch {
	case !utf8.ValidString(content) || strings.ContainsFunc(content, binary):
		lines = append(lines, "base64 -d >> "+path+" <<'END'", base64.StdEncoding.EncodeToString([]byte(content)), "END")
	case strings.HasSuffix(content, "\n") && !strings.Contains("\n"+content, "\nEND\n"):
		lines = append(lines, "cat >> "+path+" <<'END'", content+"END")
	default:
		lines = append(lines, "printf %s "+shell.Quote(content)+" >> "+path)
	}
	return strings.Join(append(lines, fmt.Sprintf("chmod %04o %s", f.Mode, path), "chown "+shell.Quote(owner(f))+" "+path), "\n") + "\n"
}

// addConfig adds what is passed through, each key to the hook of the part that has it.
func (a *Adopted) addConfig() {
	for _, e := range passedThrough(a.Today.Config).Entries {
		part := a.configPart(e)
		if part < 0 {
			part = a.firstConfig()
		}
		if a.takes(part) {
			a.configHook(part, false).set(e)
		}
	}
}

// configPart is the part that has a key of the effective cloud-config, -1 when it cannot be told.
func (a *Adopted) configPart(e pyyaml.Entry) int {
	if part := a.Today.At(e.Value).Part; part >= 0 {
		return part
	}
	return a.Today.At(e.Key).Part
}

func (h *hook) set(e pyyaml.Entry) {
	if h.config == nil {
		h.config = &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	h.config.Set(e.Key, e.Value)
}

// firstConfig is the first part of cloud-config that is taken over, or -1.
func (a *Adopted) firstConfig() int {
	for _, f := range a.Today.Parts {
		if f.Type == cloudinit.TypeCloudConfig && a.takes(f.Part) {
			return f.Part
		}
	}
	return -1
}

// configHook returns the hook that has the files of a part, or a new one that stands before all scripts.
func (a *Adopted) configHook(part int, disabled bool) *hook {
	for _, h := range a.hooks {
		if h.phase == hookspec.PreNodeup && h.script == "" && h.disabled == disabled && slices.Equal(h.parts, []int{part}) {
			return h
		}
	}
	h := a.add(&hook{phase: hookspec.PreNodeup, disabled: disabled}, fromConfig, part)
	if disabled {
		return h
	}
	last := len(a.hooks) - 1
	at := slices.IndexFunc(a.hooks[:last], func(h *hook) bool {
		return h.phase == hookspec.PreNodeup && h.script != "" || h.phase == hookspec.PostNodeup
	})
	if at >= 0 {
		a.hooks = slices.Insert(a.hooks[:last], at, h)
	}
	return h
}
