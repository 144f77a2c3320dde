package convert

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// tkeHooks are TKE's moments (api/platform/v1/types.go, HookType), in their order.
var tkeHooks = []struct {
	name  string
	phase string // of nodes
	event string // of the cluster
	never string // why there is none
}{
	{name: "PreInstall", phase: "pre-nodeup"},
	{name: "PostInstall", phase: "post-kubelet"},
	{name: "PreUpgrade", never: "kops upgrades by replacing nodes: what the old node needs is a hook of phase pre-shutdown"},
	{name: "PostUpgrade", never: "kops upgrades by replacing nodes: what the new node needs is a hook of phase pre-nodeup or post-kubelet"},
	{name: "PreClusterInstall", event: "before-create"},
	{name: "PostClusterInstall", event: "after-create"},
	{name: "PreClusterUpgrade", event: "before-upgrade"},
	{name: "PostClusterUpgrade", event: "AfterClusterUpgrade"},
	{name: "PreClusterDelete", event: "before-delete"},
	{name: "PostClusterDelete", event: "after-delete"},
}

// tke converts a Cluster of platform.tkestack.io: spec.features.files are copied to every node, spec.features.hooks
// name commands, most of them among those files.
func (c *converter) tke(docs []*yaml.Node) {
	for _, doc := range docs {
		c.field(doc, "apiVersion")
		c.field(doc, "kind")
		name := c.text(doc, "", "metadata", "name")
		if name == "" {
			name = "tke"
		}
		features := c.field(doc, "spec", "features")
		files := c.tkeFiles(features)
		c.tkeCommands(features, files, name)
		c.unused(doc, "", func(path string) (string, string) {
			if strings.HasPrefix(path, "spec.features.hooks.") {
				return "TKE has no such hook", ""
			}
			return "it describes the cluster, which kops has a manifest of its own for", ""
		})
	}
}

type tkeFile struct {
	src, dst string
	at       *yaml.Node
	hook     bool // a hook runs it
}

func (c *converter) tkeFiles(features *yaml.Node) []*tkeFile {
	var files []*tkeFile
	for i, n := range c.items(c.field(features, "files")) {
		path := index("spec.features.files", i)
		f := &tkeFile{src: c.text(n, path, "src"), dst: c.text(n, path, "dst"), at: n}
		switch {
		case f.src == "" || f.dst == "":
			c.notCarried(n, path, "", "it needs src and dst")
		case !strings.HasPrefix(f.dst, "/"):
			c.notCarried(n, path, "", "dst %q is not absolute", f.dst)
		case strings.HasPrefix(f.src, "/"):
			c.note(n, path, "copy it to the folder of the spec and name it from there", "src %q is a path in TKE's own pods", f.src)
			f.src = strings.TrimLeft(f.src, "/")
			files = append(files, f)
		default:
			files = append(files, f)
		}
	}
	return files
}

// tkeCommands makes one hook that puts all files in place, as TKE does before anything else, and one for each command.
func (c *converter) tkeCommands(features *yaml.Node, files []*tkeFile, name string) {
	type command struct {
		moment int
		line   string
		at     *yaml.Node
	}
	var commands []command
	hooks := c.field(features, "hooks")
	for i, moment := range tkeHooks {
		path := "spec.features.hooks." + moment.name
		n := c.field(hooks, moment.name)
		line := strings.TrimSpace(c.str(n, path))
		if line == "" {
			continue
		}
		if moment.never != "" {
			c.notCarried(n, path, "", "%s", moment.never)
			continue
		}
		commands = append(commands, command{i, line, n})
		for _, f := range files {
			f.hook = f.hook || f.dst == strings.Fields(line)[0]
		}
	}
	onNodes := len(files) > 0
	for _, cmd := range commands {
		onNodes = onNodes || tkeHooks[cmd.moment].phase != ""
	}
	var nodes, cluster *document
	if onNodes {
		nodes = c.nodes(name, mapping())
	}
	if len(files) > 0 {
		c.hook(nodes, origin{c.field(features, "files"), "spec.features.files"}, "files", "phase", "pre-nodeup", "weight", -100, "files", tkeFileNodes(files))
	}
	for _, cmd := range commands {
		moment := tkeHooks[cmd.moment]
		path := "spec.features.hooks." + moment.name
		if moment.phase != "" {
			c.hook(nodes, origin{cmd.at, path}, kebab(moment.name), "phase", moment.phase, "script", script(tkeCall(cmd.line)))
			continue
		}
		if cluster == nil {
			cluster = c.cluster(name + "-cluster")
		}
		c.tkeClusterHook(cluster, moment.name, moment.event, cmd.line, files, cmd.at, path)
	}
}

// tkeClusterHook makes a hook for the operator's machine. There the files are not at their destination, so the one
// that the command names is the source, if it has no arguments.
func (c *converter) tkeClusterHook(d *document, name, event, line string, files []*tkeFile, at *yaml.Node, path string) {
	fields := []any{"on", event}
	if strings.HasPrefix(event, "after-") {
		fields = append(fields, "when", "success")
	}
	c.note(at, path, "", "TKE runs it on a node of the cluster; kopshook exec runs it on your machine, once, with KOPSHOOK_ variables instead of labels and annotations as arguments")
	for _, f := range files {
		if f.dst == line {
			c.hook(d, origin{at, path}, kebab(name), append(fields, "source", f.src)...)
			return
		}
	}
	for _, f := range files {
		if f.dst == strings.Fields(line)[0] {
			c.note(at, path, "", "it calls %s, which is the file %s beside the spec here", f.dst, f.src)
		}
	}
	c.hook(d, origin{at, path}, kebab(name), append(fields, "script", script(tkeCall(line)))...)
}

// tkeCall is a script's line for a command, which TKE hands to a shell.
func tkeCall(line string) string {
	if strings.ContainsAny(line, ";&|<>()\n") {
		return line
	}
	return "exec " + line
}

func tkeFileNodes(files []*tkeFile) []*yaml.Node {
	var nodes []*yaml.Node
	seen := map[string]bool{}
	for i := len(files) - 1; i >= 0; i-- { // of two for one place, TKE leaves the last
		f := files[i]
		if seen[f.dst] {
			continue
		}
		seen[f.dst] = true
		mode := "0644"
		if f.hook {
			mode = "0755" // TKE makes it executable
		}
		nodes = append([]*yaml.Node{mapping("path", f.dst, "source", f.src, "mode", mode)}, nodes...)
	}
	return nodes
}

// kebab turns "PreClusterInstall" into "pre-cluster-install".
func kebab(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
