package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/templates"
)

// prove compares as the caller will, for a spec of this group alone.
func (a *Adopted) prove() *Proof {
	var r report.Report
	var then Then
	if spec := Specs([]*Adopted{a}); len(spec) > 0 {
		for _, h := range plan.Hooks(context.Background(), hookspec.Decode("", spec, &r), nil, &r) {
			then.Hooks = append(then.Hooks, h.Hook)
		}
	}
	ig := generator.InstanceGroup{Cluster: a.Cluster, Name: a.Name, Role: a.Role}
	var err error
	if then.Parts, err = generator.Generate(ig, templates.Newest(), then.Hooks); err == nil {
		then.Files, err = generator.Files(ig, templates.Newest(), then.Hooks)
	}
	if err != nil || r.HasErrors() {
		return &Proof{Broken: []string{"the spec cannot be merged"}}
	}
	return a.Compare(then)
}

// spoiled keeps all parts when hooks would not arrive on the nodes for something in a part that stays, such as an entry
// that makes write_files stop. It says whether hooks have to be made anew for that.
func (a *Adopted) spoiled() bool {
	if len(a.hooks) == 0 {
		return false
	}
	script := []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\n")}}
	hooks := []generator.Hook{{Name: "a", Phase: generator.Boot, EveryBoot: true, Continue: true, Scripts: script}}
	if a.Role != "Bastion" {
		hooks = append(hooks, generator.Hook{Name: "b", Phase: generator.PreNodeup, Scripts: script, Timeout: time.Second, Attempts: 1})
	}
	generated, err := generator.Generate(generator.InstanceGroup{Name: a.Name, Role: a.Role}, templates.Newest(), hooks)
	if err != nil {
		a.keepAll("hooks cannot be made for it: %v", err)
		return true
	}
	parts := a.staying()
	kept := len(parts)
	for _, u := range generated {
		parts = append(parts, cloudinit.Part(u))
	}
	r := cloudinit.ReadParts(nil, a.Role, parts, a.Options)
	arrive := 0
	for _, run := range r.Runs {
		switch {
		case run.What == "bootcmd" && slices.ContainsFunc(run.Items, func(i cloudinit.Item) bool { return i.Part >= kept }),
			run.File != nil && run.Part >= kept && strings.HasSuffix(run.File.Path, "/script"):
			arrive++
		}
	}
	if arrive == len(hooks) {
		return false
	}
	why := "cloud-init drops them"
	for _, l := range r.Lost {
		if l.Part < kept && l.Part >= 0 && stops(l) {
			why = fmt.Sprintf("in %s, %s is lost: %s", l.Name, l.What, l.Why)
			break
		}
	}
	a.keepAll("hooks would not arrive next to what stays: %s; fix that first", why)
	return true
}

// stops says whether a loss takes along what other parts say.
func stops(l cloudinit.Loss) bool {
	switch l.Kind {
	case cloudinit.LostAll, cloudinit.LostInit, cloudinit.LostMerge:
		return true
	case cloudinit.LostCommands:
		return l.Path == "bootcmd"
	case cloudinit.LostEntry:
		return l.Path == "write_files" || strings.HasSuffix(l.Why, "stops write_files")
	}
	return false
}

// staying returns the parts that stay in the manifest.
func (a *Adopted) staying() []cloudinit.Part {
	var parts []cloudinit.Part
	for i := range a.Parts {
		if !a.takes(i) {
			parts = append(parts, a.Parts[i])
		}
	}
	return parts
}

// settle keeps what would be no valid hook, and says whether hooks have to be made anew for that.
func (a *Adopted) settle() bool {
	if len(a.hooks) == 0 {
		return false
	}
	for _, h := range a.hooks {
		if !utf8.ValidString(h.script) || h.phase == hookspec.Boot && strings.Contains(h.script, "\x00") {
			for _, part := range h.parts {
				a.keepPart(part, "a script of it is no text, as hooks have to be")
			}
			a.keepConfig()
			return true
		}
	}
	var r report.Report
	d := document{name: "x", hooks: a.hooks}
	hookspec.Decode("", d.render(), &r)
	for _, f := range r.Findings {
		if f.Severity != report.Error {
			continue
		}
		i := 0
		if n, _ := fmt.Sscanf(f.Path, "spec.hooks[%d]", &i); n == 0 || i >= len(a.hooks) {
			i = len(a.hooks) - 1 // it is not about one hook: fewer may do
		}
		for _, part := range a.hooks[i].parts {
			a.keepPart(part, "it would be no valid hook: %s", f.Message)
		}
		a.keepConfig()
		return true
	}
	return false
}
