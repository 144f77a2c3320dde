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

// addLostKey adds all that a part says under a key of which something is lost.
func (a *Adopted) addLostKey(l cloudinit.Loss, key string) {
	why := fmt.Sprintf("%s is lost today: %s. To have it, remove enabled: false and what stands twice.", l.What, l.Why)
	for _, f := range a.Today.Parts {
		if f.Part != l.Part || f.Config == nil {
			continue
		}
		for _, e := range slices.Concat(f.Config.Entries, f.Config.Shadowed) {
			shadowed := slices.ContainsFunc(f.Config.Shadowed, func(s pyyaml.Entry) bool { return s.Value == e.Value })
			if e.Key.IsString() && e.Key.Str == key && (shadowed || l.Kind != cloudinit.LostKey || l.Path != key) {
				a.addLostValue(l.Part, e, why)
			}
		}
	}
}

// addLostValue adds a key of cloud-config as a hook, by what the model says of it where it stands alone.
func (a *Adopted) addLostValue(part int, e pyyaml.Entry, why string) {
	say := func(h *hook) { h.comment = append(h.comment, why) }
	alone := &pyyaml.Value{Kind: pyyaml.Dict, Entries: []pyyaml.Entry{e}}
	if !slices.Contains(commands, e.Key.Str) {
		if rest := passedThrough(alone); len(rest.Entries) > 0 && checkConfig(rest) == nil {
			h := a.add(&hook{phase: hookspec.PreNodeup, disabled: true}, fromConfig, part)
			h.set(e)
			say(h)
		}
		return
	}
	var b strings.Builder
	b.WriteString("#cloud-config\n")
	writeEntries(&b, mended(alone), 0)
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
		}
	}
}

// mended makes strings of commands that YAML took for something else: "- echo a: b" is a mapping.
func mended(config *pyyaml.Value) *pyyaml.Value {
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
