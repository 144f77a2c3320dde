package instancegroups

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
)

// FuzzElide reads documents with and without elided bodies: kops' parser must see the same.
func FuzzElide(f *testing.F) {
	body := strings.Repeat("      a line of a script, with enough characters in it\n", 2)
	part := "  - content: |\n" + body + "    name: kopshook-1\n    type: t\n"
	head := "kind: InstanceGroup\nspec:\n  additionalUserData:\n"
	for _, s := range []string{
		head + part + part,
		head + part + "  # comment\n  - name: x\n    content: |\n" + body + "\n\n",
		head + "  - name: a\n    content: |\n      - content: |\n" + strings.ReplaceAll(body, "      ", "          ") + "        name: x\n",
		head + "  - content: |\n\n" + body + "    name: x\n",
		head + "  - content: |\n" + strings.Replace(body, "a line", "\ta line", 1),
		head + "  - content: |\n" + body + "     less\n    name: x\n",
		head + "  - content: |\n" + body + "    # comment\n    name: x\n",
		head + "  - content: |\n" + body + "      \n      \u0085\n    name: x\n",
		"spec: {additionalUserData: [\"\n  content: |\n" + body + "\"]}\n",
		"a: 'b\n  content: |\n" + body + "'\n",
		"a: b\n  content: |\n" + body + "\n",
		"? |\n  content: |\n" + body + ": x\n",
		head + part + "---\n" + part,
		"items:\n- spec:\n    additionalUserData:\n    - content: |\n" + strings.ReplaceAll(body, "      ", "        ") + "kind: List\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if bytes.IndexByte(src, 0) >= 0 || len(src) == 0 {
			return
		}
		src = append(src, '\n')
		want, wantErr := readYAML(src)
		var b bodies
		e := b.elide(src)
		got, err := readYAML(e.text)
		if wantErr != nil {
			if e.tokens > 0 && err == nil && got.tokensInPlace(e.tokens) {
				t.Fatalf("a document that kops cannot read (%v) passes without its bodies", wantErr)
			}
			return
		}
		if e.tokens == 0 || err != nil || !got.tokensInPlace(e.tokens) {
			return // parse it whole
		}
		got.bodies = &b
		if diff := cmp.Diff(expanded(t, &want), expanded(t, &got)); diff != "" {
			t.Fatalf("with elided bodies (-whole +elided):\n%s", diff)
		}
	})
}

// expanded returns a value with tokens expanded where the package expands them.
func expanded(t *testing.T, r *reading) any {
	var x any
	if err := json.Unmarshal(r.json, &x); err != nil {
		t.Fatal(err)
	}
	var walk func(x any) any
	walk = func(x any) any {
		switch x := x.(type) {
		case map[string]any:
			for k := range x {
				x[k] = walk(x[k])
			}
		case []any:
			for i := range x {
				x[i] = walk(x[i])
			}
		case string:
			return r.expand(x)
		}
		return x
	}
	return walk(x)
}

// FuzzPrint prints parts the short way and with kops' YAML library: both must be the same, at all indentations.
func FuzzPrint(f *testing.F) {
	for _, s := range []string{
		"#!/bin/sh\necho\n", "a\n\n  b\n", "a", "a\n\n", "", "\n", " a\n", "a \nb\n", "a\tb\n", "---\n", "a: b\n", "- a\n", "x\n#\n", strings.Repeat("long ", 100) + "\n", "ü\n",
		"a\n ", "a\n  \n", "|\n", "'\n", "\"\n", "%x\n", "true\n", "...\n",
	} {
		f.Add("kopshook-1", "text/x", s)
		f.Add("kopshook-1: x", "text/", s)
	}
	f.Fuzz(func(t *testing.T, name, typ, content string) {
		u := kops.UserData{Name: name, Type: typ, Content: content}
		for _, indent := range []int{2, 0, 1, 7, 40} {
			if !isPlain(u) {
				return
			}
			short := printPlain(u, indent)
			data, err := json.Marshal(v1Part(u))
			if err != nil {
				t.Fatal(err)
			}
			long, err := printItem(data, indent)
			if err != nil {
				t.Fatal(err)
			}
			if short != long {
				t.Fatalf("printed the short way and kops' way (-kops +short):\n%s", cmp.Diff(long, short))
			}
			if !survives(short, u) {
				t.Fatalf("kops reads another part:\n%s", short)
			}
		}
	})
}

func TestMostPartsArePrintedTheShortWay(t *testing.T) {
	u := kops.UserData{Name: "kopshook-500-gpu.yaml", Type: "text/cloud-config", Content: "#cloud-config\n\nwrite_files:\n- path: /a\n"}
	if !isPlain(u) {
		t.Error("the short way is not taken")
	}
}

func TestLongBodiesAreElided(t *testing.T) {
	body := strings.Repeat("      echo 'a line of a script'\n", 100)
	src := "kind: InstanceGroup\nspec:\n  additionalUserData:\n" + strings.Repeat("  - content: |\n"+body+"    name: kopshook-1\n", 5)
	var b bodies
	e := b.elide([]byte(src))
	if e.tokens != 5 || len(e.text) > 500 || len(b.content) != 1 {
		t.Errorf("%d tokens, %d bytes, %d bodies", e.tokens, len(e.text), len(b.content))
	}
}

func TestParseJSONFindsAllValues(t *testing.T) {
	src := []byte(" {\"a\" : [1 , true,\"x\\\"]\", {} , []], \"\\u0062\":-1.5e3 } ")
	root := parseJSON(src)
	for _, c := range []struct {
		v    *value
		want string
	}{
		{&root, "{\"a\" : [1 , true,\"x\\\"]\", {} , []], \"\\u0062\":-1.5e3 }"},
		{root.get("a"), "[1 , true,\"x\\\"]\", {} , []]"},
		{&root.get("a").items[0], "1"},
		{&root.get("a").items[1], "true"},
		{&root.get("a").items[2], `"x\"]"`},
		{&root.get("a").items[3], "{}"},
		{&root.get("a").items[4], "[]"},
		{root.get("b"), "-1.5e3"},
	} {
		if got := string(src[c.v.start:c.v.end]); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if root.get("a", "c") != nil || root.get("c") != nil {
		t.Error("values that are not there")
	}
	if got := root.get("a").items[2].text(src); got != `x"]` {
		t.Errorf("text %q", got)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"c\\"}],"\u0000":null}`, "[]", " 1 ", `"\""`, `{"":{}}`, "[[[[]]]]\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if !json.Valid(src) {
			return
		}
		var check func(v *value)
		check = func(v *value) {
			if !json.Valid(src[v.start:v.end]) {
				t.Fatalf("not a value: %q", src[v.start:v.end])
			}
			for i := range v.members {
				check(&v.members[i].value)
			}
			for i := range v.items {
				check(&v.items[i])
			}
		}
		root := parseJSON(src)
		check(&root)
		if !bytes.Equal(bytes.TrimSpace(src), src[root.start:root.end]) {
			t.Fatalf("not the whole: %q", src[root.start:root.end])
		}
	})
}
