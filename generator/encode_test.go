package generator

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decodeStrictly is what cloud-init does with an encoding (cloudinit/config/cc_write_files.py), with other libraries
// than those that encoded.
func decodeStrictly(t testing.TB, encoding, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if encoding == "b64" {
		return b
	}
	if encoding != "gz+b64" {
		t.Fatalf("encoding %q", encoding)
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "" || !r.ModTime.IsZero() {
		t.Errorf("the header holds %q, %v", r.Name, r.ModTime)
	}
	b, err = io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// splitExec reads arguments as systemd does: src/basic/extract-word.c with EXTRACT_UNQUOTE and EXTRACT_CUNESCAPE, then
// specifiers (unit_full_printf) and variables (replace_env_argv), for the specifiers and variables that exist here.
func splitExec(t testing.TB, line string) []string {
	t.Helper()
	var args []string
	var word strings.Builder
	in, quote := false, byte(0)
	line = strings.ReplaceAll(line, "\\\n", " ")
	if strings.Contains(line, "\n") {
		t.Fatalf("the line ends early: %q", line)
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\':
			in = true
			i++
			switch line[i] {
			case 'n':
				word.WriteByte('\n')
			case 't':
				word.WriteByte('\t')
			case 'x':
				b := strings.IndexByte("0123456789abcdef", line[i+1])<<4 | strings.IndexByte("0123456789abcdef", line[i+2])
				word.WriteByte(byte(b))
				i += 2
			case '\\', '"', '\'':
				word.WriteByte(line[i])
			default:
				t.Fatalf("unknown escape in %q", line[i-1:])
			}
		case quote == 0 && (c == '"' || c == '\''):
			quote, in = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && c == ' ':
			if in {
				args = append(args, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		t.Fatalf("open quote in %q", line)
	}
	if in {
		args = append(args, word.String())
	}
	for i, a := range args {
		var b strings.Builder
		for j := 0; j < len(a); j++ {
			b.WriteByte(a[j])
			if a[j] == '%' || a[j] == '$' {
				if j+1 == len(a) || a[j+1] != a[j] {
					t.Fatalf("%q would be expanded", a)
				}
				j++
			}
		}
		args[i] = b.String()
	}
	return args
}

var awkward = []string{"", " ", "a", "a b", "a\nb", "\n", "\t", `"`, `'`, `"'`, `\`, `\\`, `\n`, "%", "%n", "%%", "$", "$$", "$HOME", "${HOME}", "$(x)", "`x`",
	";", "a;b", "-a", "@a", "#a", "\x01", "\x7f", "caf\u00e9", "\u2028", "a=b c", "[Service]\nExecStart=/bin/x", "end\\", "*", "~", "é\"'$%\\\n"}

func TestArgumentsMeanThemselvesToSystemd(t *testing.T) {
	line := "/bin/x " + join(awkward)
	if diff := cmp.Diff(awkward, splitExec(t, line)[1:]); diff != "" {
		t.Errorf("%s\n%s", diff, line)
	}
}

func FuzzArgument(f *testing.F) {
	for _, a := range awkward {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?")
		if got := splitExec(t, "/bin/x "+argument(s)); len(got) != 2 || got[1] != s {
			t.Errorf("%q became %q in %s", s, got, argument(s))
		}
	})
}

func TestScriptRunsAsItsFirstLineSays(t *testing.T) {
	for first, want := range map[string][]string{
		"#!/bin/bash":                      {"/bin/bash", "./f"},
		"#! /bin/bash ":                    {"/bin/bash", "./f"},
		"#!/bin/bash -eu":                  {"/bin/bash", "-eu", "./f"},
		"#!/bin/bash\t-e -u":               {"/bin/bash", "-e -u", "./f"}, // the kernel makes it one argument
		"#!/usr/bin/env python3":           {"/usr/bin/env", "python3", "./f"},
		"#!/usr/bin/env -S python3 -u":     {"/usr/bin/env", "-S python3 -u", "./f"},
		"#!/bin/sh; rm -rf /":              {"/bin/sh;", "rm -rf /", "./f"}, // and no shell takes it
		"echo hi":                          {"/bin/sh", "./f"},
		"":                                 {"/bin/sh", "./f"},
		"#!":                               {"/bin/sh", "./f"},
		"#!/bin/sh\r":                      {"/bin/sh\r", "./f"},
		"\x7fELF\x02\x01":                  {"./f"},
		"#!/opt/\xff":                      {"./f"},
		" #!/bin/bash":                     {"/bin/sh", "./f"},
		"#!/bin/sh # kopshook \"$(date)\"": {"/bin/sh", "# kopshook \"$(date)\"", "./f"},
	} {
		if diff := cmp.Diff(want, execute("f", []byte(first+"\nrest\n"))); diff != "" {
			t.Errorf("%q: %s", first, diff)
		}
	}
}

func TestCloudConfigKeepsItsMeaning(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain scalars stay plain", "a: yes\nb: 0755\nc: 1:30\nd: ~\ne: 1_000\nf: .5\ng: 0x1F\nh: 2001-01-01\ni: =\nj: <<\n", "a: yes\nb: 0755\nc: 1:30\nd: ~\ne: 1_000\nf: .5\ng: 0x1F\nh: 2001-01-01\ni: =\nj: <<\n"},
		{"quoted ones stay quoted", "a: \"yes\"\nb: '0755'\nc: 'it''s'\n", "a: \"yes\"\nb: \"0755\"\nc: \"it's\"\n"},
		{"keys too", "yes: a\n'no': b\n0755: c\n", "yes: a\n\"no\": b\n0755: c\n"},
		{"empty values", "a:\nb: {}\nc: []\nd: ''\n", "a: null\nb: {}\nc: []\nd: \"\"\n"},
		{"flow style", "a: {b: [1, {c: d}, [2, 3]], e: f}\n", "a:\n  b:\n  - 1\n  - c: d\n  - - 2\n    - 3\n  e: f\n"},
		{"block scalars", "a: |\n  x\n   y\nb: >-\n  x\n  y\nc:\n- |+\n  z\n\n", "a: |\n  x\n   y\nb: \"x y\"\nc:\n- |+\n    z\n\n"},
		{"not ASCII", "a: caf\u00e9\n\u00fc: b\nc: \"\\u2028\"\n", "a: \"caf\\xe9\"\n\"\\xfc\": b\nc: \"\\u2028\"\n"},
		{"aliases", "a: &x {b: c}\nd: *x\ne: [*x, *x]\n", "a:\n  b: c\nd:\n  b: c\ne:\n- b: c\n- b: c\n"},
		{"merge keys", "a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", "a:\n  b: c\nd:\n  <<:\n    b: c\n  e: f\n"},
		{"tags", "a: !!str 0755\nb: !!binary |\n  YQ==\n", "a: !!str 0755\nb: !!binary |\n  YQ==\n"},
		{"tabs", "a: \"x\\ty\"\nb: |\n  x\ty\n", "a: \"x\\ty\"\nb: \"x\\ty\\n\"\n"},
		{"folded plain scalars", "a: x\n  y\nb: x\n\n  y\n", "a: x y\nb: |-\n  x\n  y\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := newMapping(yamlNode(t, c.in)).rest()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCloudConfigJoinsOurLists(t *testing.T) {
	h := newHook("x", PreNodeup, "#!/bin/sh\n")
	h.CloudConfig = yamlNode(t, "apt: {a: b}\nwrite_files: [{path: /a, content: x}]\nbootcmd:\n- [a, b]\n- c\n")
	content := hookParts(t, gpuGroup, []Hook{h})["kopshook-500-x.yaml"]
	if n := strings.Count(content, "write_files:"); n != 1 {
		t.Errorf("%d times write_files:", n)
	}
	order := []string{"merge_how:", "\nbootcmd:\n- - a\n  - b\n- c\nwrite_files:\n- path: /etc/systemd", "\n- path: /a\n  content: x\n", "apt:\n"}
	at := -1
	for _, s := range order {
		i := strings.Index(content, s)
		if i <= at {
			t.Fatalf("%q is not where it should be in\n%s", s, content)
		}
		at = i
	}
}

// The bytes of user data stay as they are: what needs no quotes has none, and escapes are the shortest that there are.
func TestScalarsAreAsShortAsTheyMayBe(t *testing.T) {
	for text, want := range map[string]string{
		"":                 `""`,
		"/a.b_c-d/AZaz09":  "/a.b_c-d/AZaz09",
		"z/a":              "z/a",
		"A/a":              "A/a",
		"Z/a":              "Z/a",
		"a":                `"a"`, // might be a word of YAML
		"0/a":              `"0/a"`,
		"/a~":              `"/a~"`,
		"/a b":             `"/a b"`,
		"\t\r\"\\":         `"\t\r\"\\"`,
		"\x1f ~\x7f":       `"\x1f ~\x7f"`,
		"\u00ff\u0100":     `"\xff\u0100"`,
		"\uffff\U00010000": `"\uffff\U00010000"`,
	} {
		if got := scalar(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// What holds more than one control character in ten is a program, which nobody reads.
func TestTextIsWhatPeopleRead(t *testing.T) {
	for content, want := range map[string]bool{
		"": true, "\n\t\r": true, "a\n": true, "\xff": false,
		"\x01": false, "\x7f": false, "12345678\x01": false, "123456789\x01": true, "12345678\x01\x7f": false, "123456789\x7f": true,
	} {
		if got := isText([]byte(content)); got != want {
			t.Errorf("%q: %t", content, got)
		}
	}
}

func TestLinesOfBase64AreFull(t *testing.T) {
	for n, want := range map[int]int{0: 1, 56: 1, 57: 1, 58: 2, 114: 2, 115: 3} {
		if got := strings.Count(base64Lines(make([]byte, n)), "\n"); got != want {
			t.Errorf("%d bytes are %d lines, want %d", n, got, want)
		}
	}
}
