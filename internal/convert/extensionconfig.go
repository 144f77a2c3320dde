package convert

import (
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/report"
)

// caAnnotation of an ExtensionConfig names the Secret that its CA is in.
const caAnnotation = "runtime.cluster.x-k8s.io/inject-ca-from-secret"

// extensionConfig converts Cluster API's ExtensionConfigs to extensions of one spec. exec takes them as they are, too.
func (c *converter) extensionConfig(docs []*yaml.Node) {
	var d *document
	for _, doc := range docs {
		c.field(doc, "apiVersion")
		if kind := c.text(doc, "", "kind"); kind != clusterhooks.ExtensionConfigKind {
			c.notCarried(doc, "kind "+kind, "", "it is no ExtensionConfig")
			continue
		}
		name := c.text(doc, "", "metadata", "name")
		if d == nil {
			d = c.cluster("extensions")
		}
		d.extensions = append(d.extensions, c.extension(doc, name))
		d.origins = append(d.origins, origin{doc, strings.TrimSpace(clusterhooks.ExtensionConfigKind + " " + name)})
		c.unused(doc, "", func(path string) (string, string) {
			switch {
			case strings.HasPrefix(path, "metadata"):
				return "an extension of kopshook has only a name", ""
			case path == "status":
				return "it is what Cluster API found; kopshook exec --dry-run asks the server", ""
			case path == "spec.clientConfig.caBundle":
				return "it was written from the Secret, which is asked for each time", ""
			}
			return "an ExtensionConfig has no such field", ""
		})
	}
	c.checkExtensions(d)
}

func (c *converter) extension(doc *yaml.Node, name string) *yaml.Node {
	whole := func(keys ...string) *yaml.Node {
		n := value(c.field(doc, keys...))
		c.take(n)
		return n
	}
	var expressions []*yaml.Node
	for _, e := range c.items(c.field(doc, "spec", "namespaceSelector", "matchExpressions")) {
		expressions = append(expressions, c.pick(e, "key", "operator", "values"))
	}
	selector := filled(mapping("matchLabels", whole("spec", "namespaceSelector", "matchLabels"), "matchExpressions", expressions))
	if selector != nil {
		c.note(c.field(doc, "spec", "namespaceSelector"), "spec.namespaceSelector", "label the kops Cluster, or write another selector",
			"it selects by labels of the kops Cluster now, as kops has no namespaces")
	}
	var bundle, ca *yaml.Node
	if secret := c.text(doc, "", "metadata", "annotations", caAnnotation); secret != "" {
		ca = text(secret)
	} else {
		bundle = whole("spec", "clientConfig", "caBundle")
	}
	return mapping("name", c.free("extensions/", name), "clientConfig", mapping(
		"url", whole("spec", "clientConfig", "url"), "service", filled(c.pick(c.field(doc, "spec", "clientConfig", "service"), "namespace", "name", "path", "port")), "caBundle", bundle, "caSecret", ca,
	), "settings", whole("spec", "settings"), "selector", selector)
}

// pick is a mapping with some of the fields of another.
func (c *converter) pick(n *yaml.Node, keys ...string) *yaml.Node {
	var pairs []any
	for _, k := range keys {
		v := value(c.field(n, k))
		c.take(v)
		pairs = append(pairs, k, v)
	}
	return mapping(pairs...)
}

// filled is a mapping, nil where nothing is in it.
func filled(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// checkExtensions says what keeps an extension from being one: it is for the server's owner to set right.
func (c *converter) checkExtensions(d *document) {
	if d == nil || c.report.HasErrors() {
		return
	}
	var r report.Report
	clusterhooks.Decode("", d.render(), &r)
	for _, f := range r.Findings {
		if f.Severity == report.Error {
			c.errorf(d.origins[0].at, f.Path, f.Remedy, "%s", f.Message)
		}
	}
}
