package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMemoGeneratesWhatGenerateDoes(t *testing.T) {
	hook := func(name, script string, phase Phase) Hook {
		return Hook{Name: name, Phase: phase, Attempts: 1, Timeout: 1e9, Scripts: []Script{{"script", []byte("#!/bin/sh\n" + script)}}}
	}
	a, b, c := hook("a", "echo a", PreNodeup), hook("b", "echo b", PreShutdown), hook("c", "echo c", PreShutdown)
	other := hook("a", "echo another", PreNodeup) // an override of a
	var memo Memo
	for _, tt := range []struct {
		group string
		hooks []Hook
		ids   []string
	}{
		{"first", []Hook{a, b, c}, []string{"1", "2", "3"}},
		{"the same", []Hook{c, b, a}, []string{"3", "2", "1"}},
		{"another predecessor", []Hook{a, c}, []string{"1", "3"}},
		{"an overridden hook", []Hook{other, b}, []string{"4", "2"}},
		{"none", nil, nil},
	} {
		t.Run(tt.group, func(t *testing.T) {
			ig := InstanceGroup{Cluster: "main.example.com", Name: "g", Role: "Node"}
			want, err := Generate(ig, "v1", tt.hooks)
			if err != nil {
				t.Fatal(err)
			}
			got, err := memo.Generate(ig, "v1", tt.hooks, tt.ids)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-Generate +Memo):\n%s", diff)
			}
		})
	}
}
