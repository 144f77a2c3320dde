package generator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/templates"
)

func runtimeV1(t *testing.T) *templates.Runtime {
	t.Helper()
	rt, err := templates.Get("v1")
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// systemd ends no hook that the runner has in hand: attempts and what is around them, and the delays between them.
func TestUnitsStartForLongerThanTheRunnerTakes(t *testing.T) {
	const attempt, around = 60 + 14, 600
	for name, c := range map[string]struct {
		change func(h *Hook)
		want   int
	}{
		"one attempt":           {func(h *Hook) { h.Attempts = 1 }, around + attempt},
		"three":                 {func(h *Hook) {}, around + 3*attempt + 10 + 20},
		"delays up to 2m":       {func(h *Hook) { h.Attempts, h.RetryDelay = 4, 61*time.Second }, around + 4*attempt + 61 + 120 + 120},
		"once per image":        {func(h *Hook) { h.OncePerImage = true }, around + 4*attempt + 10 + 20},
		"parts of a second":     {func(h *Hook) { h.Attempts, h.Timeout = 1, 59*time.Second+1 }, around + attempt},
		"two scripts":           {func(h *Hook) { h.Attempts, h.Scripts = 1, make([]Script, 2) }, around + 60 + attempt},
		"a reboot":              {func(h *Hook) { h.Attempts, h.RebootExitCodes = 1, []int{100} }, around + attempt + 900},
		"a node that goes down": {func(h *Hook) { h.Attempts, h.Phase = 1, PreShutdown }, 60 + attempt},
	} {
		h := &hook{Hook: newHook("x", PreNodeup, "#!/bin/sh\n")}
		h.Timeout = time.Minute
		c.change(&h.Hook)
		if got := h.unitTimeout(); got != c.want {
			t.Errorf("%s: %d s, want %d", name, got, c.want)
		}
	}
}

// One line where nothing but the script is there, else one line each for settings, variables, command and its arguments.
func TestLinesOfExecStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *Hook)
		want   []string // the first words of the lines behind the settings
	}{
		"a script":              {func(h *Hook) {}, nil},
		"with variables":        {func(h *Hook) { h.Env = map[string]string{"A": "1"} }, []string{"A=1", "/bin/sh ./script"}},
		"with verify":           {func(h *Hook) { h.Verify = []byte("true") }, []string{"/bin/sh -exc", "/run/kopshook/ok/x~"}},
		"with both":             {func(h *Hook) { h.Verify, h.Env = []byte("true"), map[string]string{"A": "1"} }, []string{"A=1", "/bin/sh -exc", "/run/kopshook/ok/x~"}},
		"a file and a drop-in":  {func(h *Hook) { h.Files, h.DropIns = make([]File, 1), make([]DropIn, 1) }, []string{"/bin/sh -exc", "/run/kopshook/ok/x~"}},
		"nothing but variables": {func(h *Hook) { h.Scripts, h.Env = nil, map[string]string{"A": "1"} }, []string{"A=1", "/bin/true"}},
	} {
		h := &hook{Hook: newHook("x", PreNodeup, "#!/bin/sh\n"), runtime: runtimeV1(t)}
		c.change(&h.Hook)
		lines := strings.Split(h.runArguments("0123456789ab"), " \\\n  ")
		var got []string
		for _, l := range lines[1:] {
			words := strings.Fields(l)
			got = append(got, strings.Join(words[:min(2, len(words))], " "))
		}
		for i, w := range got {
			if strings.HasPrefix(w, "/run/") {
				got[i], _, _ = strings.Cut(w, " ")
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s%q", name, diff, lines)
		}
	}
}

// Tracing goes off once for files that are downloaded one after the other, and comes back before the script runs.
func TestTracingIsOffWhereAnAddressMayBeSigned(t *testing.T) {
	download := File{Mode: 0o644, Owner: "a:b", URLs: []string{"https://a/b?signed"}, SHA256: strings.Repeat("0a", 32)}
	h := &hook{Hook: newHook("x", PreNodeup, "#!/bin/sh\n")}
	for _, path := range []string{"/1", "/2"} {
		download.Path = path
		h.Files = append(h.Files, download)
	}
	command, _ := h.command(surroundings{fetch: "fetch"})
	var got []string
	for _, step := range strings.Split(command[2], "; ") {
		first, _, _ := strings.Cut(strings.ReplaceAll(step, "/bin/sh ", ""), " ")
		if step == traceOff || step == traceOn {
			first = step
		}
		got = append(got, first)
	}
	if want := []string{"echo", traceOff, "fetch", "fetch", traceOn, "echo"}; !slices.Equal(want, got[:len(want)]) {
		t.Errorf("%q", command[2])
	}
}

// Interpreters that take a script with -c get it so, others a file. env may stand before either.
func TestBootScriptsAreGivenToTheirInterpreters(t *testing.T) {
	for first, text := range map[string]bool{
		"#!/bin/sh": true, "#!/bin/bash -eu": true, "#!/usr/bin/env bash": true, "echo": true,
		"#!/usr/bin/env python3": false, "#!/usr/bin/env -S bash -eu": false, "#!/usr/bin/python3": false, "#!/usr/bin/env env": false,
	} {
		h := &hook{Hook: newHook("x", Boot, first+"\n")}
		if got := h.bootcmd("0123456789ab"); strings.Contains(got, "/run/kopshook-boot-x") == text {
			t.Errorf("%s:\n%s", first, got)
		}
	}
}
