package clusterhooks

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

// Kind of a document that says which hooks run around kops commands. Its apiVersion is hookspec.APIVersion.
const Kind = "ClusterHooks"

// Doc is one ClusterHooks document and where it stands.
type Doc struct {
	File       string // as the user gave it; standard input is "-"
	Name       string
	Selector   Selector
	Hooks      []Hook
	Extensions []Extension

	pos func(path string) report.Position
}

// Pos returns where the field at path stands, for instance "spec.hooks[1].script".
func (d *Doc) Pos(path string) report.Position { return d.pos(path) }

// Selector selects clusters: all of its fields must match, and of each list one item. Globs are path.Match's.
type Selector struct {
	Clusters        []string          // globs on metadata.name
	ExcludeClusters []string          // globs on metadata.name
	MatchLabels     map[string]string // metadata.labels

	MatchExpressions []Expression // on the same labels
}

// Selects says whether s selects c.
func (s *Selector) Selects(c *Cluster) bool {
	if s == nil {
		return true
	}
	matchAny := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool {
			ok, err := path.Match(glob, c.Name)
			return ok && err == nil
		})
	}
	if len(s.Clusters) > 0 && !matchAny(s.Clusters) || matchAny(s.ExcludeClusters) {
		return false
	}
	for k, v := range s.MatchLabels {
		if got, ok := c.label(k); !ok || got != v {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(e Expression) bool { return !e.matches(c) })
}

// namespace is what s wants of the cluster's namespace, "" for nothing.
func (s *Selector) namespace() string {
	if s == nil {
		return ""
	}
	if want, ok := s.MatchLabels[namespaceLabel]; ok {
		return namespaceLabel + "=" + want
	}
	for i := range s.MatchExpressions {
		if e := &s.MatchExpressions[i]; e.Key == namespaceLabel {
			return e.String()
		}
	}
	return ""
}

// Expression is a requirement of a label, as in Kubernetes' label selectors.
type Expression struct {
	Key, Operator string
	Values        []string
}

const (
	opIn           = "In"
	opNotIn        = "NotIn"
	opExists       = "Exists"
	opDoesNotExist = "DoesNotExist"
)

func (e *Expression) matches(c *Cluster) bool {
	got, ok := c.label(e.Key)
	switch e.Operator {
	case opIn:
		return ok && slices.Contains(e.Values, got)
	case opNotIn:
		return !ok || !slices.Contains(e.Values, got)
	case opExists:
		return ok
	}
	return !ok // DoesNotExist
}

// String is "key In [a b]".
func (e *Expression) String() string {
	if len(e.Values) == 0 {
		return e.Key + " " + e.Operator
	}
	return fmt.Sprintf("%s %s %v", e.Key, e.Operator, e.Values)
}

// When says after which ends of a kops command an after hook runs.
type When string

const (
	Always    When = "always"
	OnSuccess When = "success"
	OnFailure When = "failure"
)

// DeletePolicy says when a hook's work folder is removed, in Helm's words.
type DeletePolicy string

const (
	BeforeHookCreation DeletePolicy = "before-hook-creation"
	HookSucceeded      DeletePolicy = "hook-succeeded"
	HookFailed         DeletePolicy = "hook-failed"
)

// Hook is a script that runs around kops commands. All defaults are set.
type Hook struct {
	Name         string
	On           []Event
	When         When
	Weight       int
	Script       *string // exactly one of Script and Source
	Source       *string
	Env          map[string]string
	Timeout      time.Duration // of one attempt
	Attempts     int
	RetryDelay   time.Duration // doubles up to maxRetryDelay
	Ignore       bool          // failurePolicy: Ignore
	DeletePolicy []DeletePolicy
	Selector     *Selector // nil selects every cluster of the document
	Enabled      bool

	path string // "spec.hooks[1]"
}

// Extension is a server of Runtime Extensions.
type Extension struct {
	Name         string
	ClientConfig ClientConfig
	Settings     map[string]string
	Weight       int
	Ignore       bool // failurePolicy: Ignore, for the discovery; each handler has a policy of its own
	Selector     *Selector
	Enabled      bool

	path, namePath string
}

// ClientConfig says how to reach a server. Files are relative to the document.
type ClientConfig struct {
	URL        string   // exactly one of URL and Service
	Service    *Service // in the cluster of a kubeconfig's context
	CABundle   []byte   // PEM
	CAFile     string
	CASecret   string // NAMESPACE/NAME of a Secret in the same cluster; it goes before CABundle
	CertFile   string
	KeyFile    string
	ServerName string // that the certificate must be for, where it is not the URL's host
}

// NamedFile is a file that a document names, relative to the document's folder.
type NamedFile struct {
	Path string // of the field, for Pos
	Name string

	field string
}

// Files are the files of all extensions, those that are off included. Scripts are no such files: their hooks have a source.
func (d *Doc) Files() []NamedFile {
	var all []NamedFile
	for i := range d.Extensions {
		all = append(all, d.Extensions[i].files()...)
	}
	return all
}

func (e *Extension) files() []NamedFile {
	var all []NamedFile
	c := &e.ClientConfig
	for _, f := range []NamedFile{{field: "caFile", Name: c.CAFile}, {field: "certFile", Name: c.CertFile}, {field: "keyFile", Name: c.KeyFile}} {
		if f.Name != "" {
			f.Path = e.path + ".clientConfig." + f.field
			all = append(all, f)
		}
	}
	return all
}

// Service is a Service behind which a server is.
type Service struct {
	Namespace, Name, Path string
	Port                  int
}

// URL is how the server is called, and what its certificate is for (Cluster API's internal/runtime/client/client.go).
func (s *Service) URL() string {
	u := url.URL{Scheme: "https", Host: s.Name + "." + s.Namespace + ".svc", Path: s.Path}
	if s.Port != defaultServicePort {
		u.Host = net.JoinHostPort(u.Host, strconv.Itoa(s.Port))
	}
	return u.String()
}

const defaultServicePort = 443

// step is a hook or an extension that is to run for an event.
type step struct {
	doc       *Doc
	hook      *Hook
	extension *Extension
	scripts   []Script // of the hook, once they are read
}

func (s step) name() string {
	if s.hook != nil {
		return s.hook.Name
	}
	return s.extension.Name
}

func (s step) kind() string {
	if s.hook != nil {
		return "hook"
	}
	return "extension"
}

func (s step) weight() int {
	if s.hook != nil {
		return s.hook.Weight
	}
	return s.extension.Weight
}

// stepsOn returns what is there for an event, whichever cluster it is about, in the order in which it runs: weight,
// then name.
func stepsOn(docs []*Doc, event Event) []step {
	var steps []step
	for _, d := range docs {
		for i := range d.Hooks {
			if h := &d.Hooks[i]; h.Enabled && slices.Contains(h.On, event) {
				steps = append(steps, step{doc: d, hook: h})
			}
		}
		if _, ok := runtimeHooks[event]; !ok {
			continue
		}
		for i := range d.Extensions {
			if d.Extensions[i].Enabled {
				steps = append(steps, step{doc: d, extension: &d.Extensions[i]})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.weight(), b.weight()), cmp.Compare(a.name(), b.name()))
	})
	return steps
}

// selects says whether the step is for a cluster.
func (s step) selects(c *Cluster) bool {
	own := (*Selector)(nil)
	if s.hook != nil {
		own = s.hook.Selector
	} else {
		own = s.extension.Selector
	}
	return s.doc.Selector.Selects(c) && own.Selects(c)
}
