package convert

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// kubeadm converts Cluster API's KubeadmConfig, KubeadmConfigTemplate, KubeadmControlPlane and
// KubeadmControlPlaneTemplate: what they do besides kubeadm (api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go).
func (c *converter) kubeadm(docs []*yaml.Node) {
	for _, doc := range docs {
		kind := c.text(doc, "", "kind")
		var keys []string
		switch kind {
		case "KubeadmConfig":
			keys = []string{"spec"}
		case "KubeadmConfigTemplate":
			keys = []string{"spec", "template", "spec"}
		case "KubeadmControlPlane":
			keys = []string{"spec", "kubeadmConfigSpec"}
		case "KubeadmControlPlaneTemplate":
			keys = []string{"spec", "template", "spec", "kubeadmConfigSpec"}
		default:
			c.notCarried(doc, "kind "+kind, "", "it configures no node")
			continue
		}
		c.field(doc, "apiVersion")
		name := c.text(doc, "", "metadata", "name")
		if name == "" {
			name = "kubeadm"
		}
		config, at := c.field(doc, keys...), strings.Join(keys, ".")
		c.kubeadmConfig(name, c.kubeadmRole(kind, config, doc), config, at)
		c.unused(doc, "", func(p string) (string, string) {
			rest, inside := strings.CutPrefix(p, at+".")
			top, _, _ := strings.Cut(rest, ".")
			switch {
			case !inside:
				return "it is about Cluster API's own objects", ""
			case top == "clusterConfiguration" || top == "initConfiguration" || top == "joinConfiguration" || top == "verbosity":
				return "it is for kubeadm, which kops does not use", "look for a field of the kops manifest: spec.kubeAPIServer, spec.kubelet, nodeLabels, taints"
			case top == "ignition":
				return "kops nodes are set up by cloud-init", ""
			}
			return "it is no hook", "put it into `cloudConfig:` of a hook, in cloud-init's words"
		})
	}
}

// kubeadmRole says for which nodes a configuration is.
func (c *converter) kubeadmRole(kind string, config, doc *yaml.Node) string {
	if strings.HasPrefix(kind, "KubeadmControlPlane") {
		return "ControlPlane"
	}
	has := func(keys ...string) bool {
		n := config
		for _, k := range keys {
			found := (*yaml.Node)(nil)
			for _, p := range pairsOf(n) {
				if p.key == k {
					found = p.value
				}
			}
			if n = found; n == nil {
				return false
			}
		}
		return true
	}
	if has("initConfiguration") || has("joinConfiguration", "controlPlane") {
		return "ControlPlane"
	}
	c.note(doc, "kind "+kind, "change roles in the selector if they are for others", "nothing says for which machines it is; the hooks are for nodes")
	return "Node"
}

// pairsOf is pairs, without noting that anything was looked at.
func pairsOf(n *yaml.Node) []pair {
	var throwaway converter
	throwaway.used = map[*yaml.Node]bool{}
	return throwaway.pairs(n)
}

func (c *converter) kubeadmConfig(name, role string, config *yaml.Node, at string) {
	if format := c.text(config, at, "format"); format == "ignition" {
		c.note(c.field(config, "format"), at+".format", "", "kops nodes are set up by cloud-init, not by Ignition; the commands are converted as they are")
	}
	boot := c.kubeadmCommands(config, at, "bootCommands")
	pre := c.kubeadmCommands(config, at, "preKubeadmCommands")
	post := c.kubeadmCommands(config, at, "postKubeadmCommands")
	files := c.kubeadmFiles(config, at)
	if len(boot)+len(pre)+len(post)+len(files) == 0 {
		return
	}
	d := c.nodes(name, mapping("roles", []string{role}))
	from := func(field string) origin { return origin{c.field(config, field), join(at, field)} }
	if len(boot) > 0 {
		c.hook(d, from("bootCommands"), "boot-commands", "phase", "boot", "script", script(boot...))
	}
	if len(files) > 0 {
		c.hook(d, from("files"), "files", "phase", "pre-nodeup", "weight", -10, "files", files)
	}
	if len(pre) > 0 {
		c.hook(d, from("preKubeadmCommands"), "pre-kubeadm-commands", "phase", "pre-nodeup", "script", script(pre...))
	}
	if len(post) > 0 {
		c.hook(d, from("postKubeadmCommands"), "post-kubeadm-commands", "phase", "post-kubelet", "script", script(post...))
	}
}

// kubeadmCommands reads a list of commands. cloud-init runs them all in one shell, and goes on after one that fails.
func (c *converter) kubeadmCommands(config *yaml.Node, at, field string) []string {
	n := c.field(config, field)
	commands := c.strings(n, join(at, field))
	if len(commands) == 0 {
		return nil
	}
	for i, item := range c.items(n) {
		c.kubeadmJinja(item, index(join(at, field), i), commands[i])
	}
	for i := range commands {
		commands[i] = strings.TrimRight(commands[i], "\n")
	}
	if len(commands) > 1 {
		c.note(n, join(at, field), "begin the script with `set -e` so that every command counts", "as under cloud-init, a command that fails does not stop the next; the last one decides whether the hook failed")
	}
	return commands
}

// kubeadmJinja says that templates are not filled in.
func (c *converter) kubeadmJinja(n *yaml.Node, at, text string) {
	if strings.Contains(text, "{{") {
		c.note(n, at, "write $(hostname), $KOPSHOOK_NODE_NAME or $KOPSHOOK_NODE_IP instead", "cloud-init fills in {{ ... }} for Cluster API; it is left as it is here")
	}
}

func (c *converter) kubeadmFiles(config *yaml.Node, at string) []*yaml.Node {
	var files []*yaml.Node
	for i, n := range c.items(c.field(config, "files")) {
		p := index(at+".files", i)
		name, owner, mode := c.text(n, p, "path"), c.text(n, p, "owner"), c.text(n, p, "permissions")
		content, encoding := c.field(n, "content"), c.text(n, p, "encoding")
		text := c.str(content, p+".content")
		switch {
		case name == "" || !path.IsAbs(name) || path.Clean(name) != name:
			c.take(n)
			c.notCarried(n, p, "", "%q is no absolute path", name)
			continue
		case c.boolean(c.field(n, "append"), p+".append", false):
			c.take(n)
			c.notCarried(n, p, "append to "+name+" in a script, and see to it that doing so twice does no harm", "append")
			continue
		case content == nil:
			if c.field(n, "contentFrom", "secret") == nil {
				c.notCarried(n, p, "", "%s has no content", name)
				continue
			}
			c.take(c.field(n, "contentFrom"))
			c.notCarried(n, p+".contentFrom", "fetch it on the node, with the node's own rights", "the content of %s is a secret of the management cluster", name)
			continue
		}
		c.kubeadmJinja(content, p+".content", text)
		data, err := decodeContent(text, encoding)
		if err != nil {
			c.notCarried(n, p, "", "%s: %v", name, err)
			continue
		}
		fields := []any{"path", name}
		if utf8.Valid(data) && !bytes.ContainsAny(data, "\x00\r") {
			fields = append(fields, "content", string(data))
		} else {
			fields = append(fields, "contentBase64", base64.StdEncoding.EncodeToString(data))
		}
		if mode != "" {
			fields = append(fields, "mode", "0"+strings.TrimLeft(strings.TrimPrefix(mode, "0o"), "0"))
		}
		if owner != "" {
			if !strings.Contains(owner, ":") {
				owner += ":" + owner
			}
			fields = append(fields, "owner", owner)
		}
		files = append(files, mapping(fields...))
	}
	return files
}

// decodeContent undoes Cluster API's encodings of a file.
func decodeContent(text, encoding string) ([]byte, error) {
	data := []byte(text)
	var err error
	if strings.HasSuffix(encoding, "base64") {
		if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err != nil {
			return nil, errors.New("its content is not base64")
		}
	}
	switch encoding {
	case "", "base64":
		return data, nil
	case "gzip", "gzip+base64":
		const most = 1 << 20 // more does not fit into user data
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(z, most+1))
		}
		if err != nil || len(data) > most {
			return nil, errors.New("its content is not gzip, or too large")
		}
		return data, nil
	}
	return nil, fmt.Errorf("there is no encoding %q", encoding)
}
