package instancegroups_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/apis/kops/v1alpha3"
	"k8s.io/kops/pkg/kopscodecs"
	"k8s.io/kops/util/pkg/text"
	sigsyaml "sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/instancegroups"
)

// set parses a file, gives all its groups the parts, and returns the result.
func set(data []byte, parts []kops.UserData) ([]byte, error) {
	f, err := instancegroups.Parse("ig.yaml", data)
	if err != nil {
		return nil, err
	}
	for _, g := range f.Groups() {
		g.SetUserData(parts)
	}
	return f.Bytes()
}

func mustSet(t testing.TB, data []byte, parts []kops.UserData) []byte {
	t.Helper()
	out, err := set(data, parts)
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, data)
	}
	return out
}

// checkMerge checks all that must hold of a file into which parts were merged.
func checkMerge(t testing.TB, in, out []byte, parts []kops.UserData) {
	t.Helper()
	if again := mustSet(t, out, parts); !bytes.Equal(again, out) {
		t.Fatalf("merging twice is not merging once (-once +twice):\n%s", cmp.Diff(string(out), string(again)))
	}
	before, err := instancegroups.Parse("in", in)
	if err != nil {
		t.Fatal(err)
	}
	after, err := instancegroups.Parse("out", out)
	if err != nil {
		t.Fatalf("the result cannot be read: %v\n%s", err, out)
	}
	hadOurs := false
	for i, g := range before.Groups() {
		theirs := theirParts(g)
		hadOurs = hadOurs || len(theirs) < len(g.UserData())
		want := append(theirs, parts...)
		if diff := cmp.Diff(want, after.Groups()[i].UserData(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("parts of %s (-want +got):\n%s\nout:\n%s", g.Name, diff, out)
		}
	}
	checkSameForKops(t, in, out)

	removed := mustSet(t, out, nil)
	if keysAreRestorable(in) && !hadOurs {
		if !bytes.Equal(removed, in) {
			t.Fatalf("taking the hooks out does not restore the file (-in +removed):\n%s\nin:\n%q\nout:\n%s", cmp.Diff(string(in), string(removed)), in, out)
		}
		if !linesRemain(in, out) {
			t.Fatalf("lines of the input are not in the result:\n%s", cmp.Diff(string(in), string(out)))
		}
	}
	checkSameForKops(t, in, removed)
	checkPrintedByKops(t, out, parts)
}

func theirParts(g *instancegroups.Group) []kops.UserData {
	var theirs []kops.UserData
	for _, p := range g.UserData() {
		if !strings.HasPrefix(p.Name, instancegroups.Prefix) {
			theirs = append(theirs, p)
		}
	}
	return theirs
}

// documents returns what kops takes for documents, each with the line break that kops cuts off.
func documents(data []byte) [][]byte {
	sections := text.SplitContentToSections(bytes.TrimPrefix(data, []byte("\ufeff")))
	for i, s := range sections {
		if i < len(sections)-1 || !bytes.HasSuffix(s, []byte("\n")) {
			sections[i] = append(bytes.Clone(s), '\n')
		}
	}
	return sections
}

// checkSameForKops compares two files as kops' own decoder reads them, additionalUserData apart.
func checkSameForKops(t testing.TB, a, b []byte) {
	t.Helper()
	as, bs := documents(a), documents(b)
	if len(as) != len(bs) {
		t.Fatalf("kops sees %d documents instead of %d", len(bs), len(as))
	}
	for i := range as {
		x, y := generic(as[i]), generic(bs[i])
		if diff := cmp.Diff(x, y, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("document %d is not the same (-before +after):\n%s\nafter:\n%s", i, diff, bs[i])
		}
		ig, err := decode(as[i])
		if err != nil {
			continue // a list, or no InstanceGroup
		}
		now, err := decode(bs[i])
		if err != nil {
			t.Fatalf("kops cannot read the result: %v", err)
		}
		ig.Spec.AdditionalUserData, now.Spec.AdditionalUserData = nil, nil
		if diff := cmp.Diff(ig, now); diff != "" {
			t.Fatalf("document %d is not the same for kops (-before +after):\n%s", i, diff)
		}
	}
}

// generic decodes a document as kops' YAML library does, without additionalUserData.
func generic(data []byte) any {
	var v any
	if err := sigsyaml.Unmarshal(data, &v); err != nil {
		return string(data) // of another kind: it must be the same text
	}
	var drop func(v any)
	drop = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				drop(item)
			}
		case map[string]any:
			if items, ok := v["items"]; ok {
				drop(items)
			}
			if spec, ok := v["spec"].(map[string]any); ok && v["kind"] == "InstanceGroup" {
				delete(spec, "additionalUserData")
			}
		}
	}
	drop(v)
	return v
}

func decode(data []byte) (*kops.InstanceGroup, error) {
	obj, _, err := kopscodecs.Decode(data, nil)
	if err != nil {
		return nil, err
	}
	ig, ok := obj.(*kops.InstanceGroup)
	if !ok {
		return nil, errors.New("no InstanceGroup")
	}
	return ig, nil
}

// keysAreRestorable says whether every additionalUserData in a file is absent or a block list, or in JSON a list that
// is not empty.
func keysAreRestorable(data []byte) bool {
	for _, d := range documents(data) {
		var n yaml.Node
		if yaml.Unmarshal(d, &n) != nil {
			return false
		}
		isJSON := bytes.ContainsAny(bytes.TrimSpace(d)[:min(1, len(bytes.TrimSpace(d)))], "{[")
		ok := true
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
				if v := n.Content[i+1]; n.Content[i].Value == "additionalUserData" {
					ok = ok && v.Kind == yaml.SequenceNode && len(v.Content) > 0 && (isJSON || v.Style&yaml.FlowStyle == 0)
				}
			}
			for _, c := range n.Content {
				walk(c)
			}
		}
		walk(&n)
		if !ok {
			return false
		}
	}
	return true
}

// linesRemain says whether all lines of a YAML file are in another, in their order.
func linesRemain(in, out []byte) bool {
	if c := bytes.TrimSpace(in)[0]; c == '{' || c == '[' {
		return true
	}
	lines := strings.Split(string(out), "\n")
	for line := range strings.SplitSeq(string(in), "\n") {
		i := 0
		for i < len(lines) && strings.TrimSuffix(lines[i], "\r") != strings.TrimSuffix(line, "\r") {
			i++
		}
		if i == len(lines) {
			return false
		}
		lines = lines[i+1:]
	}
	return true
}

// checkPrintedByKops stores the groups of a merged file as kops does and prints them again: merging into that must
// change nothing, and the parts must stand there as they do in ours.
func checkPrintedByKops(t testing.TB, out []byte, parts []kops.UserData) {
	t.Helper()
	for _, d := range documents(out) {
		ig, err := decode(d)
		if err != nil {
			continue
		}
		printed, err := kopscodecs.ToVersionedYaml(ig)
		if err != nil {
			t.Fatal(err)
		}
		if again := mustSet(t, printed, parts); !bytes.Equal(again, printed) {
			t.Fatalf("what kops printed changes (-kops +ours):\n%s", cmp.Diff(string(printed), string(again)))
		}
		for _, want := range printedParts(t, ig, parts) {
			if !bytes.Contains(printed, []byte(want)) {
				t.Fatalf("kops does not print this:\n%s\nbut:\n%s", want, printed)
			}
		}
		ig3, err := kopscodecs.ToVersionedYamlWithVersion(ig, v1alpha3.SchemeGroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		if again := mustSet(t, ig3, parts); !bytes.Equal(again, ig3) {
			t.Fatalf("what kops printed as v1alpha3 changes (-kops +ours):\n%s", cmp.Diff(string(ig3), string(again)))
		}
	}
}

// printedParts returns the lines that we write for the parts into a manifest that kops printed.
func printedParts(t testing.TB, ig *kops.InstanceGroup, parts []kops.UserData) []string {
	t.Helper()
	if len(parts) == 0 {
		return nil
	}
	ig = ig.DeepCopy()
	ig.Spec.AdditionalUserData = nil
	bare, err := kopscodecs.ToVersionedYaml(ig)
	if err != nil {
		t.Fatal(err)
	}
	out := string(mustSet(t, bare, parts))
	_, block, _ := strings.Cut(out, "  additionalUserData:\n")
	prefix := 0
	for prefix < len(bare) && bare[prefix] == out[prefix] {
		prefix++
	}
	return []string{block[:len(out)-len(bare)-len("  additionalUserData:\n")]}
}
