package krm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/internal/report"
)

// Result is one thing that a function has to say.
type Result struct {
	Message     string            `json:"message" yaml:"message"`
	Severity    string            `json:"severity" yaml:"severity"` // error, warning or info
	ResourceRef *ResourceRef      `json:"resourceRef,omitempty" yaml:"resourceRef,omitempty"`
	Field       *Field            `json:"field,omitempty" yaml:"field,omitempty"`
	File        *File             `json:"file,omitempty" yaml:"file,omitempty"`
	Tags        map[string]string `json:"tags,omitempty" yaml:"tags,omitempty"`
}

// ResourceRef names the object that a result is about.
type ResourceRef struct {
	APIVersion string `json:"apiVersion" yaml:"apiVersion"`
	Kind       string `json:"kind" yaml:"kind"`
	Namespace  string `json:"namespace,omitempty" yaml:"namespace,omitempty"`
	Name       string `json:"name" yaml:"name"`
}

// Field is the field that a result is about: "spec.hooks[0].timeout".
type Field struct {
	Path string `json:"path" yaml:"path"`
}

// File is the file that holds the object.
type File struct {
	Path  string `json:"path" yaml:"path"`
	Index int    `json:"index,omitempty" yaml:"index,omitempty"`
}

// NewResult returns what a finding says about the object that it stands in. l may be nil.
func (l *List) NewResult(f report.Finding) Result {
	r := Result{Message: f.Message, Severity: f.Severity.String()}
	if f.Remedy != "" {
		r.Message += " (" + f.Remedy + ")"
	}
	if f.Code != "" {
		r.Tags = map[string]string{"code": f.Code}
	}
	if l == nil || f.Line == 0 {
		return r
	}
	l.At(f.Line, f.Col).describe(&r, f.Path)
	return r
}

// About returns a result about a field of the object.
func (i *Item) About(path, severity, format string, args ...any) Result {
	r := Result{Message: fmt.Sprintf(format, args...), Severity: severity}
	i.describe(&r, path)
	return r
}

// describe says in r that it is about the object. The specification wants a field only with a resourceRef, and that
// only complete.
func (i *Item) describe(r *Result, path string) {
	if i == nil {
		return
	}
	if i.Path != "" {
		r.File = &File{Path: i.Path, Index: i.Index}
	}
	if i.APIVersion == "" || i.Kind == "" || i.Name == "" {
		return
	}
	r.ResourceRef = &ResourceRef{APIVersion: i.APIVersion, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
	if path != "" {
		r.Field = &Field{Path: path}
	}
}

// Write returns the list of data, a normalized ResourceList, with these results. Nothing else of it changes by a byte,
// but for the indentation of JSON.
func (l *List) Write(data []byte, results []Result) ([]byte, error) {
	if json.Valid(data) {
		return writeJSON(data, results)
	}
	data = withoutResults(data)
	if len(results) > 0 {
		printed, err := printYAML(results)
		if err != nil {
			return nil, err
		}
		data = append(bytes.Clone(beforeEnd(data)), printed...)
	}
	return data, l.check(data, len(results))
}

// check reads what Write wrote: an orchestrator must be able to.
func (l *List) check(data []byte, results int) error {
	var got struct {
		Items   []any `json:"items" yaml:"items"`
		Results []any `json:"results" yaml:"results"`
	}
	if err := sigsyaml.Unmarshal(data, &got); err != nil {
		return fmt.Errorf("the list that was made cannot be read: %w", err)
	}
	if len(got.Items) != len(l.Items) || len(got.Results) != results {
		return errors.New("the list that was made does not hold what it should")
	}
	return nil
}

func writeJSON(data []byte, results []Result) ([]byte, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	delete(list, "results")
	if len(results) > 0 {
		printed, err := json.Marshal(results)
		if err != nil {
			return nil, err
		}
		list["results"] = printed
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(list)
	return b.Bytes(), err
}

func printYAML(results []Result) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(struct {
		Results []Result `yaml:"results"`
	}{results})
	return b.Bytes(), err
}

// withoutResults returns block YAML without its key results: what another function had to say.
func withoutResults(data []byte) []byte {
	var kept []byte
	inside := false
	for line := range bytes.Lines(data) {
		if bytes.IndexByte([]byte(" \t#-\r\n"), line[0]) < 0 { // at the top level, a key
			inside = bytes.HasPrefix(line, []byte("results:")) || bytes.HasPrefix(line, []byte(`"results":`))
		}
		if !inside {
			kept = append(kept, line...)
		}
	}
	return kept
}

// beforeEnd returns the document without the line "..." that ends it, and with a line break at its end.
func beforeEnd(data []byte) []byte {
	end := 0
	for line := range bytes.Lines(data) {
		if marker := bytes.TrimRight(line, " \t\r\n"); bytes.Equal(marker, []byte("...")) && bytes.HasPrefix(line, []byte("...")) {
			return data[:end]
		}
		end += len(line)
	}
	if bytes.HasSuffix(data, []byte("\n")) {
		return data
	}
	return append(bytes.Clone(data), '\n')
}

// Failed returns a list without items, for input that is no list.
func Failed(results []Result) ([]byte, error) {
	printed, err := printYAML(results)
	if err != nil {
		return nil, err
	}
	return append([]byte("apiVersion: "+versions[0]+"\nkind: "+Kind+"\nitems: []\n"), printed...), nil
}
