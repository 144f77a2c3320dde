//go:build e2e

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// grammar makes random user data in which valid and broken things meet. The same seed makes the same messages.
type grammar struct {
	*rand.Rand
	marks int
}

// trial is one message and the node that reads it.
type trial struct {
	data []byte
	opts Options
	base string
}

func newTrial(seed, n uint64) trial {
	g := &grammar{Rand: rand.New(rand.NewPCG(seed, n))}
	var t trial
	role := "Node"
	if g.one(20) {
		role = "Bastion"
	}
	var parts []Part
	for range 1 + g.IntN(5) {
		parts = append(parts, g.part())
	}
	t.data = Message([]byte("#!/bin/bash\necho nodeup\n"), role, parts)
	switch {
	case g.one(3):
		t.data = g.about()
	case g.one(60):
		t.data = g.nested()
	case g.one(100):
		t.data = compress(t.data)
	case g.one(200):
		t.data = append(t.data, 0xff)
	}
	if g.one(15) {
		index := g.IntN(2)
		t.opts.LaunchIndex = &index
	}
	t.opts.InstanceData = map[string]string{"v1.instance_id": "i-kopshook", "v1.region": "here: there"}
	if g.one(5) {
		t.base = g.pick("bootcmd: [image]\n", "runcmd:\n- image\nusers: [default]\n", "write_files:\n- {path: /etc/image, content: x}\napt: {image: true, conf: image}\n", "packages: [image]\nlocale: image\nx: {a: {image: 1}}\n")
	}
	return t
}

func (g *grammar) one(in int) bool { return g.IntN(in) == 0 }

func (g *grammar) pick(of ...string) string { return of[g.IntN(len(of))] }

// mark is a word that occurs nowhere else in the message.
func (g *grammar) mark() string {
	g.marks++
	return fmt.Sprintf("mark%dx", g.marks)
}

func (g *grammar) part() Part {
	p := Part{Name: g.name(), Type: TypeCloudConfig}
	switch n := g.IntN(100); {
	case n < 55:
		p.Content = g.config()
	case n < 70:
		p.Type, p.Content = TypeShellScript, g.script()
	case n < 78:
		p.Type, p.Content = TypeBoothook, g.pick("", "#cloud-boothook\n", "#cloud-boothook", "#cloud-boothook\r\n", "\n#cloud-boothook\n")+g.script()
	case n < 88:
		p.Type, p.Content = TypeArchive, g.archive()
	case n < 92:
		p.Type = g.pick("text/upstart-job", "text/plain", "text/jinja2", TypePerBoot, TypePerOnce, TypePerInstance, "application/json", "text", "Text/Cloud-Config", "text/cloud-config; charset=utf-8", TypeCloudConfigJSONP, "message/rfc822", "multipart/mixed", "application/x-gzip", "multipart/digest")
		p.Content = g.pick(g.config(), g.script(), g.jinja(), g.patch(), "")
	case n < 96:
		p.Type, p.Content = g.pick(TypeShellScript, "text/plain", TypeCloudConfig), g.jinja()
	default:
		p.Type, p.Content = g.pick(TypeShellScript, "text/plain"), g.pick(g.config(), g.patch(), g.archive(), "#include\nhttp://example.invalid/\n")
	}
	p.Content = g.damage(p.Content)
	return p
}

func (g *grammar) name() string {
	return g.pick("00-a.sh", "a.yaml", "b.yaml", "zz.sh", "nodeup.sh", "runcmd", "x y.sh", "../../etc/x", "a/b", "ü.sh", "a.yaml", "10-a@b.sh", "n\"q.sh",
		"n; filename=other.sh", "é", "...", "..", "a\tb", " lead", "trail ", "x'y", "a%20b", "(p)", "\"", "a\\b.sh", "x*y", "日本", fmt.Sprintf("p%d.sh", g.IntN(30)), fmt.Sprintf("p%d.sh", g.IntN(30)), "l\nX-Merge-Type: list(append)+dict()")
}

func (g *grammar) script() string {
	return g.pick("#!/bin/sh\necho "+g.mark()+"\n", "#!/bin/sh\necho "+g.mark()+"\n", "#!/bin/bash\r\necho a\r\n", "echo none\n", "\n#!/bin/sh\n", "  #!/bin/sh\necho", "", "#!/bin/sh\necho '\u2014'\n", "#!/bin/sh\necho é\n", "#!/bin/sh\r\necho\n")
}

// damage breaks contents now and then.
func (g *grammar) damage(s string) string {
	if !g.one(6) {
		return s
	}
	at := g.IntN(len(s) + 1)
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	switch g.IntN(12) {
	case 0:
		return strings.ReplaceAll(s, "\n", "\r\n")
	case 1:
		return s[:at] + "\n--MIMEBOUNDARY\n" + s[at:]
	case 2:
		return s[:at] + "\n--MIMEBOUNDARY\r\nContent-Type: " + g.pick(TypeCloudConfig, TypeShellScript, "text/plain") + "\r\n" +
			g.pick("", "Content-Transfer-Encoding: base64\r\n", "Content-Transfer-Encoding: quoted-printable\n", "X-Merge-Type: list(append)+dict(recurse_list)\r\n", "MERGE-TYPE: dict(replace)\n", "Content-Disposition: attachment;\n filename=\"x.sh\"\n", "Content-Disposition: attachment; filename*=utf-8''a%20b.sh\n", "Content-Disposition: attachment; filename*0=a; filename*1=b.sh\n", "Launch-Index: 1\n") + "\r\n" + s[at:]
	case 3:
		return "\ufeff" + s
	case 4:
		return s[:at] + g.pick("é", "\u2014", "\u00a0", "😀", "\x01", "\t", "\u0085", "Ã©", "Â ", "\x7f", "\u2028") + s[at:]
	case 5:
		return s[:at]
	case 6:
		return s[at:]
	case 7:
		return s[:at] + g.pick("  ", "\n", ":", "- ", "'", "\"", "{", "]", "#", " #", "&a ", "*a", "!x ", "|", "%", "---\n", "\n...\n", "@", "\r", ",", "? ", "\\", "=") + s[at:]
	case 8:
		return s[:at] + "\n--MIMEBOUNDARY--\n" + s[at:]
	case 9:
		return strings.TrimPrefix(s, "#cloud-config\n")
	case 10:
		return " \n" + s
	}
	return strings.ToUpper(s)
}

// nested is a message that kops does not send: parts within parts, and encodings.
func (g *grammar) nested() []byte {
	inner := g.pick("text/cloud-config", "text/x-shellscript", "application/gzip", "text/plain", "message/rfc822")
	content, encoding := g.pick(g.config(), g.script()), g.pick("7bit", "base64", "quoted-printable", "Base64 ")
	switch {
	case inner == "application/gzip" && !g.one(4):
		content = string(compress([]byte(content)))
		encoding = "base64"
		fallthrough
	case encoding == "base64" && !g.one(4):
		content = base64.StdEncoding.EncodeToString([]byte(content))
	}
	return []byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + g.pick("A", "A ", "=_x") + "\"\n\npreamble\n--" + g.pick("A", "A", "=_x") + "\nContent-Type: multipart/" + g.pick("mixed", "digest", "alternative") + "; boundary=B\n\n--B\nContent-Type: " + inner + "\nContent-Transfer-Encoding: " + encoding + "\n\n" +
		content + "\n--B\n\n" + g.config() + "\n--B" + g.pick("--", "", "-- ") + "\nepilogue\n--A\nContent-Type: text/cloud-config\n\n" + g.config() + "\n--A--\n")
}

func compress(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// jinja is a template of the kind that the model renders.
func (g *grammar) jinja() string {
	return g.pick("## template: jinja\n", "## Template:Jinja\n", "## template: basic\n", "##template: jinja\n", "## template: jinja\r\n") +
		g.pick(g.config(), g.script(), "#cloud-config\nbootcmd:\n- echo {{ v1.instance_id }}\n{# gone #}\n- b {{region}}\n", "#!/bin/sh\necho {{v1.region}}", "{{ v1.instance_id }}", "")
}

func (g *grammar) patch() string {
	op := func() string {
		return fmt.Sprintf(`{"op": %q, "path": %q%s}`, g.pick("add", "add", "remove", "replace", "test", "copy", "move", "no"),
			g.pick("/bootcmd", "/bootcmd/-", "/bootcmd/0", "/new", "/apt/conf", "/x~1y", "", "bad", "/bootcmd/9", "/apt"),
			g.pick("", `, "value": "v"`, `, "value": ["a", 1, 1.5, null, true]`, `, "value": {"k": "v"}`, `, "from": "/bootcmd"`, `, "from": "/runcmd/0"`, `, "value": [], "from": "/x"`))
	}
	var ops []string
	for range 1 + g.IntN(3) {
		ops = append(ops, op())
	}
	return "#cloud-config-jsonp\n" + g.pick("["+strings.Join(ops, ", ")+"]", op(), "[", "{}")
}

func (g *grammar) archive() string {
	var b strings.Builder
	b.WriteString(g.pick("#cloud-config-archive\n", "#cloud-config-archive\n", ""))
	for range 1 + g.IntN(4) {
		if g.one(8) {
			fmt.Fprintf(&b, "- %s\n", g.pick("just text", "\"#!/bin/sh\\necho é\\n\"", "12", "[a]", "~", "'#cloud-config\n\n  bootcmd: [x]'"))
			continue
		}
		content := g.pick(g.config(), g.script(), g.jinja(), g.patch())
		b.WriteString("- content: |" + g.pick("", "-", "+") + "\n")
		for _, l := range strings.Split(strings.TrimSuffix(content, "\n"), "\n") {
			b.WriteString("    " + l + "\n")
		}
		for range g.IntN(4) {
			b.WriteString("  " + g.pick("type: text/cloud-config", "type: text/x-shellscript", "type: text/jinja2", "type: text/cloud-config-jsonp", "type: text/x-shellscript-per-boot",
				"type: text/cloud-boothook", "type: text/plain", "type: TEXT/cloud-config", "type: application/octet-stream", "filename: in.sh", "filename: \"in \\u00e9.yaml\"", "filename: 5", "filename: ''",
				"X-Merge-Type: list(append)+dict(recurse_list)", "Merge-Type: dict(recurse_array)+list(append)", "merge-type: list(append)", "launch-index: 1", "X-Foo:", "X-Foo: \"a\\nb\"", "X-Foo: \"a\\n b\"",
				"Content-Transfer-Encoding: base64", "type: multipart/mixed", "filename: \"a\\\"b;c.sh\"", "filename: a/b.sh") + "\n")
		}
		if g.one(40) {
			b.WriteString("  " + g.pick("type: text", "X-Foo: 1", "1: x", "type: [a]", "content: 5") + "\n")
		}
	}
	return b.String()
}
