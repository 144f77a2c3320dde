package plan

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// File is a file with hook specs, kops manifests, or both.
type File struct {
	Name      string // as the user gave it; standard input is "-"
	Data      []byte
	SpecsOnly bool // nothing but its specs is read
}

// Input is what files hold, each document told by its kind.
type Input struct {
	Specs     []*hookspec.Doc
	SpecFiles []string // the names of the files with hook specs, in the order in which they were read
	Manifests []*Manifest
	Sources   map[string][]byte // bytes by file name, for snippets
	Report    report.Report     // what is wrong in them

	texts     map[string]*sourcemap.Text // see Text
	specsOnly []string                   // see NotRead

	// Other reads documents of further kinds and returns how many there are. It may be nil.
	Other func(name string, data []byte, r *report.Report) int
}

// Read reads files, beside those that were read before. What is wrong in them is in the report.
func (in *Input) Read(files ...File) {
	for _, f := range files {
		in.add(f)
	}
	in.refuseSameGroup()
}

// Text returns a file that was read, for lint to find places in; nil where there is none of that name.
func (in *Input) Text(name string) *sourcemap.Text {
	t, ok := in.texts[name]
	if !ok {
		if in.texts == nil {
			in.texts = map[string]*sourcemap.Text{}
		}
		t = sourcemap.New(in.Sources[name])
		in.texts[name] = t
	}
	return t
}

func (in *Input) add(f File) {
	if in.Sources == nil {
		in.Sources = map[string][]byte{}
	}
	in.Sources[f.Name] = f.Data
	pos := report.Position{File: f.Name}
	if filepath.Base(f.Name) == source.LockName {
		in.Report.Errorf(pos, "", "leave it out: it is read with the specs of its folder, which -f takes as a whole", "is the lock file, and neither a manifest nor a hook spec")
		return
	}
	if len(bytes.TrimSpace(f.Data)) == 0 {
		in.Report.Errorf(pos, "", "give a kops manifest or a hook spec", "the file is empty")
		return
	}
	before := len(in.Report.Findings)
	specs := in.addSpecs(f)
	reported := len(in.Report.Findings) > before
	switch {
	case f.SpecsOnly && specs == 0 && !reported:
		in.Report.Errorf(pos, "", fmt.Sprintf("a hook spec begins with apiVersion: %s and kind: %s", hookspec.APIVersion, hookspec.Kind),
			"holds no hook spec")
	case f.SpecsOnly:
		in.specsOnly = append(in.specsOnly, f.Name)
	case reported:
	case specs > 0 && !bytes.Contains(f.Data, []byte("InstanceGroup\n")) && !bytes.Contains(f.Data, []byte("kops")):
	default:
		if n, ok := in.AddManifest(f.Name, f.Data); ok && n+specs == 0 {
			in.Report.Errorf(pos, "", fmt.Sprintf("give kops manifests (kind: InstanceGroup) or hook specs (kind: %s)", hookspec.Kind),
				"holds neither instance groups nor hook specs")
		}
	}
}

// NotRead says of files of which only specs are read that they hold instance groups, too. That is no mistake, but who gives
// manifests beside them may believe that these are among them.
func (in *Input) NotRead() (found []report.Finding) {
	for _, name := range in.specsOnly {
		data := in.Sources[name]
		if !bytes.Contains(data, []byte("kops.k8s.io/v1")) && !bytes.Contains(data, []byte("kops/v1")) { // apiVersions of kops
			continue
		}
		manifest, err := instancegroups.Parse(name, data)
		if err != nil || len(manifest.Groups()) == 0 {
			continue
		}
		groups := manifest.Groups()
		what := fmt.Sprintf("instance group %q is not read", groups[0].Name)
		if n := len(groups) - 1; n > 0 {
			what = fmt.Sprintf("instance group %q and %d more of the file are not read", groups[0].Name, n)
		}
		found = append(found, report.Finding{Severity: report.Info, Position: report.Position{File: name, Line: groups[0].Line},
			Message: what + ": of what -f and KOPSHOOK_FILES name, hook specs alone are", Remedy: "name the file without -f"})
	}
	return found
}

// addSpecs reads hook specs, and documents of other kinds of ours, and returns how many there are.
func (in *Input) addSpecs(f File) int {
	n := 0
	if f.SpecsOnly || bytes.Contains(f.Data, []byte("InstanceGroupHook")) || bytes.Contains(f.Data, []byte("kopshook.dev/")) {
		docs := hookspec.Decode(f.Name, f.Data, &in.Report)
		if n = len(docs); n > 0 {
			in.Specs = append(in.Specs, docs...)
			in.SpecFiles = append(in.SpecFiles, f.Name)
		}
	}
	if in.Other != nil {
		n += in.Other(f.Name, f.Data, &in.Report)
	}
	return n
}

// AddManifest reads a manifest and returns how many instance groups and clusters it holds; ok says whether it can be read.
func (in *Input) AddManifest(name string, data []byte) (n int, ok bool) {
	f, err := instancegroups.Parse(name, data)
	if err != nil {
		addManifestError(&in.Report, err)
		return 0, false
	}
	for _, w := range f.Warnings() {
		addManifestFinding(&in.Report, report.Warning, w)
	}
	if n = len(f.Groups()) + len(f.Clusters()); n > 0 {
		in.Manifests = append(in.Manifests, &Manifest{Name: name, File: f})
	}
	return n, true
}

func addManifestError(r *report.Report, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			addManifestError(r, e)
		}
		return
	}
	var e *instancegroups.Error
	if errors.As(err, &e) {
		addManifestFinding(r, report.Error, e)
		return
	}
	r.AddError(report.Position{}, "", err)
}

func addManifestFinding(r *report.Report, severity report.Severity, e *instancegroups.Error) {
	f := report.Finding{Severity: severity, Position: report.Position{File: e.File, Line: e.Line, Col: e.Col},
		Path: e.Path, Message: e.Message, Remedy: e.Remedy}
	if e.Dropped {
		f.Code = lint.DroppedDocument
	}
	r.Add(f)
}

// refuseSameGroup finds an instance group that is in two files: nobody knows which one kops would keep.
func (in *Input) refuseSameGroup() {
	type key struct{ cluster, name string }
	seen := map[key]report.Position{}
	for _, m := range in.Manifests {
		for _, g := range m.Groups() {
			pos := report.Position{File: m.Name, Line: g.Line}
			k := key{g.Cluster, g.Name}
			if first, ok := seen[k]; ok && first.File != m.Name {
				in.Report.Errorf(pos, "", "keep it in one file", "instance group %q stands in %s too", g.Name, first)
			}
			seen[k] = pos
		}
	}
}
