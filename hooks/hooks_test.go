package hooks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/generator"
)

const group = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec:\n  role: Node\n"

func specOf(hooks string) string {
	return "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  selector: {}\n  hooks: " + hooks + "\n"
}

func input(spec, manifest string) Input {
	return Input{Specs: []File{{"hooks.yaml", []byte(spec)}}, Manifests: []File{{"ig.yaml", []byte(manifest)}}}
}

// A field of the generator's hook is one of the public hook, and comes over.
func TestHookHasEveryFieldOfTheGenerator(t *testing.T) {
	in, out := reflect.TypeFor[generator.Hook](), reflect.TypeFor[Hook]()
	for i := range in.NumField() {
		if _, ok := out.FieldByName(in.Field(i).Name); !ok {
			t.Errorf("hooks.Hook has no field %s: add it there and in convertHook", in.Field(i).Name)
		}
	}
	everything := `[{name: a, weight: 3, run: once-per-image, source: x, verify: "true", env: {A: b}, timeout: 3m, attempts: 7, retryDelay: 5s,
    onFailure: continue, before: [containerd.service], rebootExitCodes: [100], compress: true,
    files: [{path: /etc/a, content: a}], dropIns: [{unit: a.service, content: "[Unit]"}]},
   {name: b, run: every-boot, cloudConfig: {apt: {preserve_sources_list: true}}}, {name: c, phase: post-nodeup, cleanup: on-success, script: "#!/bin/sh"}]`
	read := func(_ context.Context, s Source) ([]File, error) {
		return []File{{"x", []byte("#!/bin/sh\n: " + s.Spec + " " + s.Source)}}, nil
	}
	spec := strings.Replace(specOf(everything), "spec:\n", "spec:\n  archive: true\n  archiveURL: s3://hooks-example/prod\n", 1)
	o, r := Merge(t.Context(), input(spec, group), Options{Read: read})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, h := range o.Groups[0].Hooks {
		v := reflect.ValueOf(h)
		for i := range v.NumField() {
			set[out.Field(i).Name] = set[out.Field(i).Name] || !v.Field(i).IsZero()
		}
	}
	for i := range out.NumField() {
		if name := out.Field(i).Name; !set[name] {
			t.Errorf("%s is lost in convertHook", name)
		}
	}
	if got := string(o.Groups[0].Hooks[1].Scripts[0].Content); got != "#!/bin/sh\n: hooks.yaml x" {
		t.Errorf("the source is %q", got)
	}
	// 7 attempts of 3 minutes, delays of 5, 10, 20, 40, 80 and 120 seconds, all of it up to four times
	if got, want := o.Groups[0].NodeupWaits, 4*(7*3*time.Minute+275*time.Second)+3*20*time.Minute+30*time.Second; got != want {
		t.Errorf("nodeup waits %s, want %s", got, want)
	}
}

// What lies in a bucket comes with the parts that name it.
func TestArchivesOfBucketsComeOut(t *testing.T) {
	spec := strings.Replace(specOf(`[{name: a, script: "#!/bin/sh\n"}]`), "spec:\n", "spec:\n  archive: true\n  archiveURL: s3://hooks-example/prod\n", 1)
	o, r := Merge(t.Context(), input(spec, group), Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	g := o.Groups[0]
	sum := fmt.Sprintf("%x", sha256.Sum256(g.Archive.Content))
	if g.Archive.SHA256 != sum || g.Archive.URL != "s3://hooks-example/prod/"+sum {
		t.Errorf("the archive of %s is said to be %s at %s", sum, g.Archive.SHA256, g.Archive.URL)
	}
	named := false
	for _, p := range g.Parts {
		named = named || strings.Contains(p.Content, "s3://hooks-example/prod "+sum)
	}
	if !named {
		t.Error("no part names it")
	}
	o, _ = Merge(t.Context(), input(specOf(`[{name: a, script: "#!/bin/sh\n"}]`), group), Options{})
	if o.Groups[0].Archive != nil {
		t.Error("there is an archive without archiveURL")
	}
}

// A hook that is gone may be one of a spec that was not given, unless the caller knows better.
func TestHooksThatAreGone(t *testing.T) {
	two := specOf(`[{name: a, script: "#!/bin/sh\n"}, {name: b, script: "#!/bin/sh\n"}]`)
	o, r := Merge(t.Context(), input(two, group), Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	one, merged := specOf(`[{name: a, script: "#!/bin/sh\n"}]`), string(o.Manifests[0].Data)
	if _, r := Merge(t.Context(), input(one, merged), Options{Strict: true}); r.Err() == nil {
		t.Error("a hook that no spec has was removed")
	}
	o, r = Merge(t.Context(), input(one, merged), Options{Strict: true, Prune: true})
	if len(r) > 0 || len(o.Groups[0].Changes) == 0 || o.Groups[0].Changes[len(o.Groups[0].Changes)-1].Verb != "removes" {
		t.Errorf("%v %v", r, o.Groups[0].Changes)
	}
}

func TestMergeTwiceChangesNothing(t *testing.T) {
	spec := specOf(`[{name: a, script: "#!/bin/sh\n"}]`)
	once, r := Merge(t.Context(), input(spec, group), Options{})
	if err := r.Err(); err != nil || len(once.Groups[0].Changes) != 1 {
		t.Fatal(err, once.Groups)
	}
	merged := string(once.Manifests[0].Data)
	twice, r := Merge(t.Context(), input(spec, merged), Options{Strict: true})
	if diff := cmp.Diff(merged, string(twice.Manifests[0].Data)); diff != "" || len(r) > 0 || len(twice.Groups[0].Changes) > 0 {
		t.Error(diff, r, twice.Groups[0].Changes)
	}
	changed, r := Merge(t.Context(), input(specOf(`[{name: a, script: "#!/bin/sh\n", timeout: 3m}]`), merged), Options{})
	want := []Change{{Hook: "a", Verb: "changes", Fields: []FieldChange{{"timeout", "20m", "3m"}}}}
	if diff := cmp.Diff(want, changed.Groups[0].Changes); diff != "" || len(r) > 0 {
		t.Error(diff, r)
	}
	gone, r := Merge(t.Context(), Input{Manifests: []File{{"ig.yaml", []byte(merged)}}}, Options{Remove: true, Strict: true})
	if diff := cmp.Diff(group, string(gone.Manifests[0].Data)); diff != "" || len(r) > 0 {
		t.Error(diff, r)
	}
}

func TestMistakesAreReportedTogether(t *testing.T) {
	_, r := Merge(t.Context(), input(specOf(`[{name: a, script: "x", timeout: never}]`), "kind: InstanceGroup\n"), Options{})
	var err *ReportError
	if !errors.As(r.Err(), &err) || len(err.Findings) < 3 {
		t.Fatalf("%#v", r)
	}
	files := map[string]bool{}
	for _, f := range err.Findings {
		files[f.File] = f.Line > 0 && f.Message != ""
	}
	if !files["hooks.yaml"] || !files["ig.yaml"] {
		t.Errorf("%#v", err.Findings)
	}
	_, r = Merge(t.Context(), input(specOf(`[{name: a, source: x}]`), group), Options{})
	if r.Err() == nil || !strings.Contains(r.Err().Error(), "Options.Read") {
		t.Errorf("%v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, r = Merge(ctx, input(specOf(`[]`), group), Options{}); r.Err() == nil {
		t.Error("a ctx that has ended is no error")
	}
}
