package hooks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzMerge feeds anything. It may be refused, with messages; what comes out must stay as it is when it is merged again.
func FuzzMerge(f *testing.F) {
	f.Add(specOf(`[{name: a, script: "#!/bin/sh\n"}]`), group, "*")
	f.Add(specOf(`[{name: a, phase: boot, script: "#!/bin/sh\n"}, {name: b, source: x, files: [{path: /a, contentBase64: "YQ=="}]}]`), group+"---\n"+group, "n*")
	f.Add(specOf(`[{name: a, cloudConfig: {apt: &x {a: 1}, y: *x}}]`), `[{"kind":"InstanceGroup"}]`, "[")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, spec, manifest, glob string) {
		o := Options{Groups: []string{glob}, Read: func(context.Context, Source) ([]File, error) {
			return []File{{"x", []byte("#!/bin/sh\n")}}, nil
		}}
		out, r := Merge(t.Context(), input(spec, manifest), o)
		for _, f := range r {
			if f.Message == "" {
				t.Errorf("a finding without a message: %#v", f)
			}
		}
		if r.Err() != nil {
			return
		}
		again, r := Merge(t.Context(), input(spec, string(out.Manifests[0].Data)), o)
		if err := r.Err(); err != nil {
			t.Fatalf("merged once, refused the second time: %v", err)
		}
		if diff := cmp.Diff(string(out.Manifests[0].Data), string(again.Manifests[0].Data)); diff != "" {
			t.Error(diff)
		}
	})
}

// choices are what a fuzzer decides.
type choices []byte

// of returns one of n.
func (c *choices) of(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

// hookOf makes a hook of a spec, and says what Merge is to return for it.
func hookOf(c *choices, name string) (string, Hook) {
	want := Hook{Name: name, Spec: "a", Weight: c.of(5) - 2, Attempts: 1 + c.of(3), RetryDelay: time.Duration(1+c.of(9)) * time.Second,
		Timeout: time.Duration(1+c.of(200)) * time.Second}
	want.Phase = []string{"pre-nodeup", "pre-kubelet", "post-nodeup", "post-kubelet", "pre-shutdown"}[c.of(5)]
	text := fmt.Sprintf("{name: %s, phase: %s, weight: %d, timeout: %s", name, want.Phase, want.Weight, want.Timeout)
	if want.Phase == "pre-shutdown" { // the machine goes down
		want.Attempts, want.RetryDelay = 1, 10*time.Second
	} else {
		text += fmt.Sprintf(", attempts: %d, retryDelay: %s", want.Attempts, want.RetryDelay)
	}
	holds := want.Phase == "pre-nodeup" || want.Phase == "pre-kubelet"
	if script := []string{"#!/bin/sh\n:\n", "#!/bin/sh\nset -eu\ntrue\n", "#!/bin/sh\necho \u00e9 '%s' \"$HOME\"\n"}[c.of(3)]; c.of(4) != 1 {
		want.Scripts = []Script{{"script", []byte(script)}}
		text += fmt.Sprintf(", script: %q", script)
	}
	if c.of(3) == 1 && want.Phase != "pre-shutdown" {
		want.Verify = []byte("test -e /run")
		text += ", verify: test -e /run"
	}
	if c.of(3) == 1 {
		want.Env = map[string]string{"A": "b c", "URL": "https://example.com/?a=%20"}
		text += `, env: {A: "b c", URL: "https://example.com/?a=%20"}`
	}
	if want.EveryBoot = want.Phase == "pre-shutdown"; !want.EveryBoot && c.of(3) == 1 {
		want.EveryBoot = true
		text += ", run: every-boot"
	}
	if want.Continue = !holds; holds && c.of(3) == 1 {
		want.Continue = true
		text += ", onFailure: continue"
	}
	if holds && c.of(3) == 1 {
		want.Before = []string{"containerd.service"}
		text += ", before: [containerd.service]"
	}
	if c.of(3) == 1 {
		want.Compress = true
		text += ", compress: true"
	}
	if want.Scripts == nil || c.of(3) == 1 {
		want.Files = []NodeFile{{Path: "/etc/" + name, Mode: 0o640, Owner: "root:root", Content: []byte("x\n")}}
		text += ", files: [{path: /etc/" + name + `, mode: "0640", content: "x\n"}]`
	}
	if c.of(4) == 1 {
		want.DropIns = []DropIn{{"containerd.service", "[Service]\nEnvironment=A=b\n"}}
		text += `, dropIns: [{unit: containerd.service, content: "[Service]\nEnvironment=A=b\n"}]`
	}
	return text + "}", want
}

// What a spec says of a hook arrives in the parts, whatever else it says: changes name the field that changed and no other,
// merging twice is merging once, and removing gives back the bytes that there were.
func FuzzFields(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(strings.Repeat("\x01", 60)))
	for i := range 8 {
		f.Add([]byte(strings.Repeat(string(rune('a'+i))+"\x01\x02\x03"[:1+i%3], 40)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		var texts []string
		want := map[string]Hook{}
		for i := range 1 + c.of(4) {
			name := fmt.Sprintf("hook-%d", i)
			text, hook := hookOf(&c, name)
			texts, want[name] = append(texts, text), hook
		}
		merge := func(manifest string, o Options) Output {
			t.Helper()
			out, r := Merge(t.Context(), input(specOf("["+strings.Join(texts, ",\n    ")+"]"), manifest), o)
			if err := r.Err(); err != nil {
				t.Fatalf("%v, of %s", err, texts)
			}
			return out
		}
		out := merge(group, Options{})
		merged := string(out.Manifests[0].Data)
		for _, h := range out.Groups[0].Hooks {
			w := want[h.Name]
			w.CleanUp = h.CleanUp // its default follows from other fields
			if diff := cmp.Diff(w, h); diff != "" {
				t.Errorf("%s of %s: %s", h.Name, texts, diff)
			}
		}
		for _, change := range out.Groups[0].Changes {
			if change.Verb != "adds" {
				t.Errorf("%v", change)
			}
		}
		if n := len(out.Groups[0].Changes); n != len(want) {
			t.Errorf("%d changes, %d hooks", n, len(want))
		}
		if again := merge(merged, Options{}); len(again.Groups[0].Changes) > 0 || string(again.Manifests[0].Data) != merged {
			t.Errorf("merged twice: %v", again.Groups[0].Changes)
		}
		if removed := merge(merged, Options{Remove: true}); string(removed.Manifests[0].Data) != group {
			t.Errorf("removed: %s", cmp.Diff(group, string(removed.Manifests[0].Data)))
		}
		texts[0] = strings.Replace(texts[0], ", timeout: ", ", timeout: 1h", 1)
		longer := merge(merged, Options{}).Groups[0].Changes
		if len(longer) != 1 || longer[0].Hook != "hook-0" || len(longer[0].Fields) != 1 || longer[0].Fields[0].Field != "timeout" {
			t.Errorf("another timeout of %s: %v", texts[0], longer)
		}
	})
}
