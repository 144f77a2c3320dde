package hookspec

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// Resolved is one hook for one instance group: overrides applied, one phase, all defaults set. What it points to
// belongs to the spec and must not be changed.
type Resolved struct {
	Doc     *Doc
	Path    string // of the hook in the spec: "spec.hooks[1]"
	Runtime string // "v1"

	// ID tells the hooks of a Doc apart, and what overrides made of them: hooks of a Doc with the same ID are equal.
	ID string

	// Said is the hook as the spec and its overrides say it.
	Said Hook

	// Hook is what the generator takes. What Said takes from a source is missing in it until package plan has read it.
	generator.Hook

	origin map[string]string // see Doc.override
}

// FieldPath returns the path of a field of the hook ("script", "files[0].mode", "env.DRIVER") in the spec: that of
// the override which gave it, or the hook's own.
func (h *Resolved) FieldPath(field string) string { return fieldPath(h.Path, h.origin, field) }

// Pos returns where a field of the hook stands, or would stand.
func (h *Resolved) Pos(field string) report.Position { return h.Doc.Pos(h.FieldPath(field)) }

// Frequency returns what field run says of the hook, or its default: once-per-instance, once-per-image or every-boot.
func (h *Resolved) Frequency() string {
	switch {
	case h.EveryBoot:
		return generator.EveryBoot
	case h.OncePerImage:
		return generator.OncePerImage
	}
	return generator.OncePerInstance
}

// RunsOnDrift says whether the hook runs again when verify fails later.
func (h *Resolved) RunsOnDrift() bool { return h.Said.OnDrift != nil && *h.Said.OnDrift == onDriftRun }

// phases returns the phases of the hook, or the default.
func (h *Hook) phases() []Phase {
	if len(h.Phase) == 0 {
		return []Phase{Phase(hookObject.Field("phase").Default)}
	}
	return h.Phase
}

// hasCloudConfig says whether there is anything in cloudConfig.
func (h *Hook) hasCloudConfig() bool { return h.CloudConfig != nil && len(h.CloudConfig.Content) > 0 }

// nameIn returns what the hook is called in one of its phases.
func (h *Hook) nameIn(p Phase) string {
	if len(h.phases()) > 1 {
		return h.Name + "-" + string(p)
	}
	return h.Name
}

// Resolve returns the enabled hooks of the spec as they are for g, whether the spec selects g or not. The spec must
// be free of mistakes.
func (d *Doc) Resolve(g Group) []Resolved {
	out, _ := d.resolve(g, false)
	return out
}

// Written returns the hooks of the spec as they are where no override applies: those that are not enabled, too.
func (d *Doc) Written() []Resolved {
	out, _ := d.resolve(Group{}, true)
	return out
}

// resolve also returns the hooks that more than one override has changed. all asks for hooks that are not enabled, too.
func (d *Doc) resolve(g Group, all bool) (out []Resolved, changed []changedHook) {
	for i, h := range d.Spec.Spec.Hooks {
		origin := map[string]string{}
		var applied []int
		for j := range d.Spec.Spec.Overrides {
			o := &d.Spec.Spec.Overrides[j]
			if by, ok := o.Hooks[h.Name]; ok && o.Selector.Matches(g) {
				d.override(&h, origin, strict.Join(strict.Item("spec.overrides", j)+".hooks", h.Name), &by)
				applied = append(applied, j)
			}
		}
		if h.Enabled != nil && !*h.Enabled && !all {
			continue
		}
		p := strict.Item("spec.hooks", i)
		if len(applied) > 1 {
			changed = append(changed, changedHook{h, p, origin})
		}
		for _, phase := range h.phases() {
			r := Resolved{Doc: d, Path: p, Runtime: d.runtime(), ID: fmt.Sprint(p, phase, applied), Said: h, Hook: d.inPhase(&h, phase), origin: origin}
			out = append(out, r)
		}
	}
	return out, changed
}

type changedHook struct {
	hook   Hook
	path   string
	origin map[string]string
}

// inPhase sets the hook's defaults for one of its phases.
func (d *Doc) inPhase(h *Hook, phase Phase) generator.Hook {
	spec := &d.Spec.Spec
	text := func(field string, said *string) string {
		if said != nil {
			return *said
		}
		return hookObject.Field(field).DefaultFor(phase)
	}
	number := func(field string, said *int) int {
		if said != nil {
			return *said
		}
		n, _ := strconv.Atoi(hookObject.Field(field).DefaultFor(phase))
		return n
	}
	span := func(field string, said *time.Duration) time.Duration {
		if said != nil {
			return *said
		}
		t, _ := time.ParseDuration(hookObject.Field(field).DefaultFor(phase))
		return t
	}
	out := generator.Hook{
		Name:            h.nameIn(phase),
		Phase:           phase,
		Weight:          number("weight", h.Weight),
		EveryBoot:       text("run", h.Run) == generator.EveryBoot,
		OncePerImage:    text("run", h.Run) == generator.OncePerImage,
		Env:             h.Env,
		Timeout:         span("timeout", h.Timeout),
		Attempts:        number("attempts", h.Attempts),
		RetryDelay:      span("retryDelay", h.RetryDelay),
		Continue:        text("onFailure", h.OnFailure) == "continue",
		Before:          h.Before,
		RebootExitCodes: h.RebootExitCodes,
		Compress:        spec.Compress,
		Archive:         spec.Archive,
		ArchiveURL:      spec.ArchiveURL,
		CleanUp:         text("cleanup", h.Cleanup) == "on-success",
	}
	if h.Script != nil {
		out.Scripts = []generator.Script{{Name: "script", Content: []byte(*h.Script)}}
	}
	if h.Verify != nil {
		out.Verify = []byte(*h.Verify)
	}
	if h.Compress != nil {
		out.Compress = *h.Compress
	}
	if hookObject.Field("compress").Refused(phase) != nil {
		out.Compress = false
	}
	for i := range h.Files {
		out.Files = append(out.Files, h.Files[i].resolve())
	}
	for _, u := range h.DropIns {
		out.DropIns = append(out.DropIns, generator.DropIn(u))
	}
	if h.hasCloudConfig() {
		out.CloudConfig = h.CloudConfig
	}
	return out
}

// secretMode is the default of mode where the file is a secret.
const secretMode = "0600"

// resolve sets the file's defaults. What validation has let pass can be decoded.
func (f *File) resolve() generator.File {
	text := func(field string, said *string) string {
		if said != nil {
			return *said
		}
		return strings.Trim(fileObject.Field(field).Default, `"`)
	}
	octal := text("mode", f.Mode)
	if f.Secret != nil && f.Mode == nil {
		octal = secretMode
	}
	mode, _ := strconv.ParseUint(octal, 8, 32)
	out := generator.File{Path: f.Path, Mode: uint32(mode), Owner: text("owner", f.Owner), URLs: f.URL, SHA256: text("sha256", f.SHA256)}
	switch {
	case f.Content != nil:
		out.Content = []byte(*f.Content)
	case f.Secret != nil:
		out.Secret = *f.Secret
	case f.ContentBase64 != nil:
		out.Content, _ = base64.StdEncoding.DecodeString(*f.ContentBase64)
	}
	return out
}

// ForGroup returns the hooks of all specs that select g, in the order in which they run: phase, weight, name. It
// reports what cannot be together: two hooks of one name, two runtimes, a file that two hooks place, or that is the folder of
// another. What concerns several instance groups is said once in a report.
func ForGroup(docs []*Doc, g Group, r *report.Report) []Resolved {
	var out []Resolved
	var first, archived *Doc
	for _, d := range docs {
		if !d.Selects(g) {
			continue
		}
		hooks, changed := d.resolve(g, false)
		for _, c := range changed {
			var found report.Report
			newDecoder(d, strict.NewReader(d.Document, Objects(), &found)).checkTogether(&c.hook, c.path, c.origin)
			for _, f := range found.Findings {
				addOnce(r, f)
			}
		}
		if first == nil {
			first = d
		} else if a, b := first.runtime(), d.runtime(); a != b {
			conflict(r, d.Pos("spec.runtime"), "spec.runtime", "give both the same runtime",
				"runtime is %s, but %s for another spec of instance group `%s` (%s)", b, a, g.label(), first.Pos("spec.runtime"))
		}
		if len(hooks) > 0 && d.Spec.Spec.Archive {
			if archived == nil {
				archived = d
			} else if a, b := archived.Spec.Spec.ArchiveURL, d.Spec.Spec.ArchiveURL; a != b {
				conflict(r, d.Pos("spec.archiveURL"), "spec.archiveURL", "give both the same archiveURL, or neither: the archive of an instance group is one",
					"archiveURL differs from that of another spec of instance group `%s` (%s)", g.label(), archived.Pos("spec.archiveURL"))
			}
		}
		out = append(out, hooks...)
	}
	slices.SortStableFunc(out, func(a, b Resolved) int {
		return cmp.Or(cmp.Compare(slices.Index(Phases, a.Phase), slices.Index(Phases, b.Phase)),
			cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
	})
	checkConflicts(out, g, r)
	return out
}

func (d *Doc) runtime() string {
	return cmp.Or(d.Spec.Spec.Runtime, specObject.Field("runtime").Default)
}

// placed is a file that a hook places, or the first one in a folder.
type placed struct {
	*Resolved
	path string
	pos  report.Position
}

// byAnother says whether another hook than h places it. A hook of several phases places its own files each time.
func (f placed) byAnother(h *Resolved) bool {
	return f.Resolved != nil && (f.Doc != h.Doc || f.Resolved.Path != h.Path)
}

// checkConflicts reports hooks of one name, files of one path, and files where another hook needs a folder.
func checkConflicts(hooks []Resolved, g Group, r *report.Report) {
	names := map[string]*Resolved{}
	files, inside := map[string]placed{}, map[string][]placed{} // inside: the first one of each hook in a folder
	for i := range hooks {
		h := &hooks[i]
		if other := names[h.Name]; other != nil {
			conflict(r, h.Pos("name"), h.FieldPath("name"), "rename one of the two, or let their selectors exclude each other",
				"hook `%s` is there twice for instance group `%s`, also at %s", h.Name, g.label(), other.Pos("name"))
		}
		names[h.Name] = h
		for j, f := range h.Files {
			field := strict.Item("files", j) + ".path"
			if other := files[f.Path]; other.byAnother(h) {
				conflict(r, h.Pos(field), h.FieldPath(field), "place it with one of the two hooks, or let their selectors exclude each other",
					"file %q is placed by two hooks of instance group `%s`, `%s` and `%s` (%s)", f.Path, g.label(), h.Name, other.Name, other.pos)
				continue
			}
			if folder, in, other := fileAndFolder(h, f.Path, files, inside); folder != "" {
				conflict(r, h.Pos(field), h.FieldPath(field), "place one of them elsewhere, or let the selectors of the two hooks exclude each other",
					"%q cannot be a file and the folder of %q: hooks `%s` and `%s` (%s) of instance group `%s` place them", folder, in, h.Name, other.Name, other.pos, g.label())
				continue
			}
			p := placed{h, f.Path, h.Pos(field)}
			files[f.Path] = p
			for _, folder := range foldersOf(f.Path) {
				if !slices.ContainsFunc(inside[folder], func(other placed) bool { return !other.byAnother(h) }) {
					inside[folder] = append(inside[folder], p)
				}
			}
		}
	}
}

// fileAndFolder finds a file of another hook that lies below path, or that path lies below.
func fileAndFolder(h *Resolved, path string, files map[string]placed, inside map[string][]placed) (folder, in string, other placed) {
	for _, folder := range foldersOf(path) {
		if other := files[folder]; other.byAnother(h) {
			return folder, path, other
		}
	}
	if i := slices.IndexFunc(inside[path], func(f placed) bool { return f.byAnother(h) }); i >= 0 {
		return path, inside[path][i].path, inside[path][i]
	}
	return "", "", placed{}
}

func conflict(r *report.Report, pos report.Position, path, remedy, format string, args ...any) {
	addOnce(r, report.Finding{Severity: report.Error, Position: pos, Path: path, Remedy: remedy, Message: fmt.Sprintf(format, args...)})
}

// addOnce adds a finding unless there is one for the same place: the next instance group has the same conflict.
func addOnce(r *report.Report, f report.Finding) {
	said := slices.ContainsFunc(r.Findings, func(other report.Finding) bool { return other.Position == f.Position && other.Path == f.Path })
	if !said {
		r.Add(f)
	}
}

// HookNames returns what the spec's hooks are called on nodes, those that are not enabled too.
func (d *Doc) HookNames() []string {
	var names []string
	for i := range d.Spec.Spec.Hooks {
		h := &d.Spec.Spec.Hooks[i]
		for _, phase := range h.phases() {
			names = append(names, h.nameIn(phase))
		}
	}
	return names
}
