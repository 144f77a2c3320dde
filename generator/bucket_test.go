package generator

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func inBucket(hooks []Hook) []Hook {
	out := archived(hooks)
	for i := range out {
		out[i].ArchiveURL = "s3://hooks-example/prod"
	}
	return out
}

func TestBucketGolden(t *testing.T) {
	var parts txtar.Archive
	for _, p := range mustGenerate(t, gpuGroup, inBucket(allKinds(t))...) {
		parts.Files = append(parts.Files, txtar.File{Name: p.Name + " " + p.Type, Data: []byte(p.Content)})
	}
	checkGolden(t, "bucket.parts", txtar.Format(&parts))
	if text := Plain(mustGenerate(t, gpuGroup, inBucket(allKinds(t))...)[1]); !strings.Contains(text, "\ndef aws(") || !strings.HasSuffix(text, "\n.\n") || !strings.Contains(text, "\nexec(source)' s3://hooks-example/prod ") {
		t.Error(text)
	}
}

// What the user data names is what Archive returns, and that holds the files of an archive in the user data.
func TestArchiveInABucketHoldsTheSameFiles(t *testing.T) {
	parts := mustGenerate(t, gpuGroup, inBucket(allKinds(t))...)
	o, err := Archive(gpuGroup, "v1", inBucket(allKinds(t)))
	if err != nil {
		t.Fatal(err)
	}
	url, sum, ok := InBucket(parts[1].Content)
	if !ok || url != o.URL || sum != o.SHA256 || o.Address() != "s3://hooks-example/prod/"+sum {
		t.Errorf("the part names %s and %s (%v), the object is %s", url, sum, ok, o.Address())
	}
	got, err := o.Files()
	if err != nil {
		t.Fatal(err)
	}
	want, ok := Archived(mustGenerate(t, gpuGroup, archived(allKinds(t))...)[1].Content)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Error(diff)
	}
	if none, err := Archive(gpuGroup, "v1", archived(allKinds(t))); none != nil || err != nil {
		t.Errorf("an archive in the user data: %v, %v", none, err)
	}
	if _, _, ok := InBucket(parts[0].Content); ok {
		t.Error("the gate is taken for an archive")
	}
}

func TestWrongObjectsAreRefused(t *testing.T) {
	sparse := make([]byte, 1536) // an old GNU header of a file of 8 GiB - 1, all of it a hole
	copy(sparse, "bomb")
	copy(sparse[100:], "0000644\x000000000\x000000000\x0000000000000\x0000000000000\x00        S")
	copy(sparse[257:], "ustar  \x00")
	copy(sparse[386:], "77777777777\x0000000000000\x00")
	copy(sparse[483:], "77777777777\x00")
	sum := 0
	for _, c := range sparse[:512] {
		sum += int(c)
	}
	copy(sparse[148:], fmt.Sprintf("%06o\x00 ", sum))
	if h, err := tar.NewReader(bytes.NewReader(sparse)).Next(); err != nil || h.Size != 1<<33-1 {
		t.Fatalf("the test's own file is wrong: %v, %v", h, err)
	}
	for name, content := range map[string][]byte{"not compressed": []byte("x"),
		"cut off": gzipped(tarred([]nodeFile{{"/x", 0o644, []byte("content")}})[:515]), "no tar file": gzipped([]byte("hello\n")),
		"empty": gzipped(tarred(nil)), "a hole": gzipped(sparse)} {
		if files, err := (&Object{Content: content}).Files(); err == nil {
			t.Errorf("%s: %v", name, files)
		}
	}
}

// The gate makes of the table what it makes of lines: the same drop-ins, and those of the archive.
func TestGateOfABucketOrdersHooksAsOthers(t *testing.T) {
	for _, c := range [][]Phase{{PreNodeup}, {PreNodeup, PreNodeup, PreNodeup}, {PreNodeup, PreKubelet, PreKubelet}, {PreKubelet}, {PostNodeup, PreShutdown}, {PreNodeup, PostKubelet, PreShutdown}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			var hooks []Hook
			for i, p := range c {
				h := newHook(fmt.Sprintf("hook-%d", i), p, "#!/bin/sh\n")
				if i == 0 && (p == PreNodeup || p == PreKubelet) {
					h.Before = []string{"containerd.service", `dev-a\x2db.device`}
				}
				hooks = append(hooks, h)
			}
			read := func(hooks []Hook) map[string]string {
				n := newNode(t)
				if out, status := n.gate(hooks...); status != 0 {
					t.Fatal(out)
				}
				return n.dropIns()
			}
			want, got := read(archived(hooks)), read(inBucket(hooks))
			for path := range got {
				if _, ok := want[path]; !ok && strings.Contains(path, "kopshook-000-archive.conf") {
					delete(got, path)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEverythingWaitsForTheArchive(t *testing.T) {
	for first, phase := range map[string]Phase{"kopshook-a.service": PreNodeup, "kubelet.service": PostNodeup} {
		n := newNode(t)
		if out, status := n.gate(inBucket([]Hook{newHook("a", phase, "#!/bin/sh\n"), newHook("b", phase, "#!/bin/sh\n")})...); status != 0 {
			t.Fatal(out)
		}
		for _, unit := range []string{"kops-configuration.service", "kubelet.service", first} {
			text := n.dropIns()["/etc/systemd/system/"+unit+".d/kopshook-000-archive.conf"]
			if !strings.Contains(text, "After=kopshook-archive.service") || !strings.Contains(text, "AssertPathExists=") {
				t.Errorf("%s: %q", unit, text)
			}
		}
	}
}

func TestTheGateTellsWhichHookInABucketChanged(t *testing.T) {
	a, b, c := newHook("a", PreNodeup, "#!/bin/sh\n"), newHook("b-b", PreNodeup, "#!/bin/sh\n"), newHook("c", PostNodeup, "#!/bin/sh\n")
	a.Before = []string{"containerd.service"}
	hashes := func(hooks ...Hook) map[string]string {
		found := map[string]string{}
		for _, h := range GateHooks(mustGenerate(t, gpuGroup, hooks...)[0].Content) {
			found[h.Name] = h.Hash
		}
		return found
	}
	before := hashes(inBucket([]Hook{a, b, c})...)
	b.Scripts = []Script{{"script", []byte("#!/bin/sh\nexit\n")}}
	after := hashes(inBucket([]Hook{a, b, c})...)
	var names []string
	for name, hash := range after {
		if before[name] != hash {
			names = append(names, name)
		}
	}
	if diff := cmp.Diff([]string{"b-b"}, names); diff != "" || len(after) != 3 {
		t.Errorf("%s, %v", diff, after)
	}
	if diff := cmp.Diff(map[string]string{"a": "", "b-b": "", "c": ""}, hashes(a, b, c)); diff != "" {
		t.Errorf("hooks that lie in user data: %s", diff)
	}
}

// A gate is read as it was written: by those who print it, and by those who say how long nodes wait.
func TestAGateIsReadAsItWasWritten(t *testing.T) {
	a, b := newHook("a", PreNodeup, "#!/bin/sh\n"), newHook("b-1", PreNodeup, "#!/bin/sh\n")
	k, c := newHook("k", PreKubelet, "#!/bin/sh\n"), newHook("c", PostKubelet, "#!/bin/sh\n")
	a.Before, a.Weight, k.Before = []string{"containerd.service"}, -20, []string{"example.service"}
	want := []GateHook{
		{Number: "480", Name: "a", Phase: PreNodeup, Before: []string{"containerd.service"}},
		{Number: "500", Name: "b-1", Phase: PreNodeup},
		{Number: "500", Name: "k", Phase: PreKubelet, Before: []string{"example.service"}},
		{Number: "500", Name: "c"}, // or post-nodeup
		{Number: "500", Name: "s", Phase: PreShutdown},
	}
	hooks := []Hook{a, b, k, c, newHook("s", PreShutdown, "#!/bin/sh\n")}
	if diff := cmp.Diff(want, GateHooks(mustGenerate(t, gpuGroup, hooks...)[0].Content)); diff != "" {
		t.Errorf("in user data: %s", diff)
	}
	found := GateHooks(mustGenerate(t, gpuGroup, inBucket(hooks)...)[0].Content)
	for i := range found {
		if len(found[i].Hash) != 8 {
			t.Errorf("%s in a bucket has hash %q", found[i].Name, found[i].Hash)
		}
		found[i].Hash = ""
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("in a bucket: %s", diff)
	}
}

// Where hooks of both phases are that nothing waits for, the gate tells them by what waits for what.
func TestAGateTellsPostNodeupFromPostKubelet(t *testing.T) {
	for _, phases := range [][]Phase{{PostNodeup, PostKubelet}, {PostNodeup, PostNodeup, PostKubelet, PostKubelet, PreShutdown}, {PreKubelet, PostNodeup, PostKubelet, PostKubelet}} {
		var hooks []Hook
		for i, p := range phases {
			hooks = append(hooks, newHook(fmt.Sprint("h", i), p, "#!/bin/sh\n"))
		}
		for place, hooks := range map[string][]Hook{"user data": hooks, "bucket": inBucket(hooks)} {
			var got []Phase
			for _, h := range GateHooks(mustGenerate(t, gpuGroup, hooks...)[0].Content) {
				if h.Name != "archive" {
					got = append(got, h.Phase)
				}
			}
			if diff := cmp.Diff(phases, got); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", place, diff)
			}
		}
	}
}

func TestAnEditedGateIsReadAsFarAsItGoes(t *testing.T) {
	for gate, want := range map[string]int{
		"": 0, "\n\n": 0, "5\n": 0, "5 deadbeef 400-x\n": 0, "400-x\n": 0, "400-x deadbeef\n": 1, "400-x deadbee\n": 0, "hook\n": 0, "hook \n": 0,
		"hook Wants= 400-x": 1, "hook Wants= 400-x # ": 1, "hook Wants= 400--x": 0, "hook Wants= 40-x": 0, "nodeup 400-x": 1, "nodeup 400-": 0, " nodeup 400-x": 0,
	} {
		if got := GateHooks(gate); len(got) != want {
			t.Errorf("%q: %v", gate, got)
		}
	}
}

func TestHooksInABucketTakeALineEach(t *testing.T) {
	size := func(n int) (total int) {
		var hooks []Hook
		for i := range n {
			hooks = append(hooks, newHook(fmt.Sprintf("hook%02d", i), PreNodeup, "#!/bin/sh\n"+strings.Repeat("# long\n", 500)))
		}
		for _, p := range mustGenerate(t, gpuGroup, inBucket(hooks)...) {
			total += len(p.Content)
		}
		return total
	}
	if one, many := size(1), size(41); many-one > 40*25 || one > 5200 {
		t.Errorf("one takes %d bytes, 41 take %d", one, many)
	}
}

func TestAnArchiveThatIsTooLargeIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("it compresses 70 MB")
	}
	h := newHook("a", PreNodeup, "#!/bin/sh\n")
	noise := make([]byte, 65<<20)
	state := uint64(1)
	for i := range noise {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		noise[i] = byte(state)
	}
	h.Files = []File{{Path: "/a", Mode: 0o644, Owner: "root:root", Content: noise}}
	if _, err := Generate(gpuGroup, "v1", inBucket([]Hook{h})); err == nil || !strings.Contains(err.Error(), "url: with sha256") {
		t.Error(err)
	}
}
