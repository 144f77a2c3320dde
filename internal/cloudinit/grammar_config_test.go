//go:build e2e

package cloudinit

import (
	"fmt"
	"strings"
)

// config is a cloud-config.
func (g *grammar) config() string {
	var b strings.Builder
	b.WriteString(g.pick("#cloud-config\n", "#cloud-config\n", "#cloud-config\n", "#cloud-config\r\n", "#Cloud-Config\n", "", "#cloud-config # x\n", "# a comment\n", "---\n"))
	if g.one(50) {
		return b.String() + g.pick("", "null", "[a, b]", "text", "5", "{}", "- a\n- b\n", "!!set {a, b}", "a: 1\n---\nb: 2\n", "%YAML 1.2\n---\na: 1\n")
	}
	for range 1 + g.IntN(5) {
		b.WriteString(g.entry())
	}
	return b.String()
}

// entry is a key of a cloud-config, mostly with a value of the type that it takes.
func (g *grammar) entry() string {
	if g.one(12) {
		return g.pick("bootcmd", "runcmd", "write_files", "apt", "merge_how", "merge_type", "packages", "users", "launch-index") + ":" + g.value(0)
	}
	switch g.IntN(12) {
	case 0, 1:
		return "bootcmd:\n" + g.commands()
	case 2:
		return "runcmd:\n" + g.commands()
	case 3, 4:
		return "write_files:\n" + g.writeFiles()
	case 5, 6:
		return g.mergeHow()
	case 7:
		return "apt:\n  conf: " + g.mark() + "\n  sources:\n    " + g.pick("a", "b") + ": {source: " + g.mark() + "}\n" + g.pick("", "  preserve: true\n", "  list: [1, 2]\n")
	case 8:
		return g.pick("packages: ["+g.mark()+", b]\n", "packages:\n- a\n", "locale: "+g.mark()+"\n", "locale: null\n", "ntp: {enabled: true}\n", "ntp: {enabled: no, servers: ["+g.mark()+"]}\n",
			"power_state: {mode: reboot}\n", "hostname: h\n", "launch-index: 1\n", "launch-index: '0'\n", "1: a\n", "true: b\n", "~: c\n", "2001-01-01: d\n")
	case 9:
		return g.pick("users: [default, {name: late}]\n", "users:\n- name: late\n", "groups: [late]\n", "groups:\n- late: [root]\n", "users: default\n", "users: {late: {}}\n", "groups: late, other\n", "users: [late]\n")
	}
	return g.pick("x", "y", "z", "list") + ":" + g.value(0)
}

func (g *grammar) commands() string {
	var b strings.Builder
	for range 1 + g.IntN(4) {
		b.WriteString(g.pick("", "  ", "") + "- " + g.pick("echo "+g.mark(), "echo "+g.mark(), "[echo, "+g.mark()+"]", "[a, 'b''c', \"d e\", 1, 1.50, yes, ~, 0755, 2001-01-01, [x], {k: v, a: b}, 1:30, 2001-12-14 21:59:43 +1]", "|\n    echo a\n    echo "+g.mark(), "echo 'a: b'", "\"é\"", "\"\\u00e9\"") + "\n")
		if g.one(25) {
			b.WriteString("- " + g.pick("echo a: b", "5", "", "~", "yes", "{a: b}", "\"\\ud800\"", "!!binary YQ==") + "\n")
		}
	}
	return strings.ReplaceAll(b.String(), "  - ", "- ")
}

func (g *grammar) writeFiles() string {
	var b strings.Builder
	for range 1 + g.IntN(4) {
		if g.one(40) {
			b.WriteString("- " + g.pick("text", "~", "[a]", "5", "defer", "[defer]", "{}") + "\n")
			continue
		}
		fmt.Fprintf(&b, "- path: %s\n", g.pick("/etc/a", "/etc/b", "/opt/x/"+g.mark(), "/etc/a/below", "/etc", "rel/ative", "/opt/dir/", "//two", "/etc/../etc/c", "5", "''", "\"/etc/\\u00e9\"", "/etc/a", "/tmp/"+g.mark()))
		for range g.IntN(5) {
			b.WriteString("  " + g.pick("content: "+g.mark(), "content: |\n    line\n    "+g.mark(), "content: 5", "content:", "encoding: b64", "encoding: gz+b64\n  content: H4sIAAAAAAAC/0vKL0sGAJOKqIUEAAAA", "encoding: base64\n  content: YWJj",
				"encoding: nope", "encoding: gzip", "content: !!binary YWJj", "permissions: '0755'", "permissions: 0644", "permissions: 755", "permissions: 0o700", "permissions: '4755'", "permissions: rwx", "permissions: 0644.0", "permissions: yes", "permissions: ~",
				"owner: root:root", "owner: root", "owner: late:late", "owner: 'nobody:'", "owner: ':adm'", "owner: -1", "owner: ~", "owner: 0:0", "append: true", "append: 'yes'", "append: no", "defer: true", "defer: 1", "defer: maybe",
				"source: {uri: 'http://localhost:1/'}", "source: {}", "source: text", "encoding: 5", "encoding: text/plain", "content: \"\\u00e9\"", "content: YQ", "permissions: '0999'", "permissions: ' 0600 '", "permissions: -1", "permissions: '1777'") + "\n")
		}
	}
	return b.String()
}

func (g *grammar) mergeHow() string {
	if g.one(6) {
		return g.pick("merge_how:\n- name: list\n  settings: [append]\n- name: dict\n  settings: [no_replace, recurse_list]\n", "merge_how: [[list, append], [dict, recurse_list]]\n", "merge_how: [dict]\n", "merge_how: {}\n", "merge_how: []\n",
			"merge_how: [{name: list}]\n", "merge_how: 5\n", "merge_how: ~\n", "merge_how: [{name: list, settings: replace}, {name: dict, settings: x}]\n", "merge_how: [[]]\n", "merge_how: ['']\n", "merge_how: [{name: dict, settings: ~}]\n", "merge_how: [{name: '', settings: []}]\n", "merge_how: [[~], [dict]]\n")
	}
	var m []string
	for range 1 + g.IntN(3) {
		var options []string
		for range g.IntN(4) {
			options = append(options, g.pick("append", "prepend", "replace", "no_replace", "recurse_list", "recurse_array", "recurse_dict", "recurse_str", "allow_delete", "nope"))
		}
		m = append(m, g.pick("list", "dict", "str", "dict", "list", "LIST", "m_dict", "nope", "dict ")+"("+strings.Join(options, g.pick(",", ", "))+")")
	}
	if !g.one(3) {
		m = []string{"list(" + g.pick("append", "prepend", "replace", "no_replace", "") + ")", "dict(" + g.pick("no_replace,recurse_list", "recurse_array", "replace", "recurse_list,recurse_str", "allow_delete", "") + ")", "str(" + g.pick("", "append") + ")"}
	}
	how := strings.Join(m, "+")
	if g.one(30) {
		how += g.pick("+", "+list", "x", "+list(a", "++")
	}
	return g.pick("merge_how", "merge_how", "merge_type") + ": " + g.pick("'"+how+"'", "\""+how+"\"", how) + "\n"
}

// value is any value, with the line break behind it.
func (g *grammar) value(depth int) string {
	pad := strings.Repeat("  ", depth+1)
	var b strings.Builder
	switch n := g.IntN(8); {
	case n == 0 && depth < 3:
		b.WriteString("\n")
		for range 1 + g.IntN(3) {
			b.WriteString(pad + g.pick("a", "b", "c", "'k'", "\"q\"", "1", "yes", "a") + ":" + g.value(depth+1))
		}
		return b.String()
	case n == 1 && depth < 3:
		b.WriteString("\n")
		for range 1 + g.IntN(3) {
			b.WriteString(pad + "-" + g.value(depth+1))
		}
		return b.String()
	case n == 2:
		return " " + g.pick("|", ">", "|-", ">-", "|+") + "\n" + pad + "text " + g.mark() + "\n" + pad + "more\n"
	case n == 3:
		return " " + g.pick("{a: "+g.mark()+", b: [c]}", "[a, "+g.mark()+", {k: v}]", "[]", "{}", "[a: b]", "{a, b}", "!!set {a}", "!!omap [a: b]", "&x [1, 2]", "*x", "{<<: {a: 1}, b: 2}") + "\n"
	}
	return " " + g.pick(g.mark(), g.mark(), g.mark(), "'"+g.mark()+"'", "\"a\\tb\"", "yes", "off", "0755", "0o7", "1:30", "1.5e+3", "1e3", ".inf", "-.5", "0x1F", "0b1", "1_000", "~", "null", "", "2001-12-14", "2001-12-14T21:59:43.10-05:00", "!!str 5", "!!int '5'", "!!binary YWJj", "text # comment",
		"a:b", "'it''s'", "\"\\u2028\"", "-1", "+1", "08", "=", "12345678901234567890", "1.0", "\"a\nb\"", "' lead'", "'#x'", "\"trail \"", "\"- x\"", "'null'", "'1'", "\"\\x01\"") + "\n"
}
