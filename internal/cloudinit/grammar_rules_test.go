//go:build e2e

package cloudinit

import (
	"encoding/base64"
	"fmt"
	"mime/quotedprintable"
	"strings"
)

// about makes a message about one rule, in which its cases meet far more often than in one of random parts.
func (g *grammar) about() []byte {
	switch g.IntN(6) {
	case 0, 1:
		return g.merges()
	case 2:
		return g.patches()
	case 3:
		return g.names()
	case 4:
		return g.places()
	}
	return g.encodings()
}

// framed is a message of parts that bring their own headers, each with its line break.
func framed(parts ...string) []byte {
	return []byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"F\"\n\n--F\n" + strings.Join(parts, "\n--F\n") + "\n--F--\n")
}

// merges is about values of all types that meet below the same keys, with every merger and option.
func (g *grammar) merges() []byte {
	var parts []string
	for range 2 + g.IntN(3) {
		header := "Content-Type: text/cloud-config\n"
		body := "#cloud-config\n"
		switch g.IntN(8) {
		case 0:
		case 1:
			header += g.pick("X-Merge-Type", "Merge-Type", "Merge-Type", "merge-type") + ": " + g.mergers() + "\n"
		case 2:
			body += "merge_type: " + g.mergers() + "\n"
		case 3:
			body += g.mergeHow()
		default:
			body += "merge_how: " + g.mergers() + "\n"
		}
		for _, key := range []string{"x", "y", "bootcmd", "runcmd", "write_files"} {
			switch {
			case g.one(3):
			case key == "y" && g.one(4) && strings.Contains(body, "x: &t"):
				body += "y: *t\n"
			case len(key) == 1:
				body += key + ": " + g.pick("", "", "&t ") + g.tree(0) + "\n"
			default:
				body += key + ": " + g.pick("["+g.mark()+"]", "["+g.mark()+", ["+g.mark()+"]]", "[]", "~", g.mark(), "{a: "+g.mark()+"}", "[{path: /etc/"+g.mark()+"}]") + "\n"
			}
		}
		parts = append(parts, header+"\n"+body)
	}
	return framed(parts...)
}

func (g *grammar) mergers() string {
	list := "list(" + g.pick("", "append", "append", "prepend", "replace", "no_replace", "replace, recurse_list", "replace, recurse_array", "recurse_dict, replace", "recurse_str, replace", "no_replace, recurse_str", "replace, recurse_list, recurse_dict, recurse_str", "append, prepend") + ")"
	dict := "dict(" + g.pick("", "no_replace", "replace", "recurse_list", "recurse_array", "recurse_str", "recurse_dict", "no_replace, recurse_list", "recurse_str, recurse_list", "allow_delete", "allow_delete, replace", "recurse_list, allow_delete, recurse_str", "recurse_dict, recurse_array, recurse_str") + ")"
	text := "str(" + g.pick("", "append", "replace", "append, nope") + ")"
	return g.pick(list+"+"+dict+"+"+text, dict+"+"+list+"+"+text, dict+"+"+list, dict, text+"+"+dict, list+"+"+dict, dict+"+"+text+"+"+list+"+"+dict)
}

// tree is a value on one line, of few keys and short lists, so that two of them overlap.
func (g *grammar) tree(depth int) string {
	n := g.IntN(10)
	if depth > 2 {
		n = 9
	}
	var items []string
	switch {
	case n < 3:
		for _, key := range []string{"a", "b", "0"} {
			if !g.one(3) {
				items = append(items, key+": "+g.tree(depth+1))
			}
		}
		return "{" + strings.Join(items, ", ") + "}"
	case n < 6:
		for range g.IntN(4) {
			items = append(items, g.tree(depth+1))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return g.pick(g.mark(), g.mark(), g.mark(), "~", "5", "true", "''", "!!set {p, q}", "!!binary YWJj", "2001-12-14", "!!pairs [a: "+g.mark()+"]")
}

// patches is about operations on a document that has what they name.
func (g *grammar) patches() []byte {
	path := func() string {
		return g.pick("/bootcmd", "/bootcmd/0", "/bootcmd/1", "/bootcmd/-", "/bootcmd/2", "/bootcmd/01", "/bootcmd/-1", "/bootcmd/0_1", "/bootcmd/0x", "/bootcmd/1\n", "/x/s/0", "/x", "/x/a", "/x/a/0", "/x/b~1c", "/x/d~0e", "/x/f", "/x/g/0", "/x/g/a", "/x/g/a/0", "/x/h/0", "/x/h/0/0", "/x/h/a", "/new", "/x/new", "/x/s/deep", "/no/where", "/x/a/9", "", "/", "/x/~2", "x", "/bootcmd/0/z")
	}
	value := func() string {
		return g.pick(`"v"`, `1`, `1.0`, `1e2`, `null`, `true`, `["p", {"q": []}]`, `{"k": 1, "k": 2}`, `"s"`, `"\u00e9"`, `-0`, `12345678901234567890`, `NaN`, `-Infinity`, `"NaN"`, `1e999`, `[]`, `"a"`)
	}
	shared, alias := g.pick("~", "&g [1]", "&g {a: [1]}"), "~"
	if shared != "~" && g.one(2) {
		alias = "*g"
	}
	parts := []string{"Content-Type: text/cloud-config\n\n#cloud-config\nbootcmd: [" + g.pick("a", "[a]", "1") + ", b]\nx:\n  a: [1, {z: 1}]\n  b/c: k\n  d~e: ~\n  s: s\n  g: " + shared + "\n  i: " + alias + "\n  h: " + g.pick("~", "!!pairs [a: 1]", "!!binary YWJj", "!!set {a}") + "\n  f: " + g.pick("true", "1", "1.0", "100", "'v'", "[]") + "\n"}
	for range 1 + g.IntN(3) {
		var ops []string
		for range 1 + g.IntN(3) {
			op := g.pick("add", "replace", "remove", "test", "move", "copy", "add", "replace")
			s := fmt.Sprintf(`{"op": %q, "path": %q`, op, path())
			switch op {
			case "add", "replace", "test":
				s += `, "value": ` + value()
			case "move", "copy":
				s += fmt.Sprintf(`, "from": %q`, path())
			}
			if g.one(30) {
				s += g.pick(`, "op": "add"`, `, "value": 1`, `, "from": 5`, `, "path": ["/x"]`, ",")
			}
			ops = append(ops, s+"}")
		}
		header := "Content-Type: text/cloud-config-jsonp\n"
		if g.one(4) {
			header = "Content-Type: text/plain\n"
		}
		parts = append(parts, header+"\n"+g.pick("", "\n", " ")+"#cloud-config-jsonp"+g.pick("\n", " ")+"["+strings.Join(ops, ", ")+"]\n")
	}
	if g.one(2) {
		parts = append(parts, "Content-Type: text/cloud-config\n\n#cloud-config\n"+g.pick("", "merge_how: "+g.mergers()+"\n")+"bootcmd: [late]\nx: "+g.tree(0)+"\n")
	}
	return framed(parts...)
}

// names is about files that want the same place in the folder of scripts, and about their order.
func (g *grammar) names() []byte {
	var parts []string
	for range 3 + g.IntN(6) {
		typ := g.pick(TypeShellScript, TypeShellScript, TypeShellScript, TypeBoothook, TypePerBoot, TypePerOnce, TypePerInstance, "text/plain")
		name := g.pick("nodeup.sh", "runcmd", "part-001", "part-003", "a b.sh", "ab.sh", "a/b.sh", "a_b.sh", "é", ".sh", "A.sh", "a.sh", "-a.sh", "10.sh", "9.sh", "(a)", "..", "...", "/", "a$b.sh", "_", "~", "a.sh.", "xn--a", strings.Repeat("n", 250+g.IntN(10)))
		disposition := g.pick(`Content-Disposition: attachment; filename="`+name+"\"\n", `Content-Disposition: attachment; filename="`+name+"\"\n", "Content-Disposition: attachment; filename="+name+"\n", "Content-Disposition: inline\n", "",
			`Content-Type: `+typ+`; name="`+name+"\"\n", "Content-Disposition: attachment; filename*=utf-8''a%20b.sh\n", "Content-Disposition: attachment; filename*=iso-8859-1''%e9.sh\n", "Content-Disposition: attachment; filename*=us-ascii'en'b%FF.sh\n",
			"Content-Disposition: attachment; filename*0*=utf-8''%C3%A9; filename*1=\"b.sh\"\n", "Content-Disposition: attachment; filename*1=b.sh; filename*0=a\n", "Content-Disposition: attachment; FILENAME=<a.sh>\n", "Content-Disposition: attachment; filename=\"a\\\"b.sh\"; x=y\n",
			"Content-Disposition: attachment;\n\tfilename=\"fold\n ed.sh\"\n", "Content-Disposition: attachment; filename=\"\"\n", "Content-Disposition: attachment; filename=a.sh; filename=b.sh\n", "Content-Disposition: attachment; filename*=a.sh\n")
		if strings.HasPrefix(disposition, "Content-Type") {
			typ = ""
		} else {
			typ = "Content-Type: " + typ + "\n"
		}
		parts = append(parts, disposition+typ+"\n#!/bin/sh\necho "+g.mark()+"\n")
	}
	if !g.one(3) {
		parts = append(parts, "Content-Type: text/cloud-config\n\n#cloud-config\nruncmd:\n"+g.commands())
	}
	return framed(parts...)
}

// places is about write_files: files that are in each other's way, modes, contents, and owners that come late.
func (g *grammar) places() []byte {
	var b strings.Builder
	b.WriteString("Content-Type: text/cloud-config\n\n#cloud-config\n")
	b.WriteString(g.pick("", "", "users: [late]\n", "users:\n- default\n- {name: late, groups: [more]}\n", "users: 'late, other'\n", "users: {late: {}, other: false}\n", "users: late\n", "users: [[late, other], {name: more}]\n", "users: ~\n", "users: 5\n", "users:\n- {nom: late}\n",
		"users:\n- {name: late, groups: 'more, adm'}\n", "users:\n- {name: other, primary_group: late}\n- {name: late, no_user_group: true}\n", "users:\n- {name: late, groups: [more], create_groups: false}\n- other\n", "users:\n- {name: 5}\n- late\n", "users:\n- {name: late, groups: 5}\n", "users:\n- {name: 'l a'}\n- late\n",
		"users:\n- {name: late, primary-group: more, groups: adm}\n", "users:\n- {name: late, system: true, ssh_authorized_keys: [k]}\n- other\n", "users:\n- {name: late}\n- {name: late, primary_group: adm}\n", "users: {late: yes, other: 'no', more: {}}\n", "users: {late: ~}\n", "user: late\n", "user: {name: late, groups: [more]}\nusers: [other]\n", "users: [[late, 5]]\n", "users: [root, late]\n"))
	b.WriteString(g.pick("", "", "groups: [late]\n", "groups: {late: [root], more: ~}\n", "groups: 'late,more'\n", "groups:\n- late: [root]\n- more\n", "groups: [[late]]\n", "groups: 5\n", "groups:\n- {late: root, more: 5}\n", "groups: {late: [5]}\n", "groups: {late: [root, 5]}\n", "groups: [-late, more]\n", "groups: {late: 'root,nobody'}\n", "groups: [late, root]\n", "groups: 'late, more'\n", "groups: {5: ~}\n"))
	b.WriteString("write_files:\n")
	for range 1 + g.IntN(5) {
		fmt.Fprintf(&b, "- path: %s\n  content: %s\n", g.pick("/d/a", "/d/a/b", "/d", "/d/a", "/etc/a", "/etc", "/etc/./a", "/d//a/", "d/a", "/../d/a", "/n/"+strings.Repeat("n", 250+g.IntN(10)), "/"+strings.Repeat("m", 254+g.IntN(4))+"/x", "\"/d/\\0\"", "\"/d/\\n\"", "!!binary L2QvYQ=="), g.pick(g.mark(), g.mark(), "''", "~", "!!binary /w==", "\"\\u2014\"", "\"\\x80\""))
		for range g.IntN(4) {
			b.WriteString("  " + g.pick("owner: late", "owner: late:more", "owner: ':late'", "owner: root:late", "owner: more", "owner: other:other", "owner: ' root : adm '", "owner: 'None:NONE'", "owner: ''", "owner: [root]", "owner: a:b:c", "owner: 0",
				"permissions: 0", "permissions: '0'", "permissions: 07777", "permissions: '7777'", "permissions: '6755'", "permissions: 4096", "permissions: 2147483648", "permissions: '0o644'", "permissions: '+644'", "permissions: '6_44'", "permissions: .inf", "permissions: .nan", "permissions: 420.9", "permissions: false", "permissions: [6]", "permissions: !!binary NjQ0", "permissions: 1:30",
				"append: 1", "append: 'On'", "append: []", "append: 2", "defer: true", "defer: 'TRUE '", "defer: 0", "encoding: b64", "encoding: GZ+B64", "encoding: ' gzip '", "encoding: !!binary YjY0", "encoding: ~",
				"source: ~", "source: {uri: ~}", "source: {uri: 'http://127.0.0.1:1/', headers: {a: b}}", "source: []") + "\n")
		}
	}
	parts := []string{b.String()}
	if g.one(3) {
		parts = append(parts, "Content-Type: text/cloud-config\n\n#cloud-config\nmerge_how: "+g.mergers()+"\nwrite_files:\n"+g.writeFiles())
	}
	return framed(parts...)
}

// encodings is about parts that are encoded, compressed, or containers of others.
func (g *grammar) encodings() []byte {
	var parts []string
	for range 1 + g.IntN(4) {
		content := g.pick("#cloud-config\nbootcmd: ["+g.mark()+"]\n", "#!/bin/sh\necho "+g.mark()+" é = \t\n", g.config(), g.script(), g.jinja(), "#cloud-config\n# \u2014\nruncmd: [\"\u00fc\"]\n")
		typ := g.pick(TypeCloudConfig, TypeShellScript, "text/plain", "text/plain; charset="+g.pick("utf-8", "latin-1", "\"us-ascii\"", "nope"), "application/gzip", "application/x-gzip", "application/octet-stream", "text/x-not-multipart", "message/rfc822", "message/delivery-status", "message/partial", "multipart/mixed", TypeJinja)
		encoding := g.pick("", "7bit", "8bit", "binary", "base64", "BASE64", "quoted-printable", "Quoted-Printable ", "x-uuencode", "uu", "7bit\nContent-Transfer-Encoding: base64")
		switch {
		case strings.Contains(typ, "gzip") && !g.one(5):
			content = string(compress([]byte(content)))
			if g.one(3) {
				content += string(compress([]byte("more\n"))) + g.pick("", "\x00\x00", "x")
			}
			encoding, content = "base64", base64.StdEncoding.EncodeToString([]byte(content))
		case strings.EqualFold(encoding, "base64") && !g.one(4):
			content = base64.StdEncoding.EncodeToString([]byte(content))
			switch g.IntN(5) {
			case 0:
				content = content[:len(content)/2] + "\n" + content[len(content)/2:]
			case 1:
				content = strings.TrimRight(content, "=")
			case 2:
				content += g.pick("=", "!", " ", "\n\n", "é")
			}
		case strings.HasPrefix(strings.ToLower(encoding), "quoted") && !g.one(4):
			var b strings.Builder
			w := quotedprintable.NewWriter(&b)
			w.Write([]byte(content))
			w.Close()
			content = b.String()
			if g.one(2) {
				at := g.IntN(len(content) + 1)
				content = content[:at] + g.pick("=", "==", "=4", "=4g", "=\n", "= \n", "=\r\n", "=e9", "=0A", "=\t", "_") + content[at:]
			}
		case strings.HasPrefix(typ, "message/") && !g.one(4):
			content = g.pick("Content-Type: "+g.pick(TypeCloudConfig, TypeShellScript, "text/plain")+"\n\n", "From me\nSubject: x\n\n", "Status: 5\n\nAction: failed\n\n", "\n", "X: y\n z\nno header\n") + content
		}
		header := "Content-Type: " + typ + "\n"
		if encoding != "" {
			header += "Content-Transfer-Encoding: " + encoding + "\n"
		}
		parts = append(parts, header+g.pick("", "", "Launch-Index: 0\n", "Launch-Index: x\n", "Content-Disposition: attachment; filename=a.sh\n", "X-Long: "+strings.Repeat("long ", 30)+"\n", "X-Fold: a\n\tb\n", "X-\u00e9: \u00e9\n")+g.pick("", "", "From nobody\n", ": empty\n")+"\n"+strings.ToValidUTF8(content, ""))
	}
	message := framed(parts...)
	switch g.IntN(12) {
	case 0:
		return compress(message)
	case 1:
		return append(compress(message), compress([]byte("--F--\n"))...)
	case 2:
		return []byte(strings.ReplaceAll(string(message), "\n", "\r\n"))
	}
	return message
}
