package cloudinit

import "strings"

// testCase is a message that shows one rule. The normal test holds what the model makes of it in a golden file; the
// differential test holds the model against cloud-init.
type testCase struct {
	name  string
	parts []Part
	opts  Options
	base  string
}

func config(name, content string) Part {
	return Part{Name: name, Type: TypeCloudConfig, Content: strings.TrimPrefix(content, "\n")}
}

func shell(name, content string) Part {
	return Part{Name: name, Type: TypeShellScript, Content: content}
}

func at(index int) *int { return &index }

const appendAll = "merge_how: list(append)+dict(no_replace,recurse_list)+str()\n"

var testCases = []testCase{
	// types
	{name: "a script that is a cloud-config", parts: []Part{shell("a.sh", "#cloud-config\nbootcmd: [a]\n")}},
	{name: "a cloud-config without its header", parts: []Part{config("a", "bootcmd: [a]\n")}},
	{name: "a cloud-config that is a script", parts: []Part{config("a", "#!/bin/sh\necho\n")}},
	{name: "a cloud-config that is empty", parts: []Part{config("a", "#cloud-config\n"), config("b", "bootcmd: [b]\n")}},
	{name: "a cloud-config that is a list", parts: []Part{config("a", "- a\n")}},
	{name: "case and space before the header", parts: []Part{shell("a.sh", "  #Cloud-ConfigXYZ\nbootcmd: [a]\n")}},
	{name: "a type without a handler", parts: []Part{{"a", "text/upstart-job", "start on boot\n"}, {"b", "application/json", "{}"}}},
	{name: "types that kops refuses", parts: []Part{{"a.sh", TypePerBoot, "#!/bin/sh\n"}, {"b.sh", TypePerOnce, "#!/bin/sh\n"}, {"c/d.sh", TypePerInstance, "#!/bin/sh\n"}}},
	{name: "a job for upstart in a script", parts: []Part{shell("a.sh", "#upstart-job\nstart on boot\n")}},
	{name: "a script for each boot by its first line", parts: []Part{shell("a.sh", TypePerBoot+"\n#!/bin/sh\n")}},
	{name: "a part handler and an include", parts: []Part{{"h.py", TypePartHandler, "#part-handler\n"}, {"i", TypeInclude, "#include\nhttp://example.invalid/\n"}}},
	{name: "template in a cloud-config", parts: []Part{config("a", "## template: jinja\n#cloud-config\nbootcmd: ['{{ v1.instance_id }}']\n")}},
	{name: "template", parts: []Part{{"a", "text/plain", "## template: jinja\n#cloud-config\nbootcmd: ['{{ v1.instance_id }}']\n"}}, opts: Options{InstanceData: map[string]string{"v1.instance_id": "i-1"}}},
	{name: "template without its first line", parts: []Part{{"a", TypeJinja, "#cloud-config\nbootcmd: ['{{ v1.instance_id }}']\n"}, {"b", TypeJinja, "## template: other\n#cloud-config\nruncmd: [b]\n"}}},
	{name: "template of cloud-init's own kind", parts: []Part{{"a", TypeJinja, "## template: basic\n#!/bin/sh\necho $ 5\n"}, {"b", TypeJinja, "## template: basic\n#!/bin/sh\necho $HOME\n"}}},
	{name: "template that nobody can predict", parts: []Part{{"a", TypeJinja, "## template: jinja\n#cloud-config\nbootcmd: ['{{ ds.x }}']\n"}}},
	{name: "launch-index", parts: []Part{config("a", "launch-index: 1\nbootcmd: [a]\n"), config("b", "launch-index: 0\nbootcmd: [b]\n")}, opts: Options{LaunchIndex: at(0)}},
	{name: "launch-index in a message", parts: []Part{{"a", "message/rfc822", "Launch-Index: 1\nContent-Type: text/cloud-config\n\n#cloud-config\nbootcmd: [a]\n"}}, opts: Options{LaunchIndex: at(0)}},

	// bytes
	{name: "a letter below U+0100 in a comment", parts: []Part{config("a", "# caf\u00e9\nbootcmd: [a]\n"), shell("b.sh", "#!/bin/sh\n# \u00fc\n")}},
	{name: "a letter above U+0100", parts: []Part{config("a", "# \u2014\nbootcmd: [\"\u201cx\u201d\"]\n"), shell("b.sh", "#!/bin/sh\necho \U0001f600\n")}},
	{name: "two bytes that happen to be UTF-8", parts: []Part{config("a", "bootcmd: [\"\u00c3\u00a9\"]\n")}},
	{name: "escapes in YAML", parts: []Part{config("a", "bootcmd: [\"\\u00e9\\u2014\"]\n")}},
	{name: "byte order mark", parts: []Part{config("a", "\ufeff#cloud-config\nbootcmd: [a]\n")}},
	{name: "tab as indentation", parts: []Part{config("a", "apt:\n\tconf: x\n")}},
	{name: "tab inside a block", parts: []Part{config("a", "bootcmd:\n- |\n  a\n  \tb\n")}},
	{name: "tab behind a value", parts: []Part{config("a", "bootcmd: [a]\t\n")}},
	{name: "control character", parts: []Part{config("a", "bootcmd: [\"\x01\"]\n")}},
	{name: "CRLF", parts: []Part{config("a", "#cloud-config\r\nbootcmd:\r\n- a\r\n"), shell("b.sh", "#!/bin/sh\r\necho\r\n"), shell("c.sh", "#!/bin/sh\necho\r\n"), {"d", TypeBoothook, "#cloud-boothook\r\n#!/bin/sh\r\necho\r\n"}}},
	{name: "boundary", parts: []Part{config("a", "write_files:\n- path: /etc/a\n  content: |\n    x\n--MIMEBOUNDARY\n    y\n"), shell("b.sh", "#!/bin/sh\necho '\n--MIMEBOUNDARYx\n --MIMEBOUNDARY\n'\n")}},
	{name: "header that begins on its second line", parts: []Part{config("a", "bootcmd: [a]\n--MIMEBOUNDARY\r\nContent-Type: text/cloud-config\r\nContent-Transfer-Encoding:\r\n base64\r\n\r\ncnVuY21kOiBbYl0K\n")}},
	{name: "white space behind an encoding", parts: []Part{config("a", "bootcmd: [a]\n--MIMEBOUNDARY\r\nContent-Type: text/cloud-config\r\nContent-Transfer-Encoding: base64 \r\n\r\ncnVuY21kOiBbYl0K\n")}},
	{name: "closing boundary", parts: []Part{config("a", "bootcmd: [a]\n--MIMEBOUNDARY--\n"), config("b", "runcmd: [b]\n")}},

	// names
	{name: "names", parts: []Part{shell("../../etc/x.sh", "#!/bin/sh\n"), shell("my script.sh", "#!/bin/sh\n"), shell("\u00fcml.sh", "#!/bin/sh\n"), shell("10-a@b:c+d~.sh", "#!/bin/sh\n"), shell("-dash", "#!/bin/sh\n"), shell("UPPER", "#!/bin/sh\n"), shell(".x", "#!/bin/sh\n")}},
	{name: "names that become equal", parts: []Part{shell("a b.sh", "#!/bin/sh\n1\n"), shell("ab.sh", "#!/bin/sh\n2\n")}},
	{name: "nodeup.sh replaced", parts: []Part{shell("nodeup.sh", "#!/bin/sh\n")}},
	{name: "runcmd replaced", parts: []Part{shell("runcmd", "#!/bin/sh\n"), config("a", "runcmd: [a]\n")}},
	{name: "nothing left of a name", parts: []Part{shell("\u00fc", "#!/bin/sh\n"), shell("..", "#!/bin/sh\n"), {"\u00e4", TypeBoothook, "#!/bin/sh\n"}}},
	{name: "quotes and semicolons in a name", parts: []Part{shell("a\"b.sh", "#!/bin/sh\n"), shell("a;b.sh", "#!/bin/sh\n"), shell("a\"; filename=c.sh", "#!/bin/sh\n")}},
	{name: "line break in a name", parts: []Part{config("a\nX-Merge-Type: list(append)+dict()", "bootcmd: [a]\n")}},
	{name: "vertical tab in a name", parts: []Part{shell("a\vb.sh", "#!/bin/sh\n")}},

	// scripts
	{name: "scripts that cannot run", parts: []Part{shell("a.sh", "echo\n"), shell("b.sh", "\n#!/bin/sh\n"), shell("c.sh", "#!/bin/sh\r"), {"d", TypeBoothook, "echo\n"}}},
	{name: "order of everything", parts: []Part{shell("zz.sh", "#!/bin/sh\n"), {"hook2", TypeBoothook, "#!/bin/sh\n"}, config("c", "runcmd: [r]\nbootcmd: [b]\npackages: [p]\nwrite_files: [{path: /etc/w}]\n"), {"hook1", TypeBoothook, "#cloud-boothook\n#!/bin/sh\n"}, shell("00-a.sh", "#!/bin/sh\n")}},

	// merging
	{name: "the last list wins", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "bootcmd: [b]\n")}},
	{name: "append", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", appendAll+"bootcmd: [b]\n"), config("c", appendAll+"bootcmd: [c]\n")}},
	{name: "append in the first part alone", parts: []Part{config("a", appendAll+"bootcmd: [a]\n"), config("b", "bootcmd: [b]\n")}},
	{name: "prepend", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "bootcmd: [b]\nmerge_how: list(prepend)+dict(recurse_list)\n")}},
	{name: "merge_how without dict", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "merge_how: list(append)\nbootcmd: [b]\n")}},
	{name: "merge_how that is wrong", parts: []Part{config("a", "merge_how: list\nbootcmd: [a]\n"), config("b", "merge_how: lost(append)+dict()\nruncmd: [b]\n"), config("c", "merge_how: 5\npackages: [c]\n")}},
	{name: "mergers whose names are no words", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "merge_how: 9list(append)+dict()\nbootcmd: [b]\n"), config("c", "merge_how: li st(append)+dict()\nbootcmd: [c]\n"), config("d", "merge_how: list(append)x+dict()\nbootcmd: [d]\n")}},
	{name: "merge_how as a list", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "merge_how:\n- {name: list, settings: [append]}\n- {name: dict, settings: [no_replace, recurse_list]}\nbootcmd: [b]\n")}},
	{name: "merge_how and merge_type", parts: []Part{config("a", "merge_how: dict(replace)+list()\nmerge_type: list(append)\nbootcmd: [a]\n")}},
	{name: "null swallows", parts: []Part{config("a", "bootcmd:\n"), config("b", appendAll+"bootcmd: [b]\n")}},
	{name: "scalars that stay", parts: []Part{config("a", "apt: {conf: a, preserve: true}\nlocale: a\n"), config("b", appendAll+"apt: {conf: b, preserve: false, more: b}\nlocale: b\n")}},
	{name: "dicts that are replaced", parts: []Part{config("a", "apt: {conf: a}\n"), config("b", "apt: {preserve: true}\n")}},
	{name: "lists index by index", parts: []Part{config("a", "x: [a1]\n"), config("b", "merge_how: dict(recurse_list)+list(replace)\nx: [b1, b2]\n"), config("c", "merge_how: dict(recurse_list)+list(no_replace)\nx: [c1]\n")}},
	{name: "delete", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "merge_how: dict(allow_delete)\nbootcmd:\n")}},
	{name: "strings joined", parts: []Part{config("a", "x: a\n"), config("b", "merge_how: dict(recurse_str)+str(append)\nx: b\n")}},
	{name: "a mapping merged into a tuple", parts: []Part{config("a", "x: !!pairs [k: v]\n"), config("b", "merge_how: dict(recurse_list)+list(replace, recurse_dict)\nx: [{a: b}]\n")}},
	{name: "strings joined, then replaced", parts: []Part{config("a", "x: a\n"), config("b", "merge_how: dict(recurse_str)+str(append)\nx: b\n"), config("c", "x: c\n")}},
	{name: "the image's own lists", parts: []Part{config("a", appendAll+"bootcmd: [a]\n")}, base: "bootcmd: [image]\nruncmd: [image]\napt: {conf: image}\n"},
	{name: "archive", parts: []Part{config("a", "bootcmd: [a]\n"), {"b", TypeArchive, "- content: |\n    #cloud-config\n    bootcmd: [b]\n  X-Merge-Type: list(append)+dict(recurse_list)\n- type: text/x-shellscript\n  filename: c.sh\n  content: \"#!/bin/sh\\necho \\u00e9\\n\"\n- '#cloud-config\n\n  runcmd: [d]'\n- 5\n"}}},
	{name: "archive that takes everything with it", parts: []Part{shell("a.sh", "#!/bin/sh\n"), {"b", TypeArchive, "- content: 5\n"}}},
	{name: "archive with a key that is a number", parts: []Part{{"b", TypeArchive, "- {content: x, 1: y}\n"}}},
	{name: "archive that is no YAML", parts: []Part{{"b", TypeArchive, "- [\n"}, config("c", "runcmd: [c]\n")}},
	{name: "JSON patch", parts: []Part{config("a", "bootcmd: [a]\n"), shell("b", "#cloud-config-jsonp\n[{\"op\": \"add\", \"path\": \"/bootcmd/-\", \"value\": \"b\"}]\n")}},
	{name: "JSON patch with what only Python takes", parts: []Part{config("a", "bootcmd: [[a], b]\nx: [1]\n"), {"b", TypeCloudConfigJSONP, `[{"op": "replace", "path": "/bootcmd/01", "value": "c"}, {"op": "add", "path": "/y", "value": [NaN, -Infinity, "NaN"]}, {"op": "move", "from": "/bootcmd/0", "path": "/bootcmd/0"}]`}}},
	{name: "JSON patch of what an alias shares", parts: []Part{config("a", "x: &x [1]\ny: *x\n"), {"b", TypeCloudConfigJSONP, `[{"op": "replace", "path": "/x/0", "value": 2}]`}}},
	{name: "JSON patch that makes it null", parts: []Part{config("a", "x: 1\n"), {"b", TypeCloudConfigJSONP, `[{"op": "replace", "path": "", "value": null}]`}, config("c", "y: 2\n")}},
	{name: "a script for each boot without a name", parts: []Part{{"a/", TypePerBoot, "#!/bin/sh\n"}, {"/", TypePerOnce, "#!/bin/sh\n"}}},

	// YAML
	{name: "YAML of its own kind", parts: []Part{config("a", "a: 0755\nb: 1:30\nc: yes\nd: 0o755\ne: 2001-12-14\nf: 1e3\ng: 08\nh: ~\ni: !!binary YQ==\nj: {<<: {k: 1}, l: 2}\n")}},
	{name: "keys twice", parts: []Part{config("a", "bootcmd: [a]\nruncmd: [b]\nbootcmd: [c]\n")}},
	{name: "broken YAML in one part of three", parts: []Part{config("a", "bootcmd: [a]\n"), config("b", "bootcmd: [b\nx: y\n"), config("c", "runcmd: [c]\n")}},
	{name: "two documents", parts: []Part{config("a", "a: 1\n---\nb: 2\n")}},
	{name: "keys that are no strings", parts: []Part{config("a", "1: a\nbootcmd: [a]\nwrite_files: [{path: /etc/a}]\nruncmd: [b]\n")}},

	// commands
	{name: "a command that is a mapping", parts: []Part{config("a", "bootcmd:\n- echo ok\n- echo a: b\nruncmd:\n- [echo, it's, 1, yes, 0755, ~]\n- 5\n")}},
	{name: "commands that are no list", parts: []Part{config("a", "bootcmd: echo\nruncmd: {a: b}\n")}},
	{name: "a command that is null", parts: []Part{config("a", "bootcmd:\n- a\n-\n- b\n")}},

	// files
	{name: "permissions", parts: []Part{config("a", "write_files:\n- {path: /etc/1, permissions: '0755'}\n- {path: /etc/2, permissions: 0755}\n- {path: /etc/3, permissions: 755}\n- {path: /etc/4, permissions: '0999'}\n- {path: /etc/5, permissions: 0o700}\n- {path: /etc/6, permissions: 0644.0}\n- {path: /etc/7, permissions: '4755'}\n")}},
	{name: "an owner that does not exist yet", parts: []Part{config("a", "users: [{name: app}]\nwrite_files:\n- {path: /etc/1}\n- {path: /etc/2, owner: 'app:app'}\n- {path: /etc/3}\n- {path: /etc/4, owner: 'app:app', defer: true}\n")}},
	{name: "owners that users: and groups: make", parts: []Part{config("a", "groups: [ops]\nusers: [default, {name: app, groups: 'docker, adm'}]\nwrite_files:\n- {path: /etc/1, owner: 'app:app', defer: true}\n- {path: /etc/2, owner: 'app:docker', defer: true}\n- {path: /etc/3, owner: 'root:ops', defer: true}\n")}},
	{name: "a user that has the name of a group", parts: []Part{config("a", "groups: [app]\nusers: [{name: app}]\nwrite_files: [{path: /etc/1, owner: app, defer: true}]\n")}},
	{name: "users that nobody can read", parts: []Part{config("a", "groups: 5\nusers: [{name: app}]\nwrite_files: [{path: /etc/1, owner: app, defer: true}]\n")}},
	{name: "an owner that does not exist, and a folder to make", parts: []Part{config("a", "write_files: [{path: /opt/new/1, owner: app}, {path: /etc/2}]\n")}},
	{name: "an owner that is a number", parts: []Part{config("a", "write_files: [{path: /etc/1, owner: '1000:1000'}, {path: /etc/2}]\n")}},
	{name: "a path that is a folder", parts: []Part{config("a", "write_files: [{path: /etc/}, {path: /etc/2}]\n")}},
	{name: "a folder that is a file", parts: []Part{config("a", "write_files: [{path: /opt/a}, {path: /opt/a/b}, {path: /etc/2}]\n")}},
	{name: "a path that nobody can make", parts: []Part{config("a", "write_files:\n- {path: /d/e/"+strings.Repeat("n", 256)+"/f, owner: app}\n- {path: /d/e/f, owner: app, defer: true}\n")}},
	{name: "permissions that chmod refuses", parts: []Part{config("a", "write_files:\n- {path: /d/e, permissions: 2147483648}\n- {path: /d/f, owner: app, defer: true}\n")}},
	{name: "a setuid bit that is lost, and a mode that is kept", parts: []Part{config("a", "write_files:\n- {path: /etc/a, permissions: '4755'}\n- {path: /etc/a, permissions: 0}\n")}},
	{name: "contents", parts: []Part{config("a", "write_files:\n- {path: /etc/1, encoding: b64, content: YWJj}\n- {path: /etc/2, encoding: nope, content: YWJj}\n- {path: /etc/3, content: abc}\n- {path: /etc/3, content: def, append: true}\n- {content: x}\n- {path: /etc/4, content: 5}\n- {path: /etc/5}\n")}},
	{name: "content of null", parts: []Part{config("a", "write_files: [{path: /etc/1, content: }, {path: /etc/2}]\n")}},
	{name: "encodings that are no text", parts: []Part{config("a", "write_files: [{path: /etc/1, encoding: !!binary YjY0, content: YWJj}, {path: /etc/2, encoding: 5, content: YWJj}, {path: /etc/3}]\n")}},
	{name: "a file that is no mapping", parts: []Part{config("a", "write_files: [{path: /etc/1}, a, {path: /etc/2}]\n")}},
	{name: "base64 that is broken", parts: []Part{config("a", "write_files: [{path: /etc/1, encoding: b64, content: YWJ}, {path: /etc/2}]\n")}},
	{name: "source", parts: []Part{config("a", "write_files: [{path: /etc/1, source: {uri: 'http://localhost:1/'}}, {path: /etc/2, content: x, source: {uri: 'http://localhost:1/'}}]\n")}},
	{name: "files of null", parts: []Part{config("a", "write_files:\nx: y\n")}},
	{name: "an entry that is a string", parts: []Part{config("a", "write_files: [{path: /etc/1, defer: true}, text, {path: /etc/2}]\n")}},
	{name: "keys that JSON does not take", parts: []Part{config("a", "1: x\nbootcmd: [ls]\nwrite_files: [{path: /etc/1}]\n")}},
	{name: "keys below the top that JSON takes", parts: []Part{config("a", "x: {1: a, 2: b}\nwrite_files: [{path: /etc/1}]\n")}},
	{name: "files that are no list", parts: []Part{config("a", "write_files: {path: /etc/1}\n"), config("b", "x: y\n")}},
}
