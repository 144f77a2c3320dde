package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func text(t *testing.T, opts TextOptions, findings ...Finding) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, findings, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextIsWhatEditorsParse(t *testing.T) {
	got := text(t, TextOptions{},
		Finding{Position: Position{File: "a.yaml", Line: 3, Col: 5}, Message: "unknown field `attempt`", Remedy: "did you mean `attempts`?"},
		Finding{Position: Position{File: "a.yaml", Line: 3}, Severity: Warning, Code: "KH012", Message: "odd"},
		Finding{Position: Position{File: "-"}, Severity: Info, Message: "from standard input"},
		Finding{Message: "no file at all"})
	want := "a.yaml:3:5: error: unknown field `attempt`\n" +
		"  hint: did you mean `attempts`?\n" +
		"a.yaml:3: warning: odd [KH012]\n" +
		"<stdin>: info: from standard input\n" +
		"kopshook: error: no file at all\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextColorsTheSeverityOnly(t *testing.T) {
	got := text(t, TextOptions{Color: true}, Finding{Position: Position{File: "a", Line: 1, Col: 1}, Message: "m"})
	if want := "a:1:1: \x1b[31merror\x1b[0m: m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSnippetPutsTheCaretUnderTheColumn(t *testing.T) {
	long := strings.Repeat("a", 200) + "X" + strings.Repeat("b", 200)
	for _, test := range []struct {
		name, source string
		line, col    int
		want         string
	}{
		{"first line", "abc\n", 1, 1, "1 | abc\n  | ^"},
		{"no final newline", "a\nbcd", 2, 3, "2 | bcd\n  |   ^"},
		{"behind the end of the line", "ab\n", 1, 3, "1 | ab\n  |   ^"},
		{"far behind the end of the line", "ab\n", 1, 30, "1 | ab\n  |   ^"},
		{"end of the file", "ab\n", 2, 1, "2 | \n  | ^"},
		{"CRLF", "a\r\nbcd\r\ne\r\n", 2, 2, "2 | bcd\n  |  ^"},
		{"tabs count as one character", "\ta:\tb\n", 1, 5, "1 |  a: b\n  |     ^"},
		{"wide characters take two columns", "日本: x\n", 1, 5, "1 | 日本: x\n  |       ^"},
		{"full-width forms too", "ＡＢ: x\n", 1, 5, "1 | ＡＢ: x\n  |       ^"},
		{"emoji too", "\U0001f600: x\n", 1, 4, "1 | \U0001f600: x\n  |     ^"},
		{"combining marks take none", "e\u0301: x\n", 1, 5, "1 | e\u0301: x\n  |    ^"},
		{"umlauts take one", "ä: x\n", 1, 4, "1 | ä: x\n  |    ^"},
		{"control characters do not get through", "a\x1b[31m: \x07x\n", 1, 10, "1 | a\ufffd[31m: \ufffdx\n  |          ^"},
		{"nor do those that turn the direction of text", "a\u202eb: x\n", 1, 6, "1 | a\ufffdb: x\n  |      ^"},
		{"nor other line breaks", "a\u0085b\u2028c\rd\n", 1, 7, "1 | a\ufffdb\ufffdc\ufffdd\n  |       ^"},
		{"nor bytes that are no text", "a\xff\xfeb\n", 1, 4, "1 | a\ufffd\ufffdb\n  |    ^"},
		{"no column, no caret", "abc\n", 1, 0, "1 | abc"},
		{"line numbers of two digits", strings.Repeat("\n", 11) + "abc", 12, 2, "12 | abc\n   |  ^"},
		{"of long lines a part", long, 1, 201, "1 | " + strings.Repeat("a", 50) + "X" + strings.Repeat("b", 49) + "\n  | " + strings.Repeat(" ", 50) + "^"},
		{"of long lines the beginning", long, 1, 2, "1 | " + strings.Repeat("a", 100) + "\n  |  ^"},
		{"of long lines the end", long, 1, 402, "1 | " + strings.Repeat("b", 50) + "\n  | " + strings.Repeat(" ", 50) + "^"},
		{"of long wide lines a part", strings.Repeat("日", 300), 1, 101, "1 | " + strings.Repeat("日", 50) + "\n  | " + strings.Repeat(" ", 50) + "^"},
		{"a line that is not there", "abc\n", 7, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := Finding{Position: Position{File: "f", Line: test.line, Col: test.col}, Message: "m"}
			got := text(t, TextOptions{Sources: map[string][]byte{"f": []byte(test.source)}, Snippets: true}, f)
			_, got, _ = strings.Cut(got, ": error: m\n")
			_, got, _ = strings.Cut(got, "|\n") // the empty line above
			if diff := cmp.Diff(test.want, strings.TrimSuffix(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoInputControlsTheTerminalOrMakesUpFindings(t *testing.T) {
	evil := "x\x1b]0;title\x07\u009b31m\u202e\r\nb.yaml:1:1: error: made up"
	got := text(t, TextOptions{}, Finding{Position: Position{File: evil, Line: 1, Col: 1}, Message: evil, Remedy: evil, Code: evil})
	for _, bad := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\r", "\nb.yaml"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q gets through: %q", bad, got)
		}
	}
	var b strings.Builder
	if err := GitHub(&b, []Finding{{Position: Position{File: evil, Line: 1}, Message: evil, Remedy: evil}}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\r", "\nb.yaml"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%q gets through to GitHub: %q", bad, b.String())
		}
	}
}

// A log of CI is read by the system that keeps it: white space before a command does not matter to it.
func TestNoInputGivesCommandsToCI(t *testing.T) {
	for in, want := range map[string]string{
		"::error::x":                   "\ufffd:error::x",
		"a\n::error::x\n\u3000 ::y::z": "a\n    \ufffd:error::x\n    \u3000 \ufffd:y::z",
		"a ##[error]b ##vso[task.x]c":  "a ##\ufffd[error]b ##\ufffdvso[task.x]c",
		"a::b, # [c], ## d, [::1]:443": "a::b, # [c], ## d, [::1]:443",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got, want := OneLine("a\n::b::c"), "a\ufffd::b::c"; got != want {
		t.Errorf("on one line it is %q, want %q", got, want)
	}
}

func TestSortAndRepetitions(t *testing.T) {
	at := func(file string, line, col int, msg string) Finding {
		return Finding{Position: Position{File: file, Line: line, Col: col}, Message: msg}
	}
	r := Report{}
	r.Add(at("b", 1, 1, "x"), at("a", 10, 1, "x"), at("a", 2, 3, "y"), at("a", 2, 3, "x"), at("a", 2, 1, "x"), at("a", 2, 3, "x"))
	r.Sort()
	want := []Finding{at("a", 2, 1, "x"), at("a", 2, 3, "x"), at("a", 2, 3, "y"), at("a", 10, 1, "x"), at("b", 1, 1, "x")}
	if diff := cmp.Diff(want, r.Findings); diff != "" {
		t.Error(diff)
	}
}

func TestNearest(t *testing.T) {
	fields := []string{"attempts", "name", "phase", "dropIns", "run", "env", "onFailure"}
	for word, want := range map[string]string{
		"attempt": "attempts", "atempts": "attempts", "Attempts": "attempts", "nmae": "name", "dropins": "dropIns",
		"onfailure": "onFailure", "failure": "onFailure", "phases": "phase", "env ": "env", "rnu": "run",
		"xyzzy": "", "": "", "script": "", "nope": "", "before": "",
	} {
		if got := Nearest(word, fields); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
