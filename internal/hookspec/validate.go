package hookspec

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// ReservedNames are kept for units and files of kopshook itself: no hook may have one of them.
var ReservedNames = []string{"archive", "gate", "runtime", "run"}

// validate checks what single values cannot show.
func (d *decoder) validate() {
	spec := &d.doc.Spec.Spec
	d.checkSelector("spec.selector", spec.Selector)
	if spec.ArchiveURL != "" && !spec.Archive && !d.Bad("spec.archive") {
		d.KeyErrorf("spec.archiveURL", "add `archive: true`", "`archiveURL` goes only with `archive: true`")
	}
	d.checkNames()
	for i := range spec.Hooks {
		p := strict.Item("spec.hooks", i)
		d.checkHook(p, &spec.Hooks[i], spec.Hooks[i].phases())
		before := len(d.Report.Findings)
		d.checkTogether(&spec.Hooks[i], p, nil)
		d.unsound[p] = len(d.Report.Findings) > before
	}
	for i, o := range spec.Overrides {
		p := strict.Item("spec.overrides", i)
		d.checkSelector(p+".selector", o.Selector)
		for _, name := range slices.Sorted(maps.Keys(o.Hooks)) {
			d.checkOverride(strict.Join(p+".hooks", name), name, o.Hooks[name])
		}
	}
}

func (d *decoder) checkSelector(p string, s *Selector) {
	if s == nil {
		return
	}
	for _, list := range []struct {
		field string
		globs []string
	}{{"clusters", s.Clusters}, {"names", s.Names}, {"excludeNames", s.ExcludeNames}} {
		checkGlobs(d.Reader, p+"."+list.field, list.field, list.globs)
	}
	checkEmpty(d.Reader, p+".roles", "roles", s.Roles)
}

// checkGlobs sees to it that each item of the list at p is a glob, as path.Match takes it, and that there is one.
func checkGlobs(d *strict.Reader, p, field string, globs []string) {
	for i, glob := range globs {
		at := strict.Item(p, i)
		if d.Bad(at) {
			continue
		}
		_, err := path.Match(glob, "")
		switch {
		case glob == "":
			d.Errorf(at, "", "`%s[%d]` is empty", field, i)
		case strings.ContainsAny(glob, "{},"):
			d.Errorf(at, "globs know *, ?, [a-z] and [^a-z]; write one item for each name", "`%s[%d]` is %q, which no name matches", field, i, glob)
		case strings.Contains(glob, "[!"):
			d.Errorf(at, "write [^...] for any other character", "`%s[%d]` is %q; a glob negates with ^", field, i, glob)
		case err != nil:
			d.Errorf(at, "globs know *, ?, [a-z] and [^a-z]", "`%s[%d]` is %q, which is no glob", field, i, strict.Shorten(glob))
		}
	}
	checkEmpty(d, p, field, globs)
}

// checkEmpty refuses an empty list in a selector: some would take it for "none", others for "all".
func checkEmpty(d *strict.Reader, p, field string, list []string) {
	if d.Given(p) && len(list) == 0 && !d.Bad(p) {
		d.Errorf(p, "remove it, or name something", "`%s` is an empty list", field)
	}
}

// checkNames sees to it that no two hooks make units of the same name.
func (d *decoder) checkNames() {
	first := map[string]string{} // expanded name -> path
	for i := range d.doc.Spec.Spec.Hooks {
		h := &d.doc.Spec.Spec.Hooks[i]
		p := strict.Item("spec.hooks", i) + ".name"
		if h.Name == "" || d.Bad(p) {
			continue
		}
		for _, phase := range h.phases() {
			name := h.nameIn(phase)
			switch other, twice := first[name]; {
			case slices.Contains(ReservedNames, name):
				d.Errorf(p, "choose another name", "`name` is %q, which kopshook keeps for itself", name)
			case twice && other != p:
				d.Errorf(p, "rename one of the two", "hook `%s` is there twice, first in line %d", name, d.doc.Pos(other).Line)
			case len(name) > 63:
				d.Errorf(p, "choose a shorter name", "with its phase the hook is called %q, which is longer than 63 characters", name)
			default:
				first[name] = p
				continue
			}
			break // one message about a name is enough
		}
	}
}

// checkHook checks the fields that are given at path p for the phases of the hook, each by itself.
func (d *decoder) checkHook(p string, h *Hook, phases []Phase) {
	d.checkPhases(p, phases)
	d.checkMatrix(p, phases)
	if h.Script != nil && !d.Bad(p+".script") {
		checkScript(d.Reader, p+".script", "script", *h.Script)
	}
	if h.Verify != nil && !d.Bad(p+".verify") {
		d.checkBare(p+".verify", "verify", *h.Verify)
	}
	if h.Undo != nil && !d.Bad(p+".undo") {
		d.checkBare(p+".undo", "undo", *h.Undo)
	}
	if h.Source != nil && !d.Bad(p+".source") {
		checkSource(d.Reader, p+".source", *h.Source, "script")
	}
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		checkEnv(d.Reader, strict.Join(p+".env", name), name, h.Env[name])
	}
	d.checkBefore(p+".before", h.Before)
	for i, code := range h.RebootExitCodes {
		if at := strict.Item(p+".rebootExitCodes", i); slices.Contains(h.RebootExitCodes[:i], code) && !d.Bad(at) {
			d.Errorf(at, "remove it", "exit code %d is there twice", code)
		}
	}
	d.checkFiles(p+".files", h.Files)
	d.checkDropIns(p+".dropIns", h.DropIns)
	d.checkCloudConfig(p+".cloudConfig", h.CloudConfig)
}

func (d *decoder) checkPhases(p string, phases []Phase) {
	for i, phase := range phases {
		if at := strict.Item(p+".phase", i); slices.Contains(phases[:i], phase) && d.Given(at) && !d.Bad(at) {
			d.Errorf(at, "remove it", "phase `%s` is there twice", phase)
		}
	}
}

// checkMatrix refuses fields that do not go with one of the phases.
func (d *decoder) checkMatrix(p string, phases []Phase) {
	for i := range hookObject.Fields {
		f := &hookObject.Fields[i]
		at := strict.Join(p, f.Name)
		if !d.Given(at) {
			continue
		}
		for _, phase := range phases {
			refused := f.Refused(phase)
			if refused == nil || refused.Except != "" && d.doc.Scalar(at) == refused.Except {
				continue
			}
			what := "`" + f.Name + "`"
			if refused.Except != "" && !d.Bad(at) {
				what = fmt.Sprintf("`%s: %s`", f.Name, d.doc.Scalar(at))
			}
			d.KeyErrorf(at, refused.Remedy, "%s does not go with phase `%s`: %s", what, phase, refused.Why)
			break
		}
	}
}

// checkTogether checks fields of a hook against each other. origin tells the fields that overrides gave.
func (d *decoder) checkTogether(h *Hook, p string, origin map[string]string) {
	at := func(field string) string { return fieldPath(p, origin, field) }
	if h.Script != nil && h.Source != nil {
		d.KeyErrorf(at("source"), "keep one of them", "`script` and `source` are both given")
	}
	if h.Script == nil && h.Source == nil && len(h.Files) == 0 && len(h.DropIns) == 0 && !h.hasCloudConfig() && !d.Bad(p) && !d.HasUnknown(p, &hookObject) {
		d.Errorf(p, "give it `script`, `source`, `files`, `dropIns` or `cloudConfig`", "the hook has nothing to do")
	}
	if h.Cleanup != nil && *h.Cleanup == "on-success" && h.Run != nil && *h.Run != generator.OncePerInstance {
		d.Errorf(at("cleanup"), "remove `cleanup`, or `run: "+*h.Run+"`", "`cleanup: on-success` does not go with `run: %s`: the next boot needs the script again", *h.Run)
	}
	if h.OnDrift != nil && *h.OnDrift == onDriftRun && h.Verify == nil && slices.Contains(h.phases(), Daemon) {
		d.Errorf(at("onDrift"), "add verify, or remove onDrift", "`onDrift: run` does not go without verify, which says when the hook has to run again")
	}
	if h.Run != nil && *h.Run == generator.OncePerImage {
		for _, phase := range h.phases() {
			if slices.Contains(notGatingUp, phase) {
				d.Errorf(at("run"), "choose phase: pre-nodeup or pre-kubelet, or run: once-per-instance", "`run: once-per-image` does not go with phase `%s`: an image that is being made does not come so far", phase)
				break
			}
		}
		for i := range h.Files {
			if h.Files[i].Secret != nil {
				d.KeyErrorf(strict.Item(at("files"), i)+".secret", "choose run: every-boot", "`secret` does not go with `run: once-per-image`: it would be in the image")
			}
		}
		if h.hasCloudConfig() {
			d.KeyErrorf(at("cloudConfig"), "put it into a hook of its own", "`cloudConfig` does not go with `run: once-per-image`: cloud-init applies it on each machine")
		}
	}
	const twice = "`%s` does not go with several phases: it would be there twice"
	if len(h.phases()) > 1 && len(h.DropIns) > 0 {
		d.KeyErrorf(at("dropIns"), "put it into a hook of its own", twice, "dropIns")
	}
	if len(h.phases()) > 1 && h.hasCloudConfig() {
		d.KeyErrorf(at("cloudConfig"), "put it into a hook of its own", twice, "cloudConfig")
	}
}

// checkOverride checks the fields that an override gives the hook called name, and the hook that it makes.
func (d *decoder) checkOverride(p, name string, o Hook) {
	var names []string
	var base *Hook
	var basePath string
	for i := range d.doc.Spec.Spec.Hooks {
		h := &d.doc.Spec.Spec.Hooks[i]
		if h.Name != "" { // a hook without a name is an error of its own
			names = append(names, h.Name)
		}
		if h.Name == name {
			base, basePath = h, strict.Item("spec.hooks", i)
		}
	}
	if base == nil {
		remedy := "the hooks of this spec are " + strict.Enumerate(names, "and")
		if len(names) == 0 {
			remedy = "add the hook to spec.hooks, or remove the override"
		}
		if near := report.Nearest(name, names); near != "" {
			remedy = "did you mean `" + near + "`?"
		}
		d.KeyErrorf(p, remedy, "there is no hook %s to override", strict.QuoteKey(name))
		return
	}
	for _, field := range []string{"name", "phase"} {
		if at := p + "." + field; d.Given(at) {
			d.KeyErrorf(at, "make it a hook of its own, with `enabled: false` here", "`%s` cannot be overridden", field)
		}
	}
	o.Phase = nil
	d.checkHook(p, &o, base.phases())
	merged, origin := *base, map[string]string{}
	d.doc.override(&merged, origin, p, &o)
	if !d.unsound[basePath] {
		d.checkTogether(&merged, basePath, origin)
	}
}
