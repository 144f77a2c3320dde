//go:build e2e

package cloudinit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// TestRandomYAMLIsReadAlike holds pyyaml against PyYAML, values, keys' order and the place of each error.
func TestRandomYAMLIsReadAlike(t *testing.T) {
	seed, n := number(t, "KOPSHOOK_SEED", 1), number(t, "KOPSHOOK_N", 10000)
	r := start(t, release{suite: "trixie"})
	bad, broken := 0, 0
	for i := range n {
		g := &grammar{Rand: rand.New(rand.NewPCG(seed, i))}
		text := g.yaml()
		var a struct {
			Value, Error string
			Line, Col    int
			Uncaught     bool
		}
		r.ask(t, map[string]any{"yaml": []byte(text)}, &a)
		v, err := pyyaml.Load(text)
		var e *pyyaml.Error
		same := a.Error == "" && err == nil && a.Value == canon(v)
		if errors.As(err, &e) {
			broken++
			same = e.Unsure || a.Error != "" && a.Uncaught == e.Uncaught && (a.Line == 0 || a.Line == e.Line && a.Col == e.Col)
		}
		if same {
			continue
		}
		t.Errorf("seed %d, text %d: %q\nPyYAML: %s %s (line %d, column %d)\npyyaml: %s %v", seed, i, text, a.Value, a.Error, a.Line, a.Col, canon(v), err)
		if bad++; bad == 5 {
			t.Fatal("enough")
		}
	}
	t.Logf("%s: %d texts of seed %d, %d of them broken", r.name, n, seed, broken)
}

// yaml is a text of pieces, or a document that is broken now and then.
func (g *grammar) yaml() string {
	if g.one(2) {
		var b strings.Builder
		for range g.IntN(14) {
			b.WriteString(g.atom())
		}
		return b.String()
	}
	s := g.document(0, 0)
	for range g.IntN(3) {
		at := g.IntN(len(s) + 1)
		switch g.IntN(3) {
		case 0:
			s = s[:at] + g.atom() + s[at:]
		case 1:
			s = s[:at] + s[min(len(s), at+g.IntN(3)):]
		}
	}
	return strings.ToValidUTF8(s, "")
}

func (g *grammar) atom() string {
	return g.pick("a", "b", "key", "x y", "- ", "-", ": ", ":", "? ", "?", ",", "[", "]", "{", "}", "#", " #", "&a ", "*a", "&b ", "*b", "!!str ", "!!int ", "!!set ", "!!omap ", "!!binary ", "!!bool ", "!foo ", "! ",
		"|", "|-", ">", ">+", "|2", "'", "\"", "''", "\\n", "\\x41", "\\u00e9", "%YAML 1.1", "%TAG ! x", "---", "...", "\n", "\n", "\n", "\n  ", "\n    ", "\n ", " ", "  ", "\t", "\r\n", "\r", "é", "\u2028", "\x01", "yes", "no",
		"0755", "1:30", "1.5", "0x1f", "2001-12-14", "2001-12-14 21:59:43.10 -5", "~", "null", "<<", "=", "@", "`", "1e3", "1.0e+3", ".5", ".inf", "08", "0b1", "1_0", "- a\n", "a: b\n", "a: b\n", "k:\n", "- ", "a: 'b'\n", "\ufeff",
		"YQ==", "\U0001f600", "\\", "<<: *a\n", "<<: {a: 1}\n", "!!timestamp ", "!!float ", "!!null ", "!!seq ", "!!map ", "!!pairs ")
}

func (g *grammar) document(indent, depth int) string {
	pad := strings.Repeat(" ", indent)
	mapping := g.one(2)
	var b strings.Builder
	for i := range 1 + g.IntN(4) {
		lead := pad + "-"
		if mapping {
			lead = pad + g.pick("a", "b", "c", "'k'", "1", "true", "<<", "? x\n"+pad) + strconv.Itoa(i%2) + ":"
			if g.one(6) {
				lead = pad + "<<:"
			}
		}
		switch n := g.IntN(6); {
		case n < 3 || depth > 3:
			fmt.Fprintf(&b, "%s %s\n", lead, g.pick("a", "b c", "yes", "No", "0755", "1:30", "'q'", "\"d\\n\"", "12", "1.5", "~", "", "2001-12-14", "foo: bar", "x#y", "x #y", "*a", "&a v", "!!str 1", "!!int '7'", "{a: 1}", "[a, b: c]",
				"-1", "+3", "0x1F", "1_000", "'it''s'", "\"\\u20ac\"", "a:b", "http://x", "=", "<<"))
		case n == 3:
			fmt.Fprintf(&b, "%s %s\n%s", lead, g.pick("|", ">", "|-", ">-", "|+", "|1", ">2 # c"), g.block(indent+1+g.IntN(2)))
		default:
			fmt.Fprintf(&b, "%s\n%s", lead, g.document(indent+g.IntN(3), depth+1))
		}
	}
	return b.String()
}

func (g *grammar) block(indent int) string {
	var b strings.Builder
	for range g.IntN(5) {
		b.WriteString(strings.Repeat(" ", indent+g.IntN(2)) + g.pick("text", "", "a: b", "# c", "\ttab", "- x", "é") + "\n")
	}
	return b.String()
}
