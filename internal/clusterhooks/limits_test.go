package clusterhooks

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A duration may follow --admin; whatever begins with no digit is not its value.
func TestAdminTakesADurationOnly(t *testing.T) {
	for line, want := range map[string]string{
		"kops rolling-update cluster --admin 0s a.b": "0s", "kops rolling-update cluster --admin 9h a.b": "9h", "kops rolling-update cluster --admin=9h a.b": "9h",
		"kops rolling-update cluster --admin a.b": "true", "kops rolling-update cluster a.b --admin": "true",
	} {
		c := ParseCommand(strings.Fields(line))
		if got := c.ClusterName(); got != "a.b" || strings.Join(c.options["admin"], " ") != want {
			t.Errorf("%s: cluster %q, --admin is %q, want %q", line, got, c.options["admin"], want)
		}
	}
}

func TestNamesThatAreNearlyEvents(t *testing.T) {
	for _, a := range Aliases {
		_, remedy := eventsOf(a.Name + "x")
		if a.Instead == "" && !strings.HasPrefix(remedy, "did you mean ") {
			t.Errorf("%sx: %s", a.Name, remedy)
		}
	}
	if _, remedy := eventsOf("pre-nonsense"); strings.Contains(remedy, "before-nonsense") {
		t.Error(remedy)
	}
	if _, remedy := eventsOf("pre-" + strings.TrimPrefix(string(BeforeUpdate), "before-")); !strings.Contains(remedy, string(BeforeUpdate)) {
		t.Error(remedy)
	}
}

func TestHandlersExactlyAtTheLimits(t *testing.T) {
	handlers := func(n int, timeout int32) []handler {
		var list []handler
		for i := range n {
			h := handler{Name: fmt.Sprintf("h%d", i), TimeoutSeconds: &timeout}
			h.RequestHook.APIVersion, h.RequestHook.Hook = runtimeGroup+"/"+runtimeVersion, "BeforeClusterUpgrade"
			list = append(list, h)
		}
		return list
	}
	for _, c := range []struct {
		n       int
		timeout int32
		want    bool
	}{{maxHandlers, 10, true}, {maxHandlers + 1, 10, false}, {1, 0, true}, {1, 30, true}, {1, -1, false}, {1, 31, false}} {
		if err := checkHandlers(handlers(c.n, c.timeout)); (err == nil) != c.want {
			t.Errorf("%d handlers of %d s: %v", c.n, c.timeout, err)
		}
	}
}

func TestTailKeepsAllThatItHasRoomFor(t *testing.T) {
	var kept tail
	text := strings.Repeat("a\n", maxTail/2)
	kept.Write([]byte(text))
	if got := kept.String(); got != text {
		t.Errorf("of %d bytes %d are kept", len(text), len(got))
	}
	kept.Write([]byte("b\n"))
	if got := kept.String(); got != text[4:]+"b\n" {
		t.Errorf("of %d bytes %d are kept, the last are %q", len(text)+2, len(got), got[len(got)-4:])
	}
}

func TestSecondsAreWholeMilliseconds(t *testing.T) {
	got := seconds(time.Now().Add(-90 * time.Second))
	if got < 90 || got > 150 || math.Abs(got*1000-math.Round(got*1000)) > 1e-6 {
		t.Errorf("got %v", got)
	}
}

func TestStateStoreOfAConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte("a: s3://a\nkops_state_store: s3://store\nz: s3://z\nnumber: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 { // a map has no order
		if got := configuredStore(path, os.Getenv); got != "s3://store" {
			t.Fatalf("got %q", got)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		kops      int
		interrupt os.Signal
		failed    bool
		want      int
	}{
		"all is well":              {},
		"a hook failed":            {failed: true, want: ExitHookFailed},
		"kops failed":              {kops: 3, failed: true, want: 3},
		"an interrupt":             {interrupt: os.Interrupt, failed: true, want: 130},
		"an interrupt, kops' code": {kops: 3, interrupt: os.Interrupt, want: 3},
	} {
		r := &Result{}
		r.Kops.ExitCode = c.kops
		if c.failed {
			r.Steps = []StepResult{{Status: Failed}}
		}
		r.setExit(c.interrupt)
		if r.Exit != c.want || (r.Signal != 0) != (c.want == 130) {
			t.Errorf("%s: exit code %d, signal %v", name, r.Exit, r.Signal)
		}
	}
}

func TestObjectsOfAManifest(t *testing.T) {
	object := func(kind, name, cluster string, generation int64) kopsObject {
		o := kopsObject{Kind: kind}
		o.Metadata.Name, o.Metadata.Generation = name, generation
		o.Metadata.Labels = map[string]string{clusterLabel: cluster}
		return o
	}
	objects := []kopsObject{
		object("InstanceGroup", "nodes", "a.b", 0), object("Cluster", "a.b", "", 0), object("InstanceGroup", "a.b", "", 0),
		object("InstanceGroup", "c.d", "e.f", 0), object("Cluster", "g.h", "", 0),
	}
	if got := strings.Join(clustersOf(objects), " "); got != "a.b e.f g.h" {
		t.Errorf("clusters are %q", got)
	}
	for name, want := range map[string]bool{"a.b": true, "g.h": true, "c.d": false, "e.f": false, "nodes": false, "": false} {
		if got := isCluster(objects, name); got != want {
			t.Errorf("%q is a cluster: %v", name, got)
		}
	}
	for generations, want := range map[[2]int64]bool{{1, 2}: true, {2, 2}: false, {3, 2}: false, {0, 2}: false, {0, 0}: false} {
		o, stored := object("Cluster", "a.b", "", generations[0]), object("Cluster", "a.b", "", generations[1])
		if got := isOlder(&o, &stored); got != want {
			t.Errorf("generation %d is older than %d: %v", generations[0], generations[1], got)
		}
	}
}
