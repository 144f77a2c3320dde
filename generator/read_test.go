package generator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// changed returns what Diff says of a hook before and after.
func changed(t *testing.T, before, after Hook) []string {
	t.Helper()
	was, is := Read(mustGenerate(t, gpuGroup, before)), Read(mustGenerate(t, gpuGroup, after))
	if len(was) != 1 || len(is) != 1 {
		t.Fatalf("of one hook %d and %d are read", len(was), len(is))
	}
	var said []string
	for _, c := range was[0].Diff(&is[0]) {
		said = append(said, c.String())
	}
	return said
}

func TestDiffNamesTheFieldsThatDiffer(t *testing.T) {
	long := strings.Repeat("x", 40)
	for name, c := range map[string]struct {
		phase  Phase // pre-nodeup when empty
		change func(h *Hook)
		want   []string
	}{
		"nothing":                         {change: func(*Hook) {}},
		"phase":                           {change: func(h *Hook) { h.Phase = PreKubelet }, want: []string{"phase pre-nodeup -> pre-kubelet"}},
		"weight":                          {change: func(h *Hook) { h.Weight = -20 }, want: []string{"weight 0 -> -20"}},
		"run":                             {change: func(h *Hook) { h.EveryBoot = true }, want: []string{"run once-per-instance -> every-boot"}},
		"script":                          {change: func(h *Hook) { h.Scripts[0].Content = []byte("#!/bin/sh\nexit\n") }, want: []string{"script"}},
		"verify":                          {change: func(h *Hook) { h.Verify = []byte("true") }, want: []string{"verify none -> true"}},
		"env":                             {change: func(h *Hook) { h.Env = map[string]string{"A": "1"} }, want: []string{"env none -> A=1"}},
		"a text of 40 bytes is shown":     {change: func(h *Hook) { h.Verify = []byte(long) }, want: []string{"verify none -> " + long}},
		"a text of 41 bytes is not shown": {change: func(h *Hook) { h.Verify = []byte(long + "x") }, want: []string{"verify"}},
		"timeout":                         {change: func(h *Hook) { h.Timeout = time.Minute }, want: []string{"timeout 20m -> 1m"}},
		"attempts":                        {change: func(h *Hook) { h.Attempts = 4 }, want: []string{"attempts 3 -> 4"}},
		"retryDelay":                      {change: func(h *Hook) { h.RetryDelay = time.Minute }, want: []string{"retryDelay 10s -> 1m"}},
		"onFailure":                       {change: func(h *Hook) { h.Continue = true }, want: []string{"onFailure block -> continue"}},
		"before":                          {change: func(h *Hook) { h.Before = []string{"a.service", "b.service"} }, want: []string{"before none -> a.service, b.service"}},
		"rebootExitCodes":                 {change: func(h *Hook) { h.RebootExitCodes = []int{100} }, want: []string{"rebootExitCodes none -> 100"}},
		"compress":                        {change: func(h *Hook) { h.Compress = true }, want: []string{"compress false -> true"}},
		"archive":                         {change: func(h *Hook) { h.Archive = true }, want: []string{"archive false -> true"}},
		"cleanup":                         {change: func(h *Hook) { h.CleanUp = true }, want: []string{"cleanup never -> on-success"}},
		"several":                         {change: func(h *Hook) { h.Weight, h.Continue = 1, true }, want: []string{"weight 0 -> 1", "onFailure block -> continue"}},
		"files":                           {change: func(h *Hook) { h.Files = []File{{Path: "/a", Owner: "root:root", Content: []byte("a")}} }, want: []string{"files"}},
		"dropIns":                         {change: func(h *Hook) { h.DropIns = []DropIn{{"a.service", "[Unit]\n"}} }, want: []string{"dropIns"}},
		"cloudConfig":                     {change: func(h *Hook) { h.CloudConfig = yamlNode(t, "{a: 1, b: 2}") }, want: []string{"cloudConfig"}},
		"phase of a hook at boot":         {phase: Boot, change: func(h *Hook) { h.Phase = PreShutdown }, want: []string{"phase boot -> pre-shutdown", "run none -> every-boot", "timeout none -> 20m", "attempts none -> 3", "retryDelay none -> 10s", "onFailure none -> block", "cleanup none -> never"}},
		"script of a hook at boot":        {phase: Boot, change: func(h *Hook) { h.Scripts[0].Content = []byte("#!/bin/sh\nexit\n") }, want: []string{"script"}},
		"env of a hook at shutdown":       {phase: PreShutdown, change: func(h *Hook) { h.Env = map[string]string{"A": "1"} }, want: []string{"env none -> A=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.phase == "" {
				c.phase = PreNodeup
			}
			before := newHook("x", c.phase, "#!/bin/sh\n"+strings.Repeat("true # again\n", 20))
			after := before
			after.Scripts = slices.Clone(before.Scripts)
			c.change(&after)
			if diff := cmp.Diff(c.want, changed(t, before, after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The name of a script says when it runs, where there are several.
func TestDiffSeesThatAScriptOfAFolderHasAnotherName(t *testing.T) {
	before, after := newHook("x", PreNodeup, ""), newHook("x", PreNodeup, "")
	before.Scripts = []Script{{"10-a", []byte("#!/bin/sh\n")}, {"20-b", []byte("#!/bin/sh\ntrue\n")}}
	after.Scripts = []Script{{"10-a", []byte("#!/bin/sh\n")}, {"20-c", []byte("#!/bin/sh\ntrue\n")}}
	if diff := cmp.Diff([]string{"script"}, changed(t, before, after)); diff != "" {
		t.Error(diff)
	}
}

// Hooks are read in the order in which they run, wherever they lie; in archives they are in that of their names.
func TestHooksAreReadInTheirOrder(t *testing.T) {
	late, early, config := newHook("a-late", PreNodeup, "#!/bin/sh\n"), newHook("z-early", PreNodeup, "#!/bin/sh\n"), newHook("b-config", PreNodeup, "#!/bin/sh\n")
	late.Weight, early.Weight, config.CloudConfig = 400, -400, yamlNode(t, "timezone: UTC\n")
	boot := newHook("c-boot", Boot, "#!/bin/sh\n")
	boot.Weight = 7
	hooks := []Hook{late, config, early, boot, newHook("a-after", PostKubelet, "#!/bin/sh\n")}
	for place, hooks := range map[string][]Hook{"user data": hooks, "archive": archived(hooks), "bucket": inBucket(hooks)} {
		var got []string
		for _, w := range Read(mustGenerate(t, gpuGroup, hooks...)) {
			got = append(got, fmt.Sprint(w.Name, " ", w.Phase()))
		}
		want := []string{"c-boot boot", "z-early pre-nodeup", "b-config pre-nodeup", "a-late pre-nodeup", "a-after post-kubelet"}
		if place == "bucket" {
			want[4] = "a-after " // the gate does not tell
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", place, diff)
		}
	}
}

// Of what lies in a bucket only its place, its weight and its hash are known.
func TestDiffOfHooksInABucket(t *testing.T) {
	here := newHook("x", PreNodeup, "#!/bin/sh\n")
	there := inBucket([]Hook{here})[0]
	change := func(h Hook, weight, attempts int) Hook {
		h.Weight, h.Attempts = weight, attempts
		return h
	}
	for name, c := range map[string]struct {
		before, after Hook
		want          []string
	}{
		"nothing":                   {there, there, nil},
		"put there":                 {here, there, []string{"archiveURL in user data -> in a bucket"}},
		"taken back":                {there, here, []string{"archiveURL in a bucket -> in user data"}},
		"contents":                  {there, change(there, 0, 4), []string{"contents in the bucket"}},
		"weight":                    {there, change(there, 7, 3), []string{"weight 0 -> 7"}},
		"weight and contents":       {there, change(there, 7, 4), []string{"contents in the bucket", "weight 0 -> 7"}},
		"put there, weight as well": {here, change(there, 499, 3), []string{"archiveURL in user data -> in a bucket", "weight 0 -> 499"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, changed(t, c.before, c.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesOfABucketAreComparedWhenItIsOpen(t *testing.T) {
	read := func(hooks []Hook, open bool) []Written {
		t.Helper()
		found := Read(mustGenerate(t, gpuGroup, hooks...))
		o, err := Archive(gpuGroup, "v1", hooks)
		if err != nil {
			t.Fatal(err)
		}
		if open {
			files, err := o.Files()
			if err != nil {
				t.Fatal(err)
			}
			Open(found, files)
		}
		return found
	}
	before := inBucket([]Hook{newHook("a", PreNodeup, "#!/bin/sh\n"), newHook("b", PreNodeup, "#!/bin/sh\n")})
	here := Read(mustGenerate(t, gpuGroup, newHook("b", PreNodeup, "#!/bin/sh\n")))
	after := slices.Clone(before)
	after[1].Scripts, after[1].Attempts = []Script{{"script", []byte("#!/bin/sh\nexit\n")}}, 4
	for _, open := range []bool{false, true} {
		was, is := read(before, open), read(after, open)
		var files, fields []string
		for i := range was {
			if was[i].InBucket() == open {
				t.Errorf("open is %v, and of hook %s it is said that it is %v", open, was[i].Name, !was[i].InBucket())
			}
			for _, c := range FileChanges(&was[i], &is[i]) {
				files = append(files, c.Path)
			}
			for _, c := range was[i].Diff(&is[i]) {
				fields = append(fields, c.String())
			}
		}
		wantFiles, wantFields := []string(nil), []string{"contents in the bucket"}
		if open {
			wantFiles, wantFields = []string{"/opt/kopshook/hooks/b/script"}, []string{"script", "attempts 3 -> 4"}
		}
		if diff := cmp.Diff([][]string{wantFiles, wantFields}, [][]string{files, fields}); diff != "" {
			t.Errorf("open is %v: %s", open, diff)
		}
		for _, one := range [][2]*Written{{nil, &is[1]}, {&was[1], nil}, {&here[0], &is[1]}} {
			if changes := FileChanges(one[0], one[1]); len(changes) > 0 != open {
				t.Errorf("open is %v: a hook that comes or goes changes %v", open, changes)
			}
		}
	}
}

// An address, an owner or a mode is a change as much as bytes are.
func TestFileChangesSeeAllOfAFile(t *testing.T) {
	file := File{Path: "/etc/a", Mode: 0o644, Owner: "root:root", Content: []byte("a\n")}
	for name, change := range map[string]func(f *File){
		"content": func(f *File) { f.Content = []byte("b\n") },
		"mode":    func(f *File) { f.Mode = 0o600 },
		"owner":   func(f *File) { f.Owner = "root:adm" },
		"url": func(f *File) {
			f.Content, f.URLs, f.SHA256 = nil, []string{"https://example.com/a"}, strings.Repeat("0a", 32)
		},
		"secret": func(f *File) { f.Content, f.Secret = nil, "aws-ssm:/a" },
		"path":   func(f *File) { f.Path = "/etc/b" },
	} {
		t.Run(name, func(t *testing.T) {
			before := newHook("x", PreNodeup, "#!/bin/sh\n")
			after := before
			before.Files, after.Files = []File{file}, []File{file}
			change(&after.Files[0])
			var got []string
			for _, c := range FileChanges(&Read(mustGenerate(t, gpuGroup, before))[0], &Read(mustGenerate(t, gpuGroup, after))[0]) {
				switch {
				case c.Old == nil:
					got = append(got, "+"+c.Path)
				case c.New == nil:
					got = append(got, "-"+c.Path)
				default:
					got = append(got, c.Path)
				}
			}
			want := []string{"/etc/a"}
			if name == "path" {
				want = []string{"+/etc/b", "-/etc/a"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWeightsOfArchivedHooksAreThoseOfTheGate(t *testing.T) {
	a, b := newHook("a", PreNodeup, "#!/bin/sh\n"), newHook("b", PreKubelet, "#!/bin/sh\n")
	a.Weight, b.Weight = -20, 30
	got := map[string]string{}
	for _, w := range Read(mustGenerate(t, gpuGroup, archived([]Hook{b, a})...)) {
		got[w.Name] = w.Field("weight")
	}
	if diff := cmp.Diff(map[string]string{"a": "-20", "b": "30"}, got); diff != "" {
		t.Error(diff)
	}
}

// A part of the user's own is no hook, whatever its name is like.
func TestPartsOfHooksAreToldByTheirNames(t *testing.T) {
	for part, want := range map[string]string{
		"kopshook-500-x.yaml": "x", "kopshook-499-a-b.yaml": "a-b",
		"my-part.yaml": "", "500-x.yaml": "", "kopshook-500-x": "", "kopshook-000-gate.sh": "", "kopshook-500.yaml": "", "": "",
	} {
		if _, got, ok := HookOfPart(part); got != want || ok != (want != "") {
			t.Errorf("%q is taken for hook %q, %v", part, got, ok)
		}
	}
}

func TestNamesOfPartsAreThoseThatGenerateGives(t *testing.T) {
	for part, want := range map[string]bool{
		"kopshook-000-gate.sh": true, "kopshook-001-runtime.sh": true, "kopshook-003-cloud.sh": true, "kopshook-005-archive.sh": true, "kopshook-500-x.yaml": true,
		"kopshook-agent.sh": false, "kopshook-50-x.yaml": false, "kopshook--50-x.yaml": false, "kopshook-abc-x.yaml": false, "kopshook-000-agent.sh": false, "kopshook-": false,
		"kopshook-100-x.yaml": true, "kopshook-999-a-1.yaml": true, "kopshook-000-gate.yaml": false, "kopshook-999-.yaml": false, "kopshook-+50-x.yaml": false,
		"kopshook-500-A_b.yaml": false, "kopshook-500-x-.yaml": false, "kopshook-500-x.yaml.yaml": false, "kopshook-500-x.yaml\n": false,
	} {
		if got := IsPart(part); got != want {
			t.Errorf("%q: %v, want %v", part, got, want)
		}
	}
}

func TestUnitsAreReadAsTheyWereWritten(t *testing.T) {
	program := newHook("program", PreNodeup, "\x7fELF\xff")
	reboots := newHook("reboots", PreKubelet, "#!/bin/sh\n")
	reboots.RebootExitCodes, reboots.OncePerImage, reboots.Continue = []int{99, 100}, true, true
	run := func(h Hook) string {
		switch {
		case h.EveryBoot:
			return "every-boot"
		case h.OncePerImage:
			return "once-per-image"
		}
		return "once-per-instance"
	}
	for _, h := range append(allKinds(t), program, reboots) {
		if h.Phase == Boot {
			continue
		}
		made := &hook{Hook: h, runtime: runtimeV1(t)}
		want := Started{Name: h.Name, Phase: h.Phase, Hash: "0123456789ab", Run: run(h), OnFailure: "block", Attempts: h.Attempts, RetryDelay: h.RetryDelay, Timeout: h.AttemptTimeout()}
		if h.Continue {
			want.OnFailure = "continue"
		}
		for _, code := range h.RebootExitCodes {
			want.RebootExitCodes = append(want.RebootExitCodes, strconv.Itoa(code))
		}
		got, ok := StartOf(made.unit("0123456789ab"))
		got.command = nil
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Started{})); !ok || diff != "" {
			t.Errorf("%s: %v %s", h.Name, ok, diff)
		}
	}
	if s, ok := StartOf("[Service]\nExecStart=/bin/true\nExecStartPre=/bin/sh /opt/kopshook/bin/run x pre-nodeup h once block 3 10 1200 : /bin/true\n"); ok {
		t.Errorf("a unit of nobody's starts %v", s)
	}
}
