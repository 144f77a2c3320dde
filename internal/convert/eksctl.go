package convert

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// eksctl converts preBootstrapCommands of a ClusterConfig's node groups.
func (c *converter) eksctl(docs []*yaml.Node) {
	for _, doc := range docs {
		c.field(doc, "apiVersion")
		if kind := c.text(doc, "", "kind"); kind != "ClusterConfig" {
			c.notCarried(doc, "kind "+kind, "", "it is no ClusterConfig of eksctl")
			continue
		}
		for _, list := range []string{"nodeGroups", "managedNodeGroups"} {
			for i, group := range c.items(c.field(doc, list)) {
				c.eksctlGroup(group, index(list, i))
			}
		}
		c.unused(doc, "", func(path string) (string, string) {
			field := path[strings.LastIndex(path, ".")+1:]
			switch field {
			case "overrideBootstrapCommand":
				return "it takes the place of EKS' bootstrap; on a kops node that is nodeup", "move what is not about joining the cluster into a hook"
			case "kubeletExtraConfig", "labels", "taints", "maxPodsPerNode":
				return "it is no hook", "the kops InstanceGroup has spec.kubelet, spec.nodeLabels and spec.taints"
			}
			return "it describes the cluster, which kops has a manifest of its own for", ""
		})
	}
}

func (c *converter) eksctlGroup(group *yaml.Node, at string) {
	name := c.text(group, at, "name")
	n := c.field(group, "preBootstrapCommands")
	at += ".preBootstrapCommands"
	var commands []string
	for i, command := range c.strings(n, at) {
		if isIdle(command) {
			c.notCarried(c.items(n)[i], index(at, i), "", "the command does nothing")
			continue
		}
		commands = append(commands, command)
	}
	if len(commands) == 0 {
		return
	}
	selector := mapping("names", []string{name}, "roles", []string{"Node"})
	if name == "" {
		selector = mapping("roles", []string{"Node"})
	}
	// each command is a process of its own: what it exports or where it goes is not the next one's
	lines := commands
	if len(commands) > 1 {
		lines = nil
		for _, command := range commands {
			lines = append(lines, "(", strings.TrimRight(command, "\n"), ")")
		}
		c.note(n, at, "begin the script with `set -e` so that every command counts", "as with eksctl, a command that fails does not stop the next; the last one decides whether the hook failed")
	}
	d := c.nodes(name, selector)
	c.hook(d, origin{n, at}, "pre-bootstrap-commands", "phase", "pre-nodeup",
		"script", "#!/bin/bash\n"+strings.TrimRight(strings.Join(lines, "\n"), "\n")+"\n")
}

// isIdle says whether a command is blank or holds comments only: in brackets, no shell would parse it.
func isIdle(command string) bool {
	for line := range strings.Lines(command) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}
