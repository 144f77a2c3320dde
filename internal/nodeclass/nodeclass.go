// Package nodeclass reads the EC2NodeClass objects of Karpenter that kops makes for instance groups with manager: Karpenter,
// and writes them with other user data.
package nodeclass

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// Kind of the objects. Their version is any of the group's.
const (
	Kind  = "EC2NodeClass"
	group = "karpenter.k8s.aws/"
)

// Class is an EC2NodeClass.
type Class struct {
	Name     string
	Cluster  string // its tag KubernetesCluster, "" without one
	Family   string // spec.amiFamily
	UserData string

	file string
	node *yaml.Node
}

// Decode returns the classes in a file, YAML or JSON, also those inside of a List. Objects of other kinds are skipped. What
// is wrong with a class is in the report.
func Decode(file string, data []byte, r *report.Report) []*Class {
	if !bytes.Contains(data, []byte(Kind)) || !bytes.Contains(data, []byte(group)) {
		return nil
	}
	var classes []*Class
	var ignored report.Report // a file that cannot be read is for others to report
	for _, root := range strict.ReadYAML(file, data, &ignored) {
		for _, n := range hookspec.Members(root) {
			if text(n, "kind") != Kind || !strings.HasPrefix(text(n, "apiVersion"), group) {
				continue
			}
			c := &Class{Name: text(n, "metadata", "name"), Cluster: text(n, "spec", "tags", "KubernetesCluster"),
				Family: text(n, "spec", "amiFamily"), UserData: text(n, "spec", "userData"), file: file, node: n}
			if c.Name == "" || c.UserData == "" {
				r.Errorf(c.Pos(), "", "give the object as kops made it: kubectl get ec2nodeclass -o yaml", "an %s lacks metadata.name or spec.userData", Kind)
				continue
			}
			classes = append(classes, c)
		}
	}
	return classes
}

// Pos is the place of a field of the class, or of what is there of its path.
func (c *Class) Pos(path ...string) report.Position {
	n := c.node
	for _, key := range path {
		next := entry(n, key)
		if next == nil {
			break
		}
		n = next
	}
	return report.Position{File: c.file, Line: n.Line, Col: n.Column}
}

// With returns the object as YAML, with other user data. Of its metadata the name alone is left: the rest is of whoever made
// the object, and kops deletes what bears its labels and is not in its addon.
func (c *Class) With(userData string) ([]byte, error) {
	var spec yaml.Node
	if err := clone(entry(c.node, "spec"), &spec); err != nil {
		return nil, err
	}
	*entry(&spec, "userData") = *literal(userData)
	object := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		scalar("apiVersion"), scalar(text(c.node, "apiVersion")),
		scalar("kind"), scalar(Kind),
		scalar("metadata"), {Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("name"), scalar(c.Name)}},
		scalar("spec"), &spec,
	}}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(object); err != nil {
		return nil, fmt.Errorf("%s %q: %w", Kind, c.Name, err)
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// clone copies a node without its aliases, comments and styles.
func clone(n, to *yaml.Node) error {
	var plain any
	if err := n.Decode(&plain); err != nil {
		return err
	}
	return to.Encode(plain)
}

func scalar(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	return n
}

func literal(s string) *yaml.Node {
	n := scalar(s)
	n.Style = yaml.LiteralStyle
	return n
}

// entry returns the value of a key, nil without it.
func entry(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// text returns the scalar at a path, "" without it.
func text(n *yaml.Node, path ...string) string {
	for _, key := range path {
		n = entry(n, key)
	}
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
