//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

// BenchmarkBoot measures, in boots, the time from the end of nodeup.sh to the kubelet's start, and prints ratios of
// medians: make bench-boot. Variants take turns, so that what else the machine does meets all of them.
func BenchmarkBoot(b *testing.B) {
	for _, suite := range boot.Suites {
		if suite.EndOfRange {
			continue
		}
		b.Run(suite.Name, func(b *testing.B) {
			if missing := suite.Missing(); missing != "" {
				b.Skip(missing)
			}
			b.Run("overhead", func(b *testing.B) { overhead(b, suite.Name) })
			b.Run("beside", func(b *testing.B) { beside(b, suite.Name) })
			b.Run("bake", func(b *testing.B) { bakedOrNot(b, suite.Name) })
		})
	}
}

// overhead is what hooks cost that do nothing.
func overhead(b *testing.B, suite string) {
	t := measure(b, suite, 7, []variant{
		{name: "without hooks", userData: userData(b)},
		{name: "ten hooks", userData: userData(b, parts(b, spec("ten", tenHooks()))...)},
		{name: "ten bare units", userData: userData(b, tenUnits()...)},
	})
	b.ReportMetric(t[1]/t[2], "hooks/units")
	b.ReportMetric(t[1]/t[0], "hooks/none")
	b.ReportMetric(t[2]/t[0], "units/none")
	b.ReportMetric(0, "ns/op")
}

// beside is what a hook costs that takes as long as nodeup.
func beside(b *testing.B, suite string) {
	slow := boot.Nodeup{Seconds: "3"}
	t := measure(b, suite, 3, []variant{
		{name: "nodeup of 3 s", userData: userData(b), nodeup: slow},
		{name: "and a pre-kubelet hook of 3 s", userData: userData(b, parts(b, spec("beside", sleepHook("pre-kubelet")))...), nodeup: slow},
		{name: "and a pre-nodeup hook of 3 s", userData: userData(b, parts(b, spec("first", sleepHook("pre-nodeup")))...), nodeup: slow},
	})
	b.ReportMetric(t[1]/t[0], "pre-kubelet/nodeup")
	b.ReportMetric(t[2]/t[0], "pre-nodeup/nodeup")
	b.ReportMetric(0, "ns/op")
}

// bakedOrNot is what an image saves in which a hook has run.
func bakedOrNot(b *testing.B, suite string) {
	hook := strings.Replace(sleepHook("pre-nodeup"), "name: slow,", "name: slow, run: once-per-image, verify: \"true\",", 1)
	data := userData(b, parts(b, spec("baked", hook))...)
	t := measure(b, suite, 3, []variant{
		{name: "a hook of 3 s", userData: data},
		{name: "done in the image by bake", userData: data, bake: bakeScript(b, hook)},
	})
	b.ReportMetric(t[1]/t[0], "baked/not")
	b.ReportMetric(0, "ns/op")
}

type variant struct {
	name     string
	userData []byte
	nodeup   boot.Nodeup
	bake     []byte // run in the image first
}

// measure returns the median seconds of each variant.
func measure(b *testing.B, suite string, rounds int, variants []variant) []float64 {
	b.Helper()
	times := make([][]float64, len(variants))
	for range rounds {
		for i, v := range variants {
			times[i] = append(times[i], kubeletStart(b, suite, v))
		}
	}
	var medians []float64
	for i, v := range variants {
		slices.Sort(times[i])
		medians = append(medians, times[i][rounds/2])
		fmt.Fprintf(os.Stderr, "%s: %-32s %.3f s (%.3f to %.3f)\n", suite, v.name, medians[i], times[i][0], times[i][rounds-1])
	}
	return medians
}

func kubeletStart(b *testing.B, suite string, v variant) float64 {
	b.Helper()
	m, err := boot.New(context.Background(), boot.Config{Suite: suite, UserData: v.userData})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	if v.bake != nil {
		if out, err := m.Chroot(context.Background(), v.bake); err != nil {
			b.Fatalf("bake: %v\n%s", err, out)
		}
	}
	if err := m.SetNodeup(v.nodeup); err != nil {
		b.Fatal(err)
	}
	r, err := m.Boot(context.Background(), boot.Options{End: boot.Cut})
	if err != nil {
		b.Fatal(err)
	}
	from, ok1 := r.Timeline.First("nodeup-installed")
	to, ok2 := r.Timeline.First("kubelet-start")
	if !ok1 || !ok2 {
		b.Fatalf("%s: the kubelet did not start\n%s", v.name, r.Timeline)
	}
	return (to.At - from.At).Seconds()
}

func tenHooks() string {
	var s strings.Builder
	for i := range 10 {
		fmt.Fprintf(&s, "- {name: h%d, script: \"#!/bin/sh\\ntrue\"}\n", i)
	}
	return s.String()
}

func sleepHook(phase string) string {
	return "- {name: slow, phase: " + phase + ", script: \"#!/bin/sh\\nsleep 3\"}\n"
}

// tenUnits is a chain of plain oneshot units in front of kops-configuration.service, as one writes it by hand.
func tenUnits() []kops.UserData {
	var s strings.Builder
	s.WriteString("write_files:\n")
	for i := range 10 {
		after := ""
		if i > 0 {
			after = fmt.Sprintf("\n    Requires=bare%d.service\n    After=bare%d.service", i-1, i-1)
		}
		fmt.Fprintf(&s, `- path: /etc/systemd/system/bare%d.service
  content: |
    [Unit]
    Description=bare%d%s
    [Service]
    Type=oneshot
    RemainAfterExit=yes
    ExecStart=/bin/sh -c true
`, i, i, after)
	}
	s.WriteString(`- path: /etc/systemd/system/kops-configuration.service.d/bare.conf
  content: |
    [Unit]
    Requires=bare9.service
    After=bare9.service
`)
	return []kops.UserData{cloudConfig("bare.yaml", s.String())}
}
