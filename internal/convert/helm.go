package convert

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/shell"
)

// HelmOptions are what Helm would know of a release.
type HelmOptions struct {
	Release   string // "" is the chart's name
	Namespace string // "" leaves the namespace to the manifest, or to kubectl
}

// helmEvents maps Helm's hooks to what the same moment is for a cluster. Jobs need an API that answers.
var helmEvents = map[string]struct {
	event string
	waits bool   // for the API of a new cluster
	note  string // what is different
	never bool   // the hook is written, but not enabled
}{
	"pre-install":   {event: "after-create", waits: true, note: "before a cluster is created nothing can run in it: the hook runs as soon as its API answers"},
	"post-install":  {event: "after-create", waits: true},
	"pre-upgrade":   {event: "before-upgrade"},
	"post-upgrade":  {event: "AfterClusterUpgrade"},
	"pre-rollback":  {event: "before-rollback"},
	"post-rollback": {event: "after-rollback", note: "it comes when kops has the older specification: machines change with the rolling update after that"},
	"pre-delete":    {event: "before-delete"},
	"post-delete":   {event: "after-delete", note: "nothing can run in a cluster that is deleted: the hook is not enabled for that", never: true},
	"test":          {event: "after-control-plane-ready"},
	"test-success":  {event: "after-control-plane-ready"},
}

// helm converts hooks of a rendered chart: each becomes a hook that applies the object and waits for it.
func (c *converter) helm(docs []*yaml.Node) {
	var d *document
	hooks := c.helmHooks(docs)
	mixed := slices.ContainsFunc(hooks, func(h *helmHook) bool { return h.kind != "Job" && h.kind != "Pod" })
	for _, h := range hooks {
		if d == nil {
			name := c.Helm.Release
			if name == "" {
				name = "helm-hooks"
			}
			d = c.cluster(name)
		}
		if mixed {
			// of one weight, Helm orders by kind before it orders by name
			h.weight = h.weight*10 + kindRank(h.kind)
		}
		c.helmHook(d, h)
	}
}

// helmHook is an object of a chart that is a hook.
type helmHook struct {
	at                    *yaml.Node
	kind, name, namespace string
	events                []string
	waits, disabled       bool
	weight                int
	policies              []string
	manifest              string
}

func (c *converter) helmHooks(docs []*yaml.Node) []*helmHook {
	var hooks []*helmHook
	for _, doc := range docs {
		h := &helmHook{at: doc, kind: c.text(doc, "", "kind"), name: c.text(doc, "", "metadata", "name"),
			namespace: c.text(doc, "", "metadata", "namespace")}
		path := strings.TrimSpace(h.kind + " " + h.name)
		annotations := c.field(doc, "metadata", "annotations")
		on := c.text(annotations, "metadata.annotations", "helm.sh/hook")
		switch {
		case on == "":
			c.notCarried(doc, path, "deploy it with Helm, or as a kops addon", "it is no hook")
			continue
		case h.name == "":
			c.notCarried(doc, path, "", "it has no metadata.name")
			continue
		}
		c.helmAnnotations(h, annotations, on, path)
		if len(h.events) > 0 {
			h.manifest = helmManifest(doc)
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// helmAnnotations reads when the hook runs, and what becomes of its object.
func (c *converter) helmAnnotations(h *helmHook, annotations *yaml.Node, on, path string) {
	at := c.field(annotations, "helm.sh/hook")
	enabled := false
	for name := range strings.SplitSeq(on, ",") {
		name = strings.TrimSpace(name)
		e, ok := helmEvents[name]
		if !ok {
			c.notCarried(at, path, "", "Helm 3 has no hook %q", name)
			continue
		}
		if e.note != "" {
			c.note(at, path+": "+name, "", "%s", e.note)
		}
		h.waits = h.waits || e.waits
		enabled = enabled || !e.never
		if !slices.Contains(h.events, e.event) {
			h.events = append(h.events, e.event)
		}
	}
	if h.disabled = !enabled; enabled {
		h.events = slices.DeleteFunc(h.events, func(e string) bool { return e == "after-delete" })
	}
	const most = 90_000
	if w := c.field(annotations, "helm.sh/hook-weight"); w != nil {
		n, err := strconv.Atoi(strings.TrimSpace(w.Value))
		if err != nil {
			c.note(w, path, "", "weight %q is no number, which Helm takes for 0", w.Value)
		}
		if h.weight = max(-most, min(most, n)); h.weight != n {
			c.note(w, path, "", "weight %d is out of range", n)
		}
	}
	for policy := range strings.SplitSeq(c.text(annotations, "metadata.annotations", "helm.sh/hook-delete-policy"), ",") {
		switch policy = strings.TrimSpace(policy); policy {
		case "":
		case "before-hook-creation", "hook-succeeded", "hook-failed":
			h.policies = append(h.policies, policy)
		default:
			c.notCarried(c.field(annotations, "helm.sh/hook-delete-policy"), path, "", "Helm has no delete policy %q", policy)
		}
	}
	if len(h.policies) == 0 {
		h.policies = []string{"before-hook-creation"}
	}
	if logs := c.field(annotations, "helm.sh/hook-output-log-policy"); logs != nil {
		c.notCarried(logs, path, "", "hook-output-log-policy; the logs of what fails are always shown")
	}
}

// helmManifest is the object without the annotations that are Helm's.
func helmManifest(doc *yaml.Node) string {
	var strip func(n *yaml.Node, keys ...string)
	strip = func(n *yaml.Node, keys ...string) {
		n = value(n)
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if len(keys) > 0 && key == keys[0] {
				strip(n.Content[i+1], keys[1:]...)
				if v := value(n.Content[i+1]); v.Kind == yaml.MappingNode && len(v.Content) == 0 {
					n.Content = slices.Delete(n.Content, i, i+2)
				}
				return
			}
			if len(keys) == 0 && strings.HasPrefix(key, "helm.sh/hook") {
				n.Content = slices.Delete(n.Content, i, i+2)
				i -= 2
			}
		}
	}
	strip(doc, "metadata", "annotations")
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.Encode(doc)
	enc.Close()
	return b.String()
}

func (c *converter) helmHook(d *document, h *helmHook) {
	fields := []any{"on", h.events}
	if len(h.events) == 1 {
		fields[1] = h.events[0]
	}
	if slices.ContainsFunc(h.events, func(e string) bool { return !strings.HasPrefix(e, "before-") }) {
		fields = append(fields, "when", "success")
	}
	if h.weight != 0 {
		fields = append(fields, "weight", h.weight)
	}
	if h.waits {
		fields = append(fields, "timeout", "30m")
	}
	if !slices.Equal(h.policies, []string{"before-hook-creation"}) {
		fields = append(fields, "deletePolicy", h.policies)
	}
	if h.disabled {
		fields = append(fields, "enabled", false)
	}
	c.hook(d, origin{h.at, strings.TrimSpace(h.kind + " " + h.name)}, h.name, append(fields, "script", c.helmScript(h))...)
}

// helmScript applies the object and waits until it is done, as Helm does.
func (c *converter) helmScript(h *helmHook) string {
	kubectl := `kubectl --context "$KOPSHOOK_CLUSTER"`
	if h.namespace == "" && c.Helm.Namespace != "" {
		kubectl += " --namespace " + shell.Word(c.Helm.Namespace)
	}
	lines := []string{
		"set -eu",
		"k() { " + kubectl + ` "$@"; }`,
		"manifest() {", "cat <<'KOPSHOOK_EOF'", strings.TrimRight(h.manifest, "\n"), "KOPSHOOK_EOF", "}",
	}
	if h.waits {
		lines = append(lines, "until k get --raw /readyz > /dev/null 2>&1; do sleep 10; done")
	}
	remove := "manifest | k delete --ignore-not-found -f -"
	if slices.Contains(h.policies, "before-hook-creation") {
		lines = append(lines, remove)
	}
	lines = append(lines, "manifest | k create -f -")
	done, failed, state := "", "", ""
	switch h.kind {
	case "Job":
		done, failed, state = "*Complete*", "*Failed*", `{.status.conditions[?(@.status=="True")].type}`
	case "Pod":
		done, failed, state = "Succeeded", "Failed", "{.status.phase}"
	}
	if done != "" {
		object := shell.Word(strings.ToLower(h.kind) + "/" + h.name)
		get := "k get " + object
		logs := "k logs " + object
		if h.namespace != "" {
			ns := " --namespace " + shell.Word(h.namespace)
			get, logs = get+ns, logs+ns
		}
		lines = append(lines, "while :; do",
			"  case $("+get+" -o jsonpath="+shell.Word(state)+") in",
			"  "+done+") break ;;",
			"  "+failed+")",
			"    "+logs+" >&2 || true")
		if slices.Contains(h.policies, "hook-failed") {
			lines = append(lines, "    "+remove)
		}
		lines = append(lines, "    exit 1 ;;", "  esac", "  sleep 2", "done")
	}
	if slices.Contains(h.policies, "hook-succeeded") {
		lines = append(lines, remove)
	}
	return script(lines...)
}

// kindRank orders kinds as Helm installs them (pkg/release/v1/util/kind_sorter.go), as far as hooks go.
func kindRank(kind string) int {
	order := [][]string{{"PriorityClass", "Namespace"}, {"NetworkPolicy", "ResourceQuota", "LimitRange"}, {"ServiceAccount"}, {"Secret", "ConfigMap"},
		{"PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition"}, {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}, {"Service"}, {"Pod"}, {"Job"}}
	for i, kinds := range order {
		if slices.Contains(kinds, kind) {
			return i
		}
	}
	return len(order)
}
