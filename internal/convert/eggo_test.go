package convert

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/hooks"
	"kopshook.dev/kopshook/internal/report"
)

// Scripts that eggo runs one after the other run in the same order here, whatever they are called, and those of a master and
// of an etcd node, which are one machine here, go together.
func TestEggosOrderStays(t *testing.T) {
	const config = `
addition:
  master:
  - {name: b.sh, type: shell, schedule: prejoin}
  - {name: a.sh, type: shell, schedule: prejoin}
  - {name: a.sh, type: shell, schedule: postjoin}
  etcd:
  - {name: a.sh, type: shell, schedule: prejoin}
`
	for name, c := range map[string]struct {
		config string
		eggo   EggoOptions
		want   []string
	}{
		"of a configuration":    {config, EggoOptions{}, []string{"b", "a", "a-3", "a-2"}},
		"of several options":    {"", EggoOptions{PreHooks: []string{"b.sh,master", "a.sh,etcd", "c,master"}}, []string{"b", "a", "a-b", "a-2"}},
		"of those that go away": {"", EggoOptions{PreHooks: []string{"b.sh,master", "a.sh,master"}, Operator: "delete"}, []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Eggo: c.eggo,
				ReadFile: func(string) ([]byte, error) { return []byte("#!/bin/sh\n:\n"), nil },
				ReadDir: func(name string) ([]string, error) {
					if name == "c" {
						return []string{"a-b.sh", "a.sh"}, nil
					}
					return nil, os.ErrNotExist // no folder
				},
			}
			var r report.Report
			spec := Convert("eggo", "eggo.yaml", []byte(c.config), opts, &r)
			merged, said := hooks.Merge(t.Context(), hooks.Input{
				Specs:     []hooks.File{{Name: "spec.yaml", Data: spec}},
				Manifests: []hooks.File{{Name: "ig.yaml", Data: []byte("apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: cp, labels: {kops.k8s.io/cluster: c.example.com}}\nspec:\n  role: Master\n")}},
			}, hooks.Options{})
			if err := said.Err(); err != nil {
				t.Fatalf("%v, of:\n%s", err, spec)
			}
			var got []string
			for _, h := range merged.Groups[0].Hooks {
				got = append(got, h.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
