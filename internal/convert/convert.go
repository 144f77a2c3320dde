// Package convert brings hooks of other systems over: TKE, eggo, kops' own spec.hooks, Cluster API's KubeadmConfig,
// eksctl and Helm. What cannot be converted is said, each thing where it stands, and written into the result as
// comments; nothing is dropped in silence.
package convert

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// Options are what some systems need beside the file.
type Options struct {
	// ReadFile reads a file that the input names, relative to the input; ReadDir lists the regular files of a folder,
	// sorted. Both are nil in tests that need neither.
	ReadFile func(name string) ([]byte, error)
	ReadDir  func(name string) ([]string, error)

	Eggo EggoOptions
	Helm HelmOptions
}

// system is one that hooks can come from.
type system struct {
	name, called string
	lenient      bool // comments that begin with //
	convert      func(c *converter, docs []*yaml.Node)
}

func systems() []system {
	return []system{
		{"tke", "TKE", true, (*converter).tke},
		{"eggo", "eggo", true, (*converter).eggo},
		{"kops", "kops", false, (*converter).kops},
		{"kubeadm", "Cluster API", false, (*converter).kubeadm},
		{"extensionconfig", "Cluster API", false, (*converter).extensionConfig},
		{"eksctl", "eksctl", false, (*converter).eksctl},
		{"helm", "Helm", false, (*converter).helm},
	}
}

// CheckSystem returns an error for what is not one of Systems.
func CheckSystem(from string) error {
	if slices.Contains(Systems(), from) {
		return nil
	}
	return report.Hint("the systems are "+strings.Join(Systems(), ", "), "there is no system %q to convert from", from)
}

// Systems returns the names of the systems that Convert knows.
func Systems() []string {
	var names []string
	for _, s := range systems() {
		names = append(names, s.name)
	}
	return names
}

// Convert returns specs that do what the hooks of another system's file do. What it has to say goes to r: warnings for
// what is not converted, errors where there is no result. file is the name as the user gave it; without data only
// Options count.
func Convert(from, file string, data []byte, opts Options, r *report.Report) []byte {
	for _, s := range systems() {
		if s.name != from {
			continue
		}
		c := &converter{Options: opts, system: s, file: file, used: map[*yaml.Node]bool{}, names: map[string]bool{}}
		if from == "helm" {
			data = c.template(data)
		}
		docs := c.parse(data)
		if !c.report.HasErrors() {
			s.convert(c, docs)
			c.settle()
		}
		if !c.report.HasErrors() && len(c.docs) == 0 {
			c.report.Errorf(report.Position{File: file}, "", "", "there are no %s hooks in it", s.called)
		}
		c.report.Sort()
		r.Merge(&c.report)
		if c.report.HasErrors() {
			return nil
		}
		return c.render()
	}
	r.AddError(report.Position{}, "", CheckSystem(from))
	return nil
}

// converter is the state of one conversion.
type converter struct {
	Options
	system
	file   string
	report report.Report
	used   map[*yaml.Node]bool // of the input, see tree.go
	docs   []*document
	names  map[string]bool // of specs, and of hooks as "spec/hook"
}

// notCarried says that something of the input has no place in the result.
func (c *converter) notCarried(n *yaml.Node, path, remedy, format string, args ...any) {
	c.report.Warnf(c.pos(n), path, remedy, "not converted: %s: %s", path, fmt.Sprintf(format, args...))
}

// note says that something was converted, but means something else now.
func (c *converter) note(n *yaml.Node, path, remedy, format string, args ...any) {
	c.report.Warnf(c.pos(n), path, remedy, "%s: %s", path, fmt.Sprintf(format, args...))
}

// errorf says what keeps the input from being converted.
func (c *converter) errorf(n *yaml.Node, path, remedy, format string, args ...any) {
	c.report.Errorf(c.pos(n), path, remedy, format, args...)
}

func (c *converter) pos(n *yaml.Node) report.Position {
	if n == nil {
		return report.Position{File: c.file}
	}
	return report.Position{File: c.file, Line: n.Line, Col: n.Column}
}
