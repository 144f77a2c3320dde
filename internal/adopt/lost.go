package adopt

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/hookspec"
)

// What no node gets today becomes hooks that are switched off: it is not lost for the people who wrote it, and they
// decide whether it is to run.

// addLost adds those hooks.
func (a *Adopted) addLost() {
	told := map[string]bool{}
	for _, l := range a.Today.Lost {
		if !a.takes(l.Part) {
			continue
		}
		key, _, _ := strings.Cut(l.Path, ".")
		key, _, _ = strings.Cut(key, "[")
		at := fmt.Sprintf("%d %s", l.Part, key)
		switch l.Kind {
		case cloudinit.LostPart, cloudinit.Overwritten:
			a.addLostScript(l)
		case cloudinit.LostMerge, cloudinit.LostKey, cloudinit.LostEntry, cloudinit.LostCommands:
			if !told[at] {
				a.addLostKey(l, key)
			}
			told[at] = true
		}
	}
}

// lostScript returns a script that no node runs today, if it can run.
func (a *Adopted) lostScript(part int) (string, bool) {
	s, ok := a.wholePart(part)
	return s, ok && strings.HasPrefix(s, "#!")
}

func (a *Adopted) addLostScript(l cloudinit.Loss) {
	s, ok := a.lostScript(l.Part)
	if !ok {
		return
	}
	h := &hook{phase: hookspec.PreNodeup, script: s, disabled: true}
	for _, f := range a.Today.Parts {
		if f.Part != l.Part {
			continue
		}
		switch {
		case f.Type == cloudinit.TypeBoothook:
			h.phase = hookspec.Boot
		case f.Type == cloudinit.TypePerBoot:
			h.everyBoot = true
		case f.Type == cloudinit.TypeShellScript && f.File > cloudinit.NodeupName:
			h.phase = hookspec.PostNodeup
		}
	}
	a.add(h, fromScript, l.Part)
	h.comment = append(h.comment, fmt.Sprintf("No node runs it today: %s. To run it, remove enabled: false.", l.Why))
}

// addLostKey adds all that a part says under a key of which something is lost, or under all keys.
func (a *Adopted) addLostKey(l cloudinit.Loss, key string) {
	why := fmt.Sprintf("%s is lost today: %s. To have it, remove enabled: false and the duplicate.", l.What, l.Why)
	saved := false
	for _, f := range a.Today.Parts {
		if f.Part != l.Part || f.Config == nil {
			continue
		}
		if l.Kind == cloudinit.LostKey {
			saved = a.addShadowed(f, l.Path) || saved
			continue
		}
		for _, e := range f.Config.Entries {
			if e.Key.IsString() && (e.Key.Str == key || key == "") {
				saved = a.addLostValue(l.Part, e, why) || saved
			}
		}
	}
	if !saved {
		a.left[l.Part] = fmt.Sprintf("%s is lost today: %s", l.What, l.Why)
	}
}

// addShadowed keeps what a later key of the same name replaces: as a hook, or in a comment where it stands further down.
func (a *Adopted) addShadowed(f cloudinit.Fate, path string) bool {
	saved := false
	for _, e := range f.Config.Shadowed {
		if e.Key.String() == path {
			saved = a.addLostValue(f.Part, e, path+" is written twice today, and the last one counts. This is another one.") || saved
		}
	}
	for _, text := range shadowedBelow(f.Config, "", path) {
		for _, h := range a.hooks {
			if slices.Contains(h.parts, f.Part) && !saved {
				h.comment = append(h.comment, fmt.Sprintf("%s is written twice: the last one counts, not %s.", path, text))
				saved = true
			}
		}
	}
	return saved
}

// shadowedBelow returns the values at a path below the top that a later key replaces.
func shadowedBelow(v *pyyaml.Value, at, path string) []string {
	var found []string
	if at != "" {
		for _, e := range v.Shadowed {
			if at+"."+e.Key.String() == path {
				found = append(found, e.Value.Repr())
			}
		}
	}
	for _, e := range v.Entries {
		if e.Value != nil {
			found = append(found, shadowedBelow(e.Value, strings.TrimPrefix(at+"."+e.Key.String(), "."), path)...)
		}
	}
	for i, item := range v.Items {
		found = append(found, shadowedBelow(item, fmt.Sprintf("%s[%d]", at, i), path)...)
	}
	return found
}

// unsaved keeps parts that would be gone: of which something is neither on the nodes nor in a hook. It says whether hooks
// have to be made anew for that.
func (a *Adopted) unsaved() bool {
	for i := range a.Parts {
		why, left := a.left[i]
		if !left && a.takes(i) && len(a.HooksOf(i)) == 0 && !a.repeats(i) {
			why, left = "nothing of it reaches a node today", true
		}
		if left && a.takes(i) {
			a.keepPart(i, "%s", why)
			a.keepConfig()
			return true
		}
	}
	return false
}

// repeats says whether a part is cloud-config that says only what others say, too.
func (a *Adopted) repeats(part int) bool {
	for _, l := range a.Today.Lost {
		if l.Part == part {
			return false
		}
	}
	return slices.ContainsFunc(a.Today.Parts, func(f cloudinit.Fate) bool { return f.Part == part && f.Config != nil })
}

// addLostValue adds a key of cloud-config as a hook, by what the model says of it where it stands alone. It says whether
// all of it is there.
func (a *Adopted) addLostValue(part int, e pyyaml.Entry, why string) bool {
	say := func(h *hook) { h.comment = append(h.comment, why) }
	alone := &pyyaml.Value{Kind: pyyaml.Dict, Entries: []pyyaml.Entry{e}}
	if !slices.Contains(commands, e.Key.Str) {
		rest := passedThrough(alone)
		if len(rest.Entries) > 0 && checkConfig(rest) == nil {
			h := a.add(&hook{phase: hookspec.PreNodeup, disabled: true}, fromConfig, part)
			h.set(e)
			say(h)
			return true
		}
		return len(rest.Entries) == 0
	}
	if e.Value.Kind == pyyaml.Null {
		return true
	}
	var b strings.Builder
	b.WriteString("#cloud-config\n")
	writeEntries(&b, fixed(alone), 0)
	opts := a.Options
	opts.Base = nil
	if e.Key.Str == "write_files" && e.Value.IsSequence() {
		for _, item := range e.Value.Items { // whoever they are to belong to
			if o := item.Get("owner"); item.IsDict() && o.IsString() {
				user, group, _ := strings.Cut(o.Str, ":")
				opts.Users, opts.Groups = append(opts.Users, pyyaml.Strip(user)), append(opts.Groups, pyyaml.Strip(group))
			}
		}
	}
	r := cloudinit.ReadParts(nil, a.Role, []cloudinit.Part{{Name: "x.yaml", Type: cloudinit.TypeCloudConfig, Content: b.String()}}, opts)
	var files *hook
	whole := len(r.Lost) == 0 && r.Config.Get(e.Key.Str) != nil
	for i := range r.Runs {
		run := &r.Runs[i]
		switch {
		case run.Part < 0:
		case run.What == "bootcmd":
			say(a.add(&hook{phase: hookspec.Boot, script: run.Content, disabled: true}, fromBoot, part))
		case run.What == "script" && isRuncmd(run):
			say(a.add(&hook{phase: hookspec.PostNodeup, script: run.Content, disabled: true}, fromRun, part))
		case run.File != nil && run.File.Append:
			say(a.add(&hook{phase: hookspec.PreNodeup, script: appendScript(run.File, run.Content), disabled: true}, fromAppend, part))
		case run.File != nil && run.File.URL == "":
			if files == nil {
				files = a.add(&hook{phase: hookspec.PreNodeup, disabled: true}, fromConfig, part)
				say(files)
			}
			files.files = append(slices.DeleteFunc(files.files, func(f *file) bool { return f.path == run.File.Path }),
				&file{path: run.File.Path, content: run.Content, mode: run.File.Mode, owner: owner(run.File)})
		case run.File != nil:
			whole = false
		}
	}
	return whole
}

// fixed makes strings of commands that YAML took for something else: "- echo a: b" is a mapping.
func fixed(config *pyyaml.Value) *pyyaml.Value {
	e := config.Entries[0]
	if e.Key.Str == "write_files" || !e.Value.IsSequence() {
		return config
	}
	list := e.Value.Copy()
	list.Items = slices.Clone(list.Items)
	for i, item := range list.Items {
		switch {
		case item.IsDict() && len(item.Entries) == 1 && item.Entries[0].Key.IsString() && item.Entries[0].Value.IsString():
			list.Items[i] = &pyyaml.Value{Kind: pyyaml.Str, Str: item.Entries[0].Key.Str + ": " + item.Entries[0].Value.Str}
		case !item.IsString() && !item.IsSequence() && item.Kind != pyyaml.Null:
			list.Items[i] = &pyyaml.Value{Kind: pyyaml.Str, Str: item.String()}
		}
	}
	return &pyyaml.Value{Kind: pyyaml.Dict, Entries: []pyyaml.Entry{{Key: e.Key, Value: list}}}
}
