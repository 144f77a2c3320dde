package adopt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
)

var types = []string{cloudinit.TypeShellScript, cloudinit.TypeCloudConfig, cloudinit.TypeBoothook, cloudinit.TypeArchive,
	cloudinit.TypeInclude, cloudinit.TypePartHandler, cloudinit.TypeCloudConfigJSONP, "text/upstart-job", ""}

// FuzzAdopt looks for user data of which something gets lost, or makes a spec that does not decode.
func FuzzAdopt(f *testing.F) {
	for i, s := range snippets {
		f.Add("00-"+fmt.Sprint(i)+".sh", uint8(i), s, "z.yaml", uint8(1), snippets[(i+7)%len(snippets)])
	}
	f.Fuzz(func(t *testing.T, name1 string, type1 uint8, content1, name2 string, type2 uint8, content2 string) {
		parts := []cloudinit.Part{{Name: name1, Type: types[int(type1)%len(types)], Content: content1}, {Name: name2, Type: types[int(type2)%len(types)], Content: content2}}
		for _, p := range parts {
			if strings.HasPrefix(p.Name, "kopshook-") {
				return
			}
		}
		adoptParts(t, "Node", parts)
	})
}

// TestAdoptAnything does the same with what people write, put together at random.
func TestAdoptAnything(t *testing.T) {
	names := []string{"00-a.sh", "00-b.sh", "a.yaml", "b.yaml", "zz.sh", "nodeup.sh", "00 a.sh", "runcmd", "10-\u00fc.sh", "", "run", strings.Repeat("x", 80), "../x", "a\"b\n.sh", "part-001"}
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 5))
		var groups []*adopt.Adopted
		for g := range 1 + r.IntN(3) {
			var parts []cloudinit.Part
			for range 1 + r.IntN(5) {
				content := snippets[r.IntN(len(snippets))]
				typ := types[r.IntN(len(types))]
				if sniffed := cloudinit.Sniff(content); sniffed != "" && r.IntN(8) > 0 {
					typ = sniffed
				}
				parts = append(parts, cloudinit.Part{Name: names[r.IntN(len(names))], Type: typ, Content: content})
			}
			groups = append(groups, adopt.Adopt(adopt.Group{Name: fmt.Sprintf("nodes-%d", g), Cluster: []string{"", "a.example.com", "b.example.com"}[r.IntN(3)],
				Role: []string{"Node", "ControlPlane", "Bastion"}[r.IntN(3)], Parts: parts, Reserved: []string{"a", "zz"}}))
		}
		spec := adopt.Specs(groups)
		for _, g := range groups {
			prove(t, g, spec)
		}
		if t.Failed() {
			for _, g := range groups {
				t.Logf("seed %d, role %s, kept %v: %q", seed, g.Role, g.Kept, g.Parts)
			}
			return
		}
	}
}

// snippets are parts as people write them, and as they should not.
var snippets = []string{
	"#!/bin/sh\necho a\n",
	"#!/bin/bash\nset -e\ncat > /etc/x <<EOF\n  a\n\tb  \nEOF\n",
	"#! /usr/bin/env python3\nprint('\u2192')",
	"#!/bin/sh\n# f\u00fcr\n",
	"#!/bin/sh\r\necho crlf\r\n",
	"#!/bin/sh\necho '\x01\x7f'\r\n\n\n",
	"\n#!/bin/sh\n",
	"echo a\n",
	"#!bash\n",
	"#!\n",
	"",
	"\ufeff#!/bin/sh\n",
	"#!/bin/sh\n--MIMEBOUNDARY\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\nrm -rf /x\n",
	"#cloud-boothook\n#!/bin/sh\nmodprobe x\n",
	"#cloud-config\n",
	"#cloud-config\nbootcmd:\n- echo a\n- [echo, \"it's\"]\n- ~\n",
	"#cloud-config\nruncmd:\n- echo b\n",
	"#cloud-config\nruncmd:\n- echo a: b\n",
	"#cloud-config\nruncmd: echo\n",
	"#cloud-config\nruncmd:\npackages: [jq]\n",
	"#cloud-config\nmerge_how: \"list(append)+dict(no_replace,recurse_list)+str()\"\nruncmd: [echo c]\nbootcmd: [echo c]\npackages: [nfs-common]\n",
	"#cloud-config\nmerge_how: \"list(prepend)+dict(replace)+str(append)\"\nruncmd: [echo d]\nwrite_files: [{path: /etc/d, content: d}]\n",
	"#cloud-config\nmerge_type: \"str()+list()\"\npackages: [a]\n",
	"#cloud-config\nmerge_how: \"dict()\"\nmerge_type: \"dict()\"\npackages: [a]\n",
	"#cloud-config\npackages: [a]\npackages: [b]\nntp: {servers: [x], servers: [y]}\n",
	"#cloud-config\n1: a\nwrite_files: [{path: /etc/x, content: x}]\n",
	"#cloud-config\nwrite_files:\n- {path: /etc/x, content: x, permissions: '0755', owner: root}\n- {path: /etc/y, content: !!binary AP8=}\n",
	"#cloud-config\nwrite_files:\n- {path: /etc/x, content: y, permissions: 755}\n- {path: /opt/z/q, content: \"\", owner: 'me:me'}\n- {path: /etc/w}\n",
	"#cloud-config\nwrite_files:\n- {path: /etc/x, content: y, append: true}\n- {path: /etc/hosts, content: \"a\\0b\", append: true, permissions: '4755'}\n- {path: /etc/hosts, content: c, append: true}\n",
	"#cloud-config\nwrite_files:\n- {path: /etc/x, content: H4sIAAAAAAAAA0sEAEO+t+gBAAAA, encoding: gz+b64}\n- {path: relative, content: a, defer: true}\n- {path: //etc//z, content: a}\n",
	"#cloud-config\nwrite_files:\n- {path: /etc/u, source: {uri: 'http://example.com/'}}\n",
	"#cloud-config\nwrite_files:\n- {path: /opt/kopshook/bin/run, content: mine}\n",
	"#cloud-config\nwrite_files:\n- {path: /etc/systemd/system/kopshook-a.service, content: mine}\n",
	"#cloud-config\nwrite_files:\n- {path: \"/etc/a b'\\\"$(x)\", content: \"\\u2028\\x85 \"}\n- {path: /etc/folder/file, content: x}\n- {path: /etc/folder, content: x}\n",
	"#cloud-config\napt:\n  sources:\n    x: {source: 'deb http://example.com x', key: |\n        -----BEGIN\n\n        END\n      }\n",
	"#cloud-config\nusers:\n- default\n- {name: me, lock_passwd: yes, uid: 0755, d: 2001-01-01, t: 1:30, n: ~}\n",
	"#cloud-config\nx: &a [*a]\n",
	"#cloud-config\nx: &a {b: [1, 2.50, on, \"on\", 'a: b', '#', '- x', '', \"multi\\nline \\n\", [], {}, [[x]], [{y: z}]]}\ny: *a\nz: {<<: *a, \"k: q\": \"\\u2192\"}\n",
	"#cloud-config\nbootcmd: [\"echo \\0\"]\nruncmd: [\"\\x1b[0m\", \"\\ud800\"]\n",
	"#cloud-config-jsonp\n[{\"op\": \"add\", \"path\": \"/runcmd\", \"value\": [\"echo j\"]}]\n",
	"#cloud-config-archive\n- type: text/x-shellscript\n  filename: 00-x.sh\n  content: |\n    #!/bin/sh\n- {type: text/cloud-config, content: \"packages: [z]\"}\n- |\n  #!/bin/sh\n  # \u2192\n- {type: text/x-shellscript-per-boot, filename: p, content: \"#!/bin/sh\\n\"}\n- {type: text/x-shellscript-per-once, filename: p, content: \"#!/bin/sh\\n#o\\n\"}\n",
	"## template: jinja\n#cloud-config\npackages: [jq]\n",
	"#include\nhttp://example.com/\n",
	"#part-handler\n",
}
