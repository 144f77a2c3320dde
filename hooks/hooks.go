// Package hooks merges hook specs into kops InstanceGroup manifests: it does what the command kopshook merge does, for
// programs. Specs and manifests come in as bytes; manifests, parts of user data, and what changes, fits and waits go out.
//
//	out, report := hooks.Merge(ctx, hooks.Input{Specs: specs, Manifests: manifests}, hooks.Options{})
//	if err := report.Err(); err != nil {
//		return err
//	}
//
// Merge is pure: it reads no files, asks no network and no clock. The same input gives the same bytes, which decide
// whether kops replaces machines. What a spec takes from elsewhere (source:) comes from the reader in Options.
//
// The package links kops' own types and decoders, as package instancegroups does: see there what that brings along.
package hooks

import (
	"context"
	"errors"
	"time"

	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// File is a file by name. The name is for messages, and for sources that are relative to a spec; nothing is opened.
type File struct {
	Name string
	Data []byte
}

// Input is what Merge merges.
type Input struct {
	Specs     []File // YAML or JSON documents of kind InstanceGroupHooks
	Manifests []File // kops manifests: YAML documents, JSON, or lists as kops get prints them
}

// Source names what a spec takes from elsewhere.
type Source struct {
	Spec   string // the name of the spec's file
	Source string // as the spec says it
	Folder bool   // a folder of scripts is allowed; else it is one file
}

// Options say how to merge. The zero value is for specs without sources.
type Options struct {
	// Read returns the files of a source: one, or the scripts of a folder with their base names. Without it, sources are
	// errors. An error that it returns becomes a finding at the source's place.
	Read func(context.Context, Source) ([]File, error)
	// Groups are globs on names: only these instance groups are merged. None is all.
	Groups []string
	// Strict makes warnings errors.
	Strict bool
	// Prune says that Specs are all there are: hooks that none of them has any more are removed without a warning.
	Prune bool
	// Remove takes all kopshook parts out, whatever the specs say.
	Remove bool
}

// Output is what merging comes to. It is complete only when the report has no errors.
type Output struct {
	Manifests []File  // with their new bytes, in the order of the input
	Groups    []Group // in the order of the manifests
}

// Group is an instance group, and what its nodes get.
type Group struct {
	Cluster, Name string
	Role          string   // ControlPlane, APIServer, Node or Bastion
	File          string   // the manifest that holds it
	Line          int      // where, from 1
	Skipped       string   // why it stays as it is though specs select it; "" when it does not
	Hooks         []Hook   // in the order in which they run
	Parts         []Part   // what Hooks add to spec.additionalUserData, behind the user's own
	Archive       *Archive // what Parts read from a bucket, nil without archiveURL
	Changes       []Change
	Size          Size
	// NodeupWaits and KubeletWaits are the longest that both may wait for hooks: all attempts up to their timeouts, the
	// delays between them, and that again for each reboot that a hook may ask for.
	NodeupWaits, KubeletWaits time.Duration
}

// Hook is a hook of one instance group: overrides applied, one phase, all defaults set. Its fields are those of the spec, or
// say what a value of the spec means.
type Hook struct {
	Spec            string // the name of the spec that has it
	Name            string // NAME, or NAME-PHASE where the spec lists several phases
	Phase           string
	Weight          int
	EveryBoot       bool // run: every-boot
	OncePerImage    bool // run: once-per-image
	Scripts         []Script
	Verify          []byte // nil when there is none
	Env             map[string]string
	Timeout         time.Duration
	Attempts        int
	RetryDelay      time.Duration
	Continue        bool // onFailure: continue
	Before          []string
	RebootExitCodes []int
	Compress        bool
	Archive         bool
	ArchiveURL      string
	CleanUp         bool // cleanup: on-success
	Files           []NodeFile
	DropIns         []DropIn
	CloudConfig     []byte // YAML, nil when there is none
}

// Script is an executable of a hook. An inline script is called "script".
type Script struct {
	Name    string
	Content []byte
}

// NodeFile is a file that a hook puts in place. It has Content, or URLs and SHA256, or Secret.
type NodeFile struct {
	Path    string // absolute
	Mode    uint32 // 0..07777
	Owner   string // user:group
	Content []byte
	URLs    []string // mirrors of the same bytes, which the node downloads
	SHA256  string   // hexadecimal
	Secret  string   // STORE:NAME, what the node asks a store of secrets for
}

// DropIn is a systemd drop-in.
type DropIn struct {
	Unit    string
	Content string
}

// Part is one entry of spec.additionalUserData.
type Part struct {
	Name    string
	Type    string // the MIME type
	Content string
}

// Archive is an object that has to lie in a bucket before nodes with the new user data boot: kopshook push puts it there.
type Archive struct {
	URL     string // s3://, gs://, azureblob:// or https://: archiveURL, a slash and SHA256
	SHA256  string // of Content, hexadecimal
	Content []byte // gzip, at most 64 MiB
}

// Change is what merging does to a hook of a group.
type Change struct {
	Hook   string
	Verb   string // adds, removes or changes
	Fields []FieldChange
}

// FieldChange is a field of a changed hook, with both values as text; "" stands for none.
type FieldChange struct {
	Field, Old, New string
}

// Size is what the group's user data takes, in bytes. It is zero for groups without hooks.
type Size struct {
	Low, High int // they differ where kops' own script is not known exactly
	Limit     int // what the group's cloud takes
	Fits      bool
}

// Severity of a finding.
type Severity string

// Severities. Nothing is merged when there is an error.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is one thing that Merge has to say.
type Finding struct {
	Severity  Severity
	File      string
	Line, Col int    // from 1; 0 when unknown
	Path      string // the field, as in "spec.hooks[1].timeout"; may be empty
	Message   string
	Remedy    string // what to do; may be empty
}

// Report is all that Merge has to say, sorted by place.
type Report []Finding

// Err returns a *ReportError where the report has errors, else nil.
func (r Report) Err() error {
	var found []Finding
	for _, f := range r {
		if f.Severity == Error {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &ReportError{found}
}

// ReportError holds the errors of a report.
type ReportError struct{ Findings []Finding }

// Error is a line for each finding.
func (e *ReportError) Error() string {
	s := ""
	for i, f := range e.Findings {
		if i > 0 {
			s += "\n"
		}
		if at := (report.Position{File: f.File, Line: f.Line, Col: f.Col}).String(); at != "" {
			s += at + ": "
		}
		s += f.Message
		if f.Remedy != "" {
			s += " (" + f.Remedy + ")"
		}
	}
	return s
}

// Merge merges hook specs into manifests. Whatever is wrong with the input is in the report, all at once; so is a ctx that
// has ended.
func Merge(ctx context.Context, in Input, o Options) (Output, Report) {
	var files plan.Input
	files.Read(append(planFiles(in.Specs, true), planFiles(in.Manifests, false)...)...)
	if !o.Remove && len(files.Specs) == 0 && !files.Report.HasErrors() {
		files.Report.Errorf(report.Position{}, "", "give documents of kind InstanceGroupHooks in Specs", "no hook specs given")
	}
	out, err := plan.Merge(ctx, &files, plan.Options{
		Loader: reader(o.Read), Only: o.Groups, Strict: o.Strict, Remove: o.Remove, Prune: o.Prune, Write: true,
		Checks: []plan.Check{plan.Sizes(report.Error), plan.Arrival, plan.Hopeless, plan.Names(false), plan.Removals},
	})
	if err != nil {
		return Output{}, Report{{Severity: Error, Message: err.Error()}}
	}
	return convert(out)
}

func planFiles(files []File, specs bool) []plan.File {
	var out []plan.File
	for _, f := range files {
		out = append(out, plan.File{Name: f.Name, Data: f.Data, SpecsOnly: specs})
	}
	return out
}

// reader is a plan.Loader.
type reader func(context.Context, Source) ([]File, error)

func (read reader) Load(ctx context.Context, ref source.Ref) ([]source.File, error) {
	if read == nil {
		return nil, errors.New("the spec takes it from a source, and nothing is there to read sources: set Options.Read")
	}
	files, err := read(ctx, Source{Spec: ref.SpecFile, Source: ref.Source, Folder: ref.Dir})
	var out []source.File
	for _, f := range files {
		out = append(out, source.File{Name: f.Name, Content: f.Data})
	}
	if err == nil && (len(out) == 0 || len(out) > 1 && !ref.Dir) {
		err = errors.New("the source has no file, or more than one where one is wanted")
	}
	return out, err
}
