package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// LockName is the name of the lock file. It lies in the folder of the specs that it is for, and is for all of them.
const LockName = "kopshook.lock.yaml"

const lockVersion = 1

const lockHeader = `# Pins what hook specs in this folder take from elsewhere. Written by kopshook lock: commit it, do not edit it.
# sha256 is of a file's bytes; tree, of a folder, is what "LC_ALL=C sha256sum * | sha256sum" prints in it.
`

// LockFile is what a lock file says.
type LockFile struct {
	Version int     `yaml:"version"`
	Vendor  string  `yaml:"vendor,omitempty"` // folder with copies, relative to the lock file's
	Sources []Entry `yaml:"sources"`
}

// Entry pins one source: SHA256 of a file, or Tree of a folder.
type Entry struct {
	Source   string `yaml:"source"`             // as in the spec, without credentials
	Revision string `yaml:"revision,omitempty"` // commit, or digest of the manifest in a registry
	Key      string `yaml:"key,omitempty"`      // that signed the revision: DER in base64
	SHA256   string `yaml:"sha256,omitempty"`
	Tree     string `yaml:"tree,omitempty"`
	Size     int64  `yaml:"size"` // bytes, of all files together
}

func (e *Entry) isTree() bool { return e.Tree != "" }

func (e *Entry) sum() string { return e.SHA256 + e.Tree }

// same says whether two entries pin the same bytes.
func (e *Entry) same(other *Entry) bool { return e.SHA256 == other.SHA256 && e.Tree == other.Tree }

// Encode writes a lock file: always the same bytes for the same entries.
func (f *LockFile) Encode() []byte {
	out := LockFile{Version: lockVersion, Vendor: f.Vendor, Sources: slices.Clone(f.Sources)}
	slices.SortFunc(out.Sources, func(a, b Entry) int { return cmp.Compare(a.Source, b.Source) })
	b := bytes.NewBufferString(lockHeader)
	enc := yaml.NewEncoder(b)
	enc.SetIndent(2)
	if err := enc.Encode(out); err != nil {
		panic(err) // plain strings and numbers
	}
	return b.Bytes()
}

func (f *LockFile) entry(key string) *Entry {
	for i := range f.Sources {
		if f.Sources[i].Source == key {
			return &f.Sources[i]
		}
	}
	return nil
}

// lockError is what is wrong in a lock file, at a place of its own.
type lockError struct {
	pos    report.Position
	msg    string
	remedy string
}

func (e *lockError) Error() string             { return e.msg }
func (e *lockError) Hint() string              { return e.remedy }
func (e *lockError) Position() report.Position { return e.pos }

const relock = "take the last version that was committed, or remove the file and run `kopshook lock`"

// DecodeLock reads a lock file, strictly. name is for messages.
func DecodeLock(name string, data []byte) (*LockFile, error) {
	d := lockDecoder{name: name}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		remedy := relock
		if bytes.Contains(data, []byte("<<<<<<<")) {
			remedy = "take either side of the merge conflict, then run `kopshook lock`"
		}
		line, msg := yamlError(err)
		return nil, &lockError{d.at(line, 0), "the lock file is no YAML: " + msg, remedy}
	}
	if err := dec.Decode(&more); err == nil {
		d.fail(&more, "the lock file has a second document")
	}
	f := d.file(&doc)
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	return f, nil
}

type lockDecoder struct {
	name string
	errs []error
}

func (d *lockDecoder) at(line, col int) report.Position {
	return report.Position{File: d.name, Line: line, Col: col}
}

func (d *lockDecoder) fail(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, &lockError{d.at(n.Line, n.Column), fmt.Sprintf(format, args...), relock})
}

// pairs calls do for each key of a mapping.
func (d *lockDecoder) pairs(n *yaml.Node, what string, do func(key string, v *yaml.Node) (known bool)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			d.fail(key, "%s has %q twice", what, key.Value)
		}
		seen[key.Value] = true
		if !do(key.Value, n.Content[i+1]) {
			d.fail(key, "%s has an unknown key %q", what, key.Value)
		}
	}
}

func (d *lockDecoder) file(doc *yaml.Node) *LockFile {
	f := &LockFile{}
	if doc.Kind == 0 || len(doc.Content) != 1 {
		d.errs = append(d.errs, &lockError{d.at(1, 1), "the lock file is empty", relock})
		return f
	}
	root := doc.Content[0]
	// a newer version may have any keys: say that first, and nothing else
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "version" {
			f.Version, _ = strconv.Atoi(root.Content[i+1].Value)
		}
	}
	if f.Version > lockVersion {
		d.errs = append(d.errs, &lockError{d.at(root.Line, root.Column),
			fmt.Sprintf("the lock file has version %d; this kopshook knows version %d", f.Version, lockVersion), "use the kopshook that wrote it, or a newer one"})
		return f
	}
	d.pairs(root, "the lock file", func(key string, v *yaml.Node) bool {
		switch key {
		case "version":
			if f.Version != lockVersion {
				d.fail(v, "version must be %d", lockVersion)
			}
		case "vendor":
			f.Vendor = d.text(v, key)
			if path.IsAbs(f.Vendor) {
				d.fail(v, "vendor must be relative to the lock file's folder")
			}
		case "sources":
			if v.Kind != yaml.SequenceNode {
				d.fail(v, "sources must be a list")
				return true
			}
			for _, item := range v.Content {
				d.source(f, item)
			}
		default:
			return false
		}
		return true
	})
	if f.Version == 0 && len(d.errs) == 0 {
		d.fail(root, "the lock file has no version")
	}
	return f
}

func (d *lockDecoder) source(f *LockFile, n *yaml.Node) {
	var e Entry
	sized := false
	d.pairs(n, "a source", func(key string, v *yaml.Node) bool {
		switch key {
		case "source":
			e.Source = d.text(v, key)
		case "revision":
			e.Revision = d.text(v, key)
			if !isCommit(e.Revision) && !isDigest(e.Revision) {
				d.fail(v, "revision %q is neither a commit id nor a digest", e.Revision)
			}
		case "key":
			e.Key = d.text(v, key)
			if _, err := parseKey(e.Key); err != nil {
				d.fail(v, "key %v", err)
			}
		case "sha256":
			e.SHA256 = d.sum(v, key)
		case "tree":
			e.Tree = d.sum(v, key)
		case "size":
			n, err := strconv.ParseInt(v.Value, 10, 64)
			if err != nil || n < 0 {
				d.fail(v, "size must be a number of bytes")
			}
			e.Size, sized = n, true
		default:
			return false
		}
		return true
	})
	switch {
	case n.Kind != yaml.MappingNode:
	case e.Source == "":
		d.fail(n, "a source has no source")
	case (e.SHA256 == "") == (e.Tree == ""):
		d.fail(n, "a source has sha256 or tree, one of them")
	case !sized:
		d.fail(n, "a source has no size")
	case e.Key != "" && (!strings.HasPrefix(e.Source, ociScheme) || e.Revision == ""):
		d.fail(n, "a key is for sources of registries, and their revisions")
	case f.entry(e.Source) != nil:
		d.fail(n, "source %q stands there twice", e.Source)
	case e.Source != Redact(e.Source):
		d.fail(n, "a source holds credentials")
	}
	f.Sources = append(f.Sources, e)
}

func (d *lockDecoder) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		d.fail(n, "%s must be a text", key)
	}
	return n.Value
}

func (d *lockDecoder) sum(n *yaml.Node, key string) string {
	s := d.text(n, key)
	if !isSHA256(s) {
		d.fail(n, "%s %q is no SHA-256 in hex", key, s)
	}
	return s
}

// yamlError takes "yaml: line 3: what is wrong" apart. The line is 0 when there is none.
func yamlError(err error) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		digits, rest, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(digits); err == nil {
			return n, rest
		}
	}
	return 0, msg
}

// lockPath is the lock file for a spec.
func lockPath(specFile string) string {
	return filepath.Join(specDir(specFile), LockName)
}

// fileName is what the file of a source is called: the last element of its path, as parseAddress finds it.
func fileName(src string) string {
	a, err := parseAddress(src)
	if err != nil {
		return path.Base(src)
	}
	switch {
	case a.inner != "":
		return path.Base(a.inner)
	case a.archive != "":
		return strings.TrimSuffix(a.name, "."+a.archive)
	}
	return a.name
}
