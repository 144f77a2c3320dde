package waits_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/waits"
	"kopshook.dev/kopshook/templates"
)

func hook(name string, phase generator.Phase, attempts int, timeout, delay time.Duration, reboots ...int) generator.Hook {
	return generator.Hook{Name: name, Phase: phase, Attempts: attempts, Timeout: timeout, RetryDelay: delay, RebootExitCodes: reboots,
		Continue: phase != generator.PreNodeup && phase != generator.PreKubelet,
		Scripts:  []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\n")}}}
}

// found returns the hooks that a node gets, and its user data.
func found(t *testing.T, hooks ...generator.Hook) ([]waits.Hook, string) {
	t.Helper()
	made, err := generator.Generate(generator.InstanceGroup{Name: "nodes", Role: "Node"}, templates.Newest(), hooks)
	if err != nil {
		t.Fatal(err)
	}
	var parts []cloudinit.Part
	text := ""
	for _, p := range made {
		parts = append(parts, cloudinit.Part(p))
		text += p.Content
	}
	return waits.Find(cloudinit.ReadParts(nil, "Node", parts, cloudinit.Options{}), nil), text
}

func TestWorstWaits(t *testing.T) {
	hooks, _ := found(t,
		hook("a", generator.PreNodeup, 3, time.Minute, 10*time.Second),
		hook("b", generator.PreNodeup, 1, 2*time.Minute, time.Hour),
		hook("c", generator.PreKubelet, 6, time.Second, 50*time.Second),
		hook("d", generator.PreKubelet, 1, time.Minute, time.Second, 100),
		hook("e", generator.PostNodeup, 1, time.Hour, time.Second))
	var got []string
	for _, h := range hooks {
		got = append(got, fmt.Sprintf("%s %s %s: %s", h.Phase, h.Name, h.Worst(), h.Why()))
	}
	want := []string{
		"pre-nodeup a 3m30s: 3 × 1m + 30s of delays",
		"pre-nodeup b 2m0s: ",                               // nothing to wait for before the first attempt
		"pre-kubelet c 8m36s: 6 × 1s + 8m30s of delays",     // 50, 100, 120, 120, 120 s
		"pre-kubelet d 4m0s: 1m, 4 times, as it may reboot", // once, and after each of 3 reboots
		"post-nodeup e 1h0m0s: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	kubelet, nodeup := waits.Kubelet(hooks), waits.Nodeup(hooks)
	if kubelet.Total != 18*time.Minute+6*time.Second || kubelet.Slowest.Name != "c" {
		t.Errorf("the kubelet waits %s, most for %s", kubelet.Total, kubelet.Slowest.Name)
	}
	if nodeup.Total != 5*time.Minute+30*time.Second || nodeup.Slowest.Name != "a" {
		t.Errorf("nodeup waits %s, most for %s", nodeup.Total, nodeup.Slowest.Name)
	}
	if none := waits.Kubelet(nil); none.Total != 0 || none.Slowest != nil {
		t.Errorf("without hooks %+v", none)
	}
}

// TestUnitsWaitLongerThanTheirHooks: systemd must not end a hook that is within its own limits.
func TestUnitsWaitLongerThanTheirHooks(t *testing.T) {
	for _, attempts := range []int{1, 2, 3, 10} {
		for _, delay := range []time.Duration{time.Second, 45 * time.Second, 2 * time.Minute} {
			hooks, text := found(t, hook("a", generator.PreNodeup, attempts, 5*time.Minute, delay))
			m := regexp.MustCompile(`TimeoutStartSec=(\d+)`).FindStringSubmatch(text)
			if m == nil || len(hooks) != 1 {
				t.Fatalf("no unit with a timeout, hooks %v", hooks)
			}
			seconds, _ := strconv.Atoi(m[1])
			if unit := time.Duration(seconds) * time.Second; unit <= hooks[0].Worst() {
				t.Errorf("%d attempts, delay %s: the unit ends after %s, the hook may take %s", attempts, delay, unit, hooks[0].Worst())
			}
		}
	}
}

// Of hooks in a bucket that nobody looked into it is not known how long they take.
func TestWaitsForWhatLiesInABucket(t *testing.T) {
	a, b := hook("a", generator.PreNodeup, 1, time.Hour, time.Second), hook("b", generator.PreKubelet, 1, time.Hour, time.Second)
	for _, h := range []*generator.Hook{&a, &b} {
		h.Archive, h.ArchiveURL = true, "s3://bucket/kopshook"
	}
	hooks, _ := found(t, a, b)
	kubelet, nodeup := waits.Kubelet(hooks), waits.Nodeup(hooks)
	if kubelet.Unknown != 2 || nodeup.Unknown != 1 || kubelet.Short() != "9m35s or more" ||
		!strings.HasSuffix(kubelet.String(), " for archive (6 × 1m10s + 2m35s of delays), and for 2 hooks in a bucket: give the specs to see how long") {
		t.Errorf("%d, %d, %q, %q", kubelet.Unknown, nodeup.Unknown, kubelet.Short(), kubelet)
	}
}

// TestFurtherUnitsThatWait: those of before:, wherever the hooks lie.
func TestFurtherUnitsThatWait(t *testing.T) {
	before := func(name string, phase generator.Phase, units ...string) generator.Hook {
		h := hook(name, phase, 1, time.Minute, time.Second)
		h.Before = units
		return h
	}
	hooks := []generator.Hook{before("a", generator.PreNodeup, "containerd.service"), before("b", generator.PreNodeup),
		before("c", generator.PreKubelet, "containerd.service", "crio.service")}
	want := []string{"a [containerd.service]", "b []", "c [containerd.service crio.service]"}
	for name, change := range map[string]func(*generator.Hook){
		"in parts":      func(*generator.Hook) {},
		"in an archive": func(h *generator.Hook) { h.Archive = true },
		"in a bucket":   func(h *generator.Hook) { h.Archive, h.ArchiveURL = true, "s3://bucket/kopshook" },
	} {
		t.Run(name, func(t *testing.T) {
			changed := slices.Clone(hooks)
			for i := range changed {
				change(&changed[i])
			}
			var got []string
			list, _ := found(t, changed...)
			for _, h := range list {
				if h.Name != "archive" {
					got = append(got, fmt.Sprint(h.Name, " ", h.Before))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
