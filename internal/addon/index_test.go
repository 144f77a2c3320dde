package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// What others wrote into the index stays, in its place, also what this package does not know.
func TestIndexKeepsEntriesOfOthers(t *testing.T) {
	const before = `kind: Addons
metadata: {name: kopshook, labels: {team: infra}}
spec:
  addons:
  - {name: theirs, manifest: a.yaml, version: 1.2.3, needsPKI: true}
  - {name: kopshook, manifest: kopshook-old.yaml, manifestHash: old}
  - {name: also-theirs, manifest: b.yaml}
`
	a := build(t, Input{}, spec("s", "{}", one("a")))
	files, err := a.Files([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	read := func(data []byte) (doc struct {
		Metadata map[string]any
		Spec     struct{ Addons []map[string]any }
	}) {
		t.Helper()
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	want, got := read([]byte(before)), read(files[1].Content)
	if got.Spec.Addons[1]["manifest"] != files[0].Name {
		t.Errorf("the entry of the addon is %v", got.Spec.Addons[1])
	}
	want.Spec.Addons[1], got.Spec.Addons[1] = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what others have (-want +got)\n%s", diff)
	}
	again, err := a.Files(files[1].Content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, again); diff != "" {
		t.Errorf("written twice, it is not the same\n%s", diff)
	}
	index, err := ReadIndex(files[1].Content)
	if diff := cmp.Diff(Index{"kopshook", files[0].Name}, index); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestAnIndexIsOneDocument(t *testing.T) {
	const one = "kind: Addons\nmetadata: {name: a}\n"
	for index, want := range map[string]string{
		one:                            "",
		"---\n# ours\n---\n" + one:     "its kind is \"\", not Addons",
		"# ours\n---\n" + one:          "",
		"---\n" + one + "---\n# end\n": "",
		one + "---\n" + one:            "it has more than one document",
		one + "---\n[x\n":              "it has more than one document",
	} {
		got := ""
		if _, err := ReadIndex([]byte(index)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, not %q", index, got, want)
		}
	}
}

func TestRolloutOptions(t *testing.T) {
	s := spec("s", "{roles: [Node]}", one("a"))
	set := func(o Options) appsv1.DaemonSetSpec {
		return objects[*appsv1.DaemonSet](build(t, Input{Options: o}, s))[0].Spec
	}
	if got := set(Options{MinReady: 90e9}); got.MinReadySeconds != 90 {
		t.Errorf("minReadySeconds %d", got.MinReadySeconds)
	}
	if got := set(Options{OnDelete: true}).UpdateStrategy; got.Type != appsv1.OnDeleteDaemonSetStrategyType || got.RollingUpdate != nil {
		t.Errorf("%+v", got)
	}
	files, err := build(t, Input{Options: Options{RollNodes: "workers"}}, s).Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Spec struct {
			Addons []struct{ NeedsRollingUpdate string }
		}
	}
	if err := yaml.Unmarshal(files[1].Content, &doc); err != nil || doc.Spec.Addons[0].NeedsRollingUpdate != "workers" {
		t.Errorf("%v %+v", err, doc)
	}
	if got := set(Options{MaxUnavailable: "999999999"}).UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue(); got != 999999999 {
		t.Errorf("maxUnavailable %d", got)
	}
	for _, tooLarge := range []string{"3000000000", "99999999999999999999"} { // for an int32, for an int
		_, r := try(t, Input{Options: Options{MaxUnavailable: tooLarge}}, s)
		if diff := cmp.Diff([]string{`: error: max-unavailable is "` + tooLarge + `" [write a number such as 1, or a percentage such as 10%]`}, findings(r)); diff != "" {
			t.Error(diff)
		}
	}
	_, r := try(t, Input{Options: Options{MinReady: -1, RollNodes: "masters"}}, s)
	if diff := cmp.Diff([]string{`: error: min-ready is -1ns [write a duration such as 5m, up to 24h]`,
		`: error: needs-rolling-update is "masters" [choose control-plane, workers or all]`}, findings(r)); diff != "" {
		t.Error(diff)
	}
}

// The status of hooks of user data needs no daemon hook.
func TestStatusAlone(t *testing.T) {
	a := build(t, Input{Options: Options{Status: true}}, spec("s", "{}", `  - {name: a, script: "#!/bin/sh\n"}`))
	if sets := objects[*appsv1.DaemonSet](a); len(sets) != 1 || sets[0].Name != "kopshook-status" {
		t.Errorf("%v", sets)
	}
}
