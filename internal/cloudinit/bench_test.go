package cloudinit

import (
	"fmt"
	"strings"
	"testing"
)

// repeat joins what line makes of each of n numbers.
func repeat(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

func formatted(n int, format string) string {
	return repeat(n, func(i int) string { return strings.ReplaceAll(format, "N", fmt.Sprint(i)) })
}

// large are shapes of user data that grow with a number. Whatever looks a thing up by going through all the others, or
// counts lines from the first one on, shows in one of them. (Merging copies what is there for each part, as cloud-init
// does, so that time also grows with parts times keys: no shape has many of both.)
var large = []struct {
	name  string
	parts func(n int) []Part
}{
	{"keys", func(n int) []Part { return []Part{config("a", formatted(n, "keyN: N\n"))} }},
	{"number keys", func(n int) []Part { return []Part{config("a", "x:\n"+formatted(n, "  N: N\n"))} }},
	{"flow keys", func(n int) []Part { return []Part{config("a", "x: {"+formatted(n, "keyN: N, ")+"}\n")} }},
	{"keys twice", func(n int) []Part { return []Part{config("a", formatted(n, "keyN: 1\n")+formatted(n, "keyN: 2\n"))} }},
	{"one key again and again", func(n int) []Part { return []Part{config("a", formatted(n, "key: N\n"))} }},
	{"keys of two parts", func(n int) []Part {
		return []Part{config("a", formatted(n, "keyN: a\n")), config("b", formatted(n, "keyN: b\n"))}
	}},
	{"keys kept", func(n int) []Part {
		return []Part{config("a", formatted(n, "keyN: a\n")), config("b", appendAll+formatted(n, "keyN: b\n"))}
	}},
	{"keys deleted", func(n int) []Part {
		return []Part{config("a", formatted(n, "keyN: a\n")), config("b", "merge_how: dict(allow_delete)\n"+formatted(n, "keyN:\n"))}
	}},
	{"lists replaced", func(n int) []Part {
		return []Part{config("a", "x:\n"+formatted(n, "- aN\n")), config("b", "x: [b]\n")}
	}},
	{"lists index by index", func(n int) []Part {
		return []Part{config("a", "x:\n"+formatted(n, "- aN\n")), config("b", "merge_how: dict(recurse_list)+list(replace)\nx:\n"+formatted(2*n, "- bN\n"))}
	}},
	{"commands", func(n int) []Part {
		return []Part{config("a", "bootcmd:\n"+formatted(n, "- [echo, N]\n")+"runcmd:\n"+formatted(n, "- echo N\n"))}
	}},
	{"commands on one line", func(n int) []Part {
		return []Part{config("a", "runcmd: [\"\u2014\", "+formatted(n, "echo N, ")+"]\n")}
	}},
	{"commands of many parts", func(n int) []Part {
		var parts []Part
		for i := range n / 20 {
			parts = append(parts, config(fmt.Sprint(i), appendAll+"runcmd: [a, b]\nbootcmd: [c, d]\n"))
		}
		return parts
	}},
	{"files", func(n int) []Part {
		return []Part{config("a", "write_files:\n"+formatted(n, "- path: /opt/N/N\n  content: N\n"))}
	}},
	{"files after one that fails", func(n int) []Part {
		return []Part{config("a", "write_files:\n- {path: /etc/x, owner: nobody-knows}\n"+formatted(n, "- path: /opt/N/N\n"))}
	}},
	{"one file appended to", func(n int) []Part {
		return []Part{config("a", "write_files:\n"+formatted(n, "- {path: /etc/a, append: true, content: N}\n"))}
	}},
	{"users", func(n int) []Part {
		return []Part{config("a", "groups:\n"+formatted(n, "- gN\n")+"users:\n"+formatted(n, "- {name: uN, groups: [gN]}\n"))}
	}},
	{"archive", func(n int) []Part {
		return []Part{{"a", TypeArchive, formatted(n/10, "- content: |\n    #cloud-config\n    key: N\n")}}
	}},
	{"a long block", func(n int) []Part {
		return []Part{config("a", "runcmd:\n- |\n"+formatted(n, "    echo N\n")+"x: |\n"+formatted(n, "  [ N\n"))}
	}},
	{"a long string", func(n int) []Part {
		return []Part{config("a", "x: \""+formatted(n, "\\u00e9 N\n  ")+"\"\ny: "+formatted(n, "N\n  ")+"\nz: '"+formatted(n, "N\n  ")+"'\n")}
	}},
	{"empty lines", func(n int) []Part {
		return []Part{config("a", "x: |\n"+strings.Repeat("\n", n)+"  a\ny: a\n"+strings.Repeat("\n", n)+"  b\nz: 'a"+strings.Repeat("\n", n)+" b'\n")}
	}},
	{"a long header", func(n int) []Part {
		return []Part{config("a", "--"+Boundary+"\nX-Long: a\n"+formatted(n, " N\n")+"\n")}
	}},
	{"comments", func(n int) []Part { return []Part{config("a", formatted(n, "# comment N\n")+"x: y\n")} }},
	{"letters beyond ASCII", func(n int) []Part {
		return []Part{config("a", "runcmd:\n"+formatted(n, "- echo \u2014 N\n"))}
	}},
	{"anchors", func(n int) []Part {
		return []Part{config("a", "x:\n"+formatted(n, "- &aN {k: N}\n- *aN\n"))}
	}},
	{"aliases", func(n int) []Part {
		return []Part{config("a", "a: &a [1]\nx:\n"+formatted(n, "- *a\n"))}
	}},
	{"one mapping of many merge keys", func(n int) []Part {
		return []Part{config("a", "a: &a {k: v}\nx: {<<: ["+strings.Repeat("*a, ", n)+"]}\n")}
	}},
	{"merge keys", func(n int) []Part {
		return []Part{config("a", "a: &a {k: v}\nx:\n"+formatted(n, "- {<<: *a, l: N}\n"))}
	}},
	{"tags", func(n int) []Part { return []Part{config("a", "x:\n"+formatted(n, "- !!str N\n- !!set {a}\n"))} }},
	{"scalars", func(n int) []Part {
		return []Part{config("a", "x:\n"+formatted(n, "- 2001-12-14 21:59:43.N\n- 1:N\n- 0.N\n- yes\n- !!binary YWJj\n"))}
	}},
	{"broken at the end", func(n int) []Part { return []Part{config("a", formatted(n, "keyN: N\n")+"  x: [\n")} }},
	{"scripts", func(n int) []Part {
		var parts []Part
		for i := range n / 10 {
			parts = append(parts, shell(fmt.Sprintf("%d.sh", i), "#!/bin/sh\ntrue\n"))
		}
		return parts
	}},
	{"scripts of one name", func(n int) []Part {
		var parts []Part
		for range n / 10 {
			parts = append(parts, shell("a.sh", "#!/bin/sh\ntrue\n"))
		}
		return parts
	}},
	{"boundaries", func(n int) []Part { return []Part{shell("a.sh", formatted(n, "--"+Boundary+"\n"))} }},
	{"a long name", func(n int) []Part { return []Part{shell(formatted(n, "N;"), "#!/bin/sh\n")} }},
	{"a patch", func(n int) []Part {
		return []Part{config("a", formatted(n, "keyN: N\n")),
			{"b", TypeCloudConfigJSONP, "[" + strings.TrimSuffix(formatted(n, `{"op": "add", "path": "/newN", "value": 1},{"op": "remove", "path": "/keyN"},`), ",") + "]"}}
	}},
	{"a template", func(n int) []Part {
		return []Part{{"a", TypeJinja, "## template: jinja\n#cloud-config\nruncmd:\n" + formatted(n, "- {{ v1.region }}\n")}}
	}},
}

// BenchmarkRead shows that reading is linear: the bytes a second of a shape are the same at all sizes.
func BenchmarkRead(b *testing.B) {
	for _, shape := range large {
		for _, n := range []int{2_000, 8_000, 32_000} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(shape.name, " ", "_"), n), func(b *testing.B) {
				parts := shape.parts(n)
				b.SetBytes(int64(len(Message(nil, "Node", parts))))
				for b.Loop() {
					ReadParts(nil, "Node", parts, Options{InstanceData: map[string]string{"v1.region": "here"}})
				}
			})
		}
	}
}
