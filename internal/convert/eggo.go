package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// EggoOptions are the options of eggo's commands that name hooks: "FILE|DIR,ROLE" and "FILE|DIR".
type EggoOptions struct {
	PreHooks, PostHooks               []string
	ClusterPreHooks, ClusterPostHooks []string
	Operator                          string // deploy, join, cleanup or delete; "" is deploy
}

// eggoRoles maps eggo's roles to kops'.
var eggoRoles = map[string]string{"master": "ControlPlane", "worker": "Node", "etcd": "ControlPlane"}

// The timeouts that eggo's documentation promises: of a script in the configuration, and of one given by option.
const (
	eggoTimeout       = 30 * time.Second
	eggoOptionTimeout = 60 * time.Second
)

// eggo converts a deploy configuration (install.addition, or addition alone), and the hooks that options name.
func (c *converter) eggo(docs []*yaml.Node) {
	roles := map[string]*document{}
	for _, doc := range docs {
		addition, at := c.field(doc, "install", "addition"), "install.addition"
		if addition == nil {
			addition, at = c.field(doc, "addition"), "addition"
		}
		for _, role := range c.pairs(addition) {
			if role.value.Kind != yaml.SequenceNode {
				c.notCarried(role.value, join(at, role.key), "", "it is no list of additions")
			}
			for i, n := range c.items(role.value) {
				c.eggoAddition(roles, role.key, n, index(join(at, role.key), i))
			}
		}
		c.unused(doc, "", func(p string) (string, string) {
			if strings.HasPrefix(p, at) {
				return "kopshook has no counterpart for it", ""
			}
			return "it describes the cluster, which kops has a manifest of its own for", ""
		})
	}
	c.eggoOptions(roles)
}

// eggoAddition converts one script of the configuration. Other additions are packages and files of eggo's own archive.
func (c *converter) eggoAddition(roles map[string]*document, role string, n *yaml.Node, at string) {
	name, kind, schedule := c.text(n, at, "name"), c.text(n, at, "type"), c.text(n, at, "schedule")
	timeout := eggoTimeout
	for _, key := range []string{"TimeOut", "timeout"} {
		if t := c.field(n, key); t != nil {
			d, err := time.ParseDuration(c.str(t, join(at, key)))
			if err != nil || d <= 0 {
				c.note(t, join(at, key), "", "%q is no duration; 30s, eggo's default, stands in its place", t.Value)
				continue
			}
			timeout = d
		}
	}
	if kind != "shell" {
		c.take(n)
		remedy := map[string]string{
			"pkg":   "list it in spec.packages of the kops manifest",
			"file":  "add it to `files:` of a hook",
			"bin":   "add it to `files:` of a hook, with mode \"0755\"",
			"yaml":  "apply it as a kops addon: kopshook addon",
			"image": "pull it from a registry: spec.containerd.registryMirrors of the kops manifest names mirrors",
		}[kind]
		c.notCarried(n, at, remedy, "%s %q is no script", kind, name)
		return
	}
	moments := map[string]eggoMoment{
		"prejoin": {"pre-nodeup", "prehook", "join"}, "postjoin": {"post-kubelet", "posthook", "join"},
		"precleanup": {"pre-shutdown", "prehook", "delete"},
	}
	moment, ok := moments[schedule]
	if !ok {
		remedy := "run it with kopshook exec: a hook on after-delete-instance or after-delete"
		if schedule != "postcleanup" {
			remedy = "eggo knows prejoin, postjoin, precleanup and postcleanup"
		}
		c.notCarried(n, at, remedy, "there is no moment %q on a kops node", schedule)
		return
	}
	c.eggoScript(roles, role, moment, name, timeout, n, at)
}

// eggoMoment is when a script runs here, and what eggo tells it.
type eggoMoment struct{ phase, hookType, operator string }

// eggoScript makes a hook of a script, with eggo's environment. Scripts are taken in where they can be read.
func (c *converter) eggoScript(roles map[string]*document, role string, moment eggoMoment, name string, timeout time.Duration, n *yaml.Node, at string) {
	d := c.eggoRole(roles, role, n, at)
	if d == nil {
		return
	}
	fields := []any{"phase", moment.phase}
	if before := d.having("phase", moment.phase); before > 0 {
		fields = append(fields, "weight", before) // eggo's order, which is not that of the names
	}
	if moment.phase != "pre-shutdown" { // where it is the default
		fields = append(fields, "attempts", 1) // eggo does not try again
	}
	fields = append(fields, "timeout", spell(timeout))
	var env []string
	if moment.phase == "pre-shutdown" {
		env = []string{`[ "$KOPSHOOK_SHUTDOWN" != reboot ] || exit 0 # the node stays`}
	}
	fields = append(fields, c.eggoContent(name, n, at, append(env,
		`export EGGO_CLUSTER_ID="$KOPSHOOK_CLUSTER" EGGO_CLUSTER_API_ENDPOINT="${KOPSHOOK_API_ENDPOINT#https://}:443"`,
		`export EGGO_CLUSTER_CONFIG_DIR=/etc/kubernetes EGGO_NODE_IP="$KOPSHOOK_NODE_IP" EGGO_NODE_NAME="$KOPSHOOK_NODE_NAME"`,
		`export EGGO_NODE_ARCH="$KOPSHOOK_NODE_ARCH" EGGO_NODE_ROLE=`+role+` EGGO_HOOK_TYPE=`+moment.hookType+` EGGO_OPERATOR=`+moment.operator,
	))...)
	c.hook(d, origin{n, at}, strings.TrimSuffix(path.Base(name), path.Ext(name)), fields...)
}

// eggoRole returns the spec for a role, nil where kops has no such nodes.
func (c *converter) eggoRole(roles map[string]*document, role string, n *yaml.Node, at string) *document {
	ours, ok := eggoRoles[role]
	if !ok {
		why, remedy := "eggo has no such role", "eggo's roles are master, worker, etcd and loadbalance"
		if role == "loadbalance" {
			why, remedy = "kops has no load balancer nodes, it uses the cloud's", ""
		} else if role == "" {
			why, remedy = "no role is named", "write PATH,ROLE; "+remedy
		}
		c.notCarried(n, at, remedy, "role %q: %s", role, why)
		return nil
	}
	if role == "etcd" {
		c.note(n, at, "", "kops runs etcd on control planes: it runs there")
	}
	if roles[ours] == nil { // one for master and etcd: their hooks run on the same nodes, so they need different names
		roles[ours] = c.nodes("eggo-"+role, mapping("roles", []string{ours}))
	}
	return roles[ours]
}

// eggoContent returns script: or source: of a hook, with eggo's environment where that can be.
func (c *converter) eggoContent(name string, n *yaml.Node, at string, env []string) []any {
	var content []byte
	err := fmt.Errorf("it is not there")
	if c.ReadFile != nil {
		content, err = c.ReadFile(name)
	}
	switch {
	case err != nil:
		c.note(n, at, "convert where "+name+" lies beside the configuration, to have EGGO_ variables set", "%s cannot be read, so it is named as source: and gets KOPSHOOK_ variables only", name)
		return []any{"source", name}
	case !utf8.Valid(content):
		c.errorf(n, at, "turn it into UTF-8 with iconv, or leave it out here and write a hook with source: for it",
			"%q is not UTF-8: it cannot stand in a spec", name)
		return []any{"source", name}
	case isShell(content):
		return []any{"script", afterShebang(content, env...)}
	case strings.HasPrefix(string(content), "#!"):
		c.note(n, at, "read KOPSHOOK_ variables in it", "%s is no shell script: EGGO_ variables are not set", name)
		return []any{"script", string(content)}
	}
	c.note(n, at, "", "%s has no #!: it runs with /bin/sh", name)
	return []any{"script", script(append(env, string(content))...)}
}

// eggoOptions converts what options name.
func (c *converter) eggoOptions(roles map[string]*document) {
	o := &c.Eggo
	operator := o.Operator
	if operator == "" {
		operator = "deploy"
	}
	moments := map[string][2]eggoMoment{
		"deploy":  {{"pre-nodeup", "prehook", operator}, {"post-kubelet", "posthook", operator}},
		"join":    {{"pre-nodeup", "prehook", operator}, {"post-kubelet", "posthook", operator}},
		"cleanup": {{"pre-shutdown", "prehook", operator}, {}},
		"delete":  {{"pre-shutdown", "prehook", operator}, {}},
	}
	moment, ok := moments[operator]
	if !ok {
		c.errorf(nil, "", "eggo's are deploy, join, cleanup and delete", "there is no operator %q", operator)
		return
	}
	for i, given := range [][]string{o.PreHooks, o.PostHooks} {
		option := []string{"--prehook", "--posthook"}[i]
		for _, arg := range given {
			name, role, _ := strings.Cut(arg, ",")
			for _, file := range c.eggoFiles(name, option) {
				if moment[i].phase == "" {
					c.notCarried(nil, option+" "+file, "run it with kopshook exec: a hook on after-delete-instance or after-delete", "a kops node is gone after its deletion")
					continue
				}
				c.eggoScript(roles, role, moment[i], file, eggoOptionTimeout, nil, option)
			}
		}
	}
	c.eggoClusterOptions(operator)
}

// eggoClusterOptions converts hooks of the whole cluster.
func (c *converter) eggoClusterOptions(operator string) {
	events := map[string][2]string{"deploy": {"before-create", "after-create"}, "cleanup": {"before-delete", "after-delete"}}
	var d *document
	for i, given := range [][]string{c.Eggo.ClusterPreHooks, c.Eggo.ClusterPostHooks} {
		option := []string{"--cluster-prehook", "--cluster-posthook"}[i]
		for _, name := range given {
			event, ok := events[operator]
			if !ok {
				c.errorf(nil, "", "eggo has cluster hooks for deploy and cleanup", "%s does not go with %s", option, operator)
				return
			}
			for _, file := range c.eggoFiles(name, option) {
				if d == nil {
					d = c.cluster("eggo-cluster")
					c.note(nil, option, "on a control plane node, once per cluster: docs/once-per-cluster.md", "eggo runs it on a master; kopshook exec runs it on your machine")
				}
				fields := []any{"on", event[i]}
				if before := d.having("on", event[i]); before > 0 {
					fields = append(fields, "weight", before)
				}
				if i == 1 {
					fields = append(fields, "when", "success")
				}
				fields = append(fields, "timeout", spell(eggoOptionTimeout))
				fields = append(fields, c.eggoContent(file, nil, option, []string{
					`export EGGO_CLUSTER_ID="$KOPSHOOK_CLUSTER" EGGO_CLUSTER_API_ENDPOINT="${KOPSHOOK_API_ENDPOINT#https://}"`, // HOST:PORT, as on nodes
					`case $EGGO_CLUSTER_API_ENDPOINT in *:* | "") ;; *) EGGO_CLUSTER_API_ENDPOINT=$EGGO_CLUSTER_API_ENDPOINT:443 ;; esac`,
					`export EGGO_HOOK_TYPE=` + []string{"prehook", "posthook"}[i] + ` EGGO_OPERATOR=` + operator,
				})...)
				c.hook(d, origin{nil, option + " " + file}, strings.TrimSuffix(path.Base(file), path.Ext(file)), fields...)
			}
		}
	}
}

// eggoFiles returns the scripts that an option names: the file, or those of the folder, not of its subfolders.
func (c *converter) eggoFiles(name, option string) []string {
	if c.ReadDir == nil {
		return []string{name}
	}
	files, err := c.ReadDir(name)
	if err != nil {
		return []string{name} // no folder
	}
	if len(files) == 0 {
		c.notCarried(nil, option+" "+name, "", "the folder holds no scripts")
	}
	var full []string
	for _, f := range files {
		full = append(full, path.Join(name, f))
	}
	slices.Sort(full)
	return full
}

// spell writes a duration as people do: "90s", "2m".
func spell(d time.Duration) string {
	d = max(time.Second, d.Round(time.Second))
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
