package hookspec

import (
	"bytes"
	"errors"
	"io"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// Decode reads all hook specs of a file and validates them. Documents of other kinds are skipped. It reports all
// mistakes at once; a Doc that has any is returned too, so that a caller must look at r before it goes on.
func Decode(file string, data []byte, r *report.Report) []*Doc {
	var docs []*Doc
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); err != nil {
			if !errors.Is(err, io.EOF) {
				r.Errorf(report.Position{File: file, Line: 1, Col: 1}, "", "", "%v", err)
			}
			return docs
		}
		d := &Doc{File: file}
		var head struct{ Kind string }
		if n.Decode(&head) != nil || head.Kind != Kind {
			continue
		}
		if err := n.Decode(&d.Spec); err != nil {
			r.Errorf(report.Position{File: file, Line: 1, Col: 1}, "", "", "%v", err)
			continue
		}
		docs = append(docs, d)
	}
}

// UnmarshalYAML and friends are a stopgap of the skeleton.
func (p *PhaseList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*p = PhaseList{Phase(n.Value)}
		return nil
	}
	return n.Decode((*[]Phase)(p))
}

func (p *URLList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*p = URLList{n.Value}
		return nil
	}
	return n.Decode((*[]string)(p))
}
