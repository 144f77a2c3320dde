package convert

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/shell"
)

// kops converts spec.hooks of Cluster and InstanceGroup manifests. All else stays where it is: in the manifests.
func (c *converter) kops(docs []*yaml.Node) {
	for _, doc := range docs {
		spec := c.field(doc, "spec")
		name := c.text(doc, "", "metadata", "name")
		selector := mapping()
		switch kind := c.text(doc, "", "kind"); kind {
		case "Cluster":
			if name != "" {
				selector = mapping("clusters", []string{name})
			}
		case "InstanceGroup":
			labels := c.field(doc, "metadata", "labels")
			if cluster := c.text(labels, "metadata.labels", "kops.k8s.io/cluster"); cluster != "" {
				selector = mapping("clusters", []string{cluster})
			}
			selector.Content = append(selector.Content, mapping("names", []string{name}).Content...)
			if parts := c.field(spec, "additionalUserData"); slices.ContainsFunc(c.items(parts), c.byHand) {
				c.note(parts, "spec.additionalUserData", "take it over with `kopshook adopt`", "it is no hook and stays where it is")
			}
		default:
			c.notCarried(doc, "kind "+kind, "", "it is neither a Cluster nor an InstanceGroup of kops")
			continue
		}
		byRoles := map[string]*document{}
		hooks := c.field(spec, "hooks")
		for i, h := range c.items(hooks) {
			c.kopsHook(byRoles, name, selector, h, i)
		}
		if len(c.items(hooks)) > 0 {
			c.note(hooks, "spec.hooks", "remove them from the manifest, or they run twice", "the hooks are in the result now")
		}
		c.unused(hooks, "spec.hooks", func(path string) (string, string) {
			if strings.HasSuffix(path, ".disabled") {
				return "kops has no such field", "kops' field is `enabled: false`"
			}
			return "kops has no such field either", ""
		})
	}
}

// byHand says whether a part of user data is none that kopshook made.
func (c *converter) byHand(part *yaml.Node) bool {
	name := c.field(part, "name")
	return name == nil || !strings.HasPrefix(name.Value, instancegroups.Prefix)
}

// kopsHook converts one hook (nodeup/pkg/model/hooks.go).
func (c *converter) kopsHook(byRoles map[string]*document, owner string, selector *yaml.Node, h *yaml.Node, i int) {
	at := index("spec.hooks", i)
	name := c.text(h, at, "name")
	if name == "" {
		name = fmt.Sprintf("kops-hook-%d", i)
	}
	roles := c.strings(c.field(h, "roles"), at+".roles")
	before := c.strings(c.field(h, "before"), at+".before")
	requires := c.strings(c.field(h, "requires"), at+".requires")
	container, manifest := c.field(h, "execContainer"), c.text(h, at, "manifest")
	raw := c.boolean(c.field(h, "useRawManifest"), at+".useRawManifest", false)
	enabled := c.boolean(c.field(h, "enabled"), at+".enabled", true)

	d := c.kopsRoles(byRoles, owner, selector, roles)
	unit := name
	if !strings.Contains(unit, ".") {
		unit += ".service"
	}
	label := strings.TrimSuffix(name, ".service")
	fields := []any{"phase", "post-nodeup"}
	if gates(before) {
		fields[1] = "pre-kubelet"
	}
	fields = append(fields, "run", "every-boot") // nodeup starts them at every boot
	text := manifest
	if !raw {
		text = "[Service]\n" + manifest
	}
	if dir, hidden := lint.MountsOver(text); hidden != "" {
		c.note(h, at, "move the mount to a hook of phase pre-nodeup", "the hook mounts over %s, and hides what nodeup has written to %s: the kubelet will not find it", dir, hidden)
	}
	switch {
	case !enabled:
		c.hook(d, origin{h, at}, label, append(fields, "script", script("# kops stops and disables the unit", "systemctl disable --now "+shell.Word(unit)))...)
	case container != nil:
		image := strings.TrimSpace(c.text(container, at+".execContainer", "image"))
		if image == "" {
			c.notCarried(h, at, "", "execContainer has no image")
			return
		}
		fields = append(fields, "before", c.kopsBefore(before, h, at))
		c.hook(d, origin{h, at}, label, append(fields, "script", c.kopsContainer(container, at+".execContainer", image, label, requires))...)
	case strings.TrimSpace(manifest) == "":
		c.notCarried(h, at, "", "kops runs nothing for it: it has neither manifest nor execContainer")
	default:
		content := manifest
		if !raw {
			content = kopsUnit(name, manifest, requires, before)
		}
		if !strings.HasSuffix(content, "\n") {
			content += "\n"
		}
		fields = append(fields, "before", c.kopsBefore(before, h, at),
			"files", []*yaml.Node{mapping("path", "/etc/systemd/system/"+unit, "content", content)})
		c.hook(d, origin{h, at}, label, append(fields, "script", script("set -eu", "systemctl daemon-reload", "systemctl restart "+shell.Word(unit)))...)
	}
}

// gates says whether the hook comes before the kubelet: nothing but the phase pre-kubelet holds it back for sure.
func gates(before []string) bool {
	return slices.ContainsFunc(before, func(u string) bool { return strings.TrimSuffix(u, ".service") == "kubelet" })
}

// kopsBefore returns the further units that wait for the hook. Only hooks before the kubelet hold units back.
func (c *converter) kopsBefore(before []string, h *yaml.Node, at string) []string {
	var units []string
	for _, u := range before {
		if !strings.Contains(u, ".") {
			u += ".service"
		}
		if u != "kubelet.service" && !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	if len(units) > 0 && !gates(before) {
		c.note(c.field(h, "before"), at+".before", "choose phase: pre-kubelet and `before:` if they must wait",
			"the hook runs when nodeup has succeeded; nothing makes %s wait for it, as kops did not reliably either", strings.Join(units, " and "))
		return nil
	}
	return units
}

// kopsUnit is the unit that kops makes of a manifest: the manifest is its [Service] section.
func kopsUnit(name, manifest string, requires, before []string) string {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=Kops Hook " + name + "\n")
	for _, u := range requires {
		b.WriteString("Requires=" + u + "\n")
	}
	for _, u := range before {
		b.WriteString("Before=" + u + "\n")
	}
	return b.String() + "\n[Service]\n" + strings.TrimRight(manifest, "\n") + "\n"
}

// kopsContainer is a script that runs the container as kops does.
func (c *converter) kopsContainer(n *yaml.Node, at, image, name string, requires []string) string {
	if !strings.Contains(image, "/") {
		image = "docker.io/library/" + image
	}
	if !strings.Contains(image, ":") {
		image += ":latest"
	}
	lines := []string{"set -eu"}
	for _, u := range requires {
		lines = append(lines, "systemctl start "+shell.Word(u))
	}
	lines = append(lines,
		"# containerd comes with nodeup",
		"until /usr/bin/ctr version > /dev/null 2>&1; do sleep 2; done",
		"/usr/bin/ctr --namespace k8s.io image pull "+shell.Word(image),
		"exec /usr/bin/ctr --namespace k8s.io run --rm --net-host --privileged \\",
		"  --mount type=bind,src=/,dst=/rootfs,options=rbind:rslave \\",
		"  --mount type=bind,src=/var/run/dbus,dst=/var/run/dbus,options=rbind:rprivate \\",
		"  --mount type=bind,src=/run/systemd,dst=/run/systemd,options=rbind:rprivate \\")
	var env []string
	for _, p := range c.pairs(c.field(n, "environment")) {
		env = append(env, p.key+"="+c.str(p.value, at+".environment."+p.key))
	}
	slices.Sort(env)
	for _, e := range env {
		lines = append(lines, "  --env "+shell.Word(e)+" \\")
	}
	run := append([]string{image, name}, c.strings(c.field(n, "command"), at+".command")...)
	return script(append(lines, "  "+shellWords(run))...)
}

// kopsRoles returns the spec for hooks of the same roles.
func (c *converter) kopsRoles(byRoles map[string]*document, owner string, selector *yaml.Node, roles []string) *document {
	for i, r := range roles {
		if r == "Master" {
			roles[i] = "ControlPlane"
		}
	}
	slices.Sort(roles)
	roles = slices.Compact(roles)
	key := strings.Join(roles, "-")
	if byRoles[key] == nil {
		s := mapping()
		s.Content = append(slices.Clone(selector.Content), mapping("roles", roles).Content...)
		byRoles[key] = c.nodes(strings.Trim(owner+"-"+key, "-"), s)
	}
	return byRoles[key]
}
