package kopscheck

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/apis/kops/validation"
	"k8s.io/kops/pkg/kopscodecs"
	"k8s.io/kops/pkg/model/resources"
	"k8s.io/kops/util/pkg/text"

	"kopshook.dev/kopshook/internal/cli"
)

// nodeup stands for kops' own script: its content does not matter to the framing.
const nodeup = "#!/bin/bash\nset -o errexit\n\necho \"== nodeup node config starting ==\"\n"

var specs = []string{"examples/gpu/hooks.yaml", "examples/root-ca/hooks.yaml", "examples/local-nvme/hooks.yaml", "examples/boot-tuning/hooks.yaml"}

// kopshook runs the command in the top folder of the project and returns what it prints.
func kopshook(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := cli.Run(context.Background(), append([]string{"kopshook"}, args...), strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("kopshook %s: exit code %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String()
}

// cluster is examples/mixed on a cloud that takes user data with all examples together.
func cluster(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("examples/mixed/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile("image: ssm:.*").ReplaceAll(data, []byte("image: ubuntu-os-cloud/ubuntu-2404-noble-amd64-v20260101"))
	changed = bytes.Replace(changed, []byte("cloudProvider: aws"), []byte("cloudProvider: gce"), 1)
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, changed, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// groups are the instance groups of examples/mixed with all example hooks merged, as kops decodes them.
func groups(t *testing.T) []*kops.InstanceGroup {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	merged := kopshook(t, append([]string{"merge", cluster(t)}, specs...)...)
	var igs []*kops.InstanceGroup
	for _, section := range text.SplitContentToSections([]byte(merged)) {
		obj, _, err := kopscodecs.Decode(section, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ig, ok := obj.(*kops.InstanceGroup); ok {
			igs = append(igs, ig)
		}
	}
	if len(igs) != 5 {
		t.Fatalf("kops finds %d instance groups, want 5", len(igs))
	}
	return igs
}

func TestKopsAcceptsWhatMergeWrites(t *testing.T) {
	for _, ig := range groups(t) {
		if len(ig.Spec.AdditionalUserData) == 0 {
			t.Errorf("%s: kops sees no user data", ig.Name)
		}
		if errs := validation.ValidateInstanceGroup(ig, nil, false); len(errs) > 0 {
			t.Errorf("%s: %v", ig.Name, errs.ToAggregate())
		}
	}
}

func TestRenderedMessageIsThatOfKops(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	for _, ig := range groups(t) {
		want, err := resources.AWSMultipartMIME(nodeup, ig)
		if err != nil {
			t.Fatal(err)
		}
		render := append([]string{"render", "-o", "mime", "--group", ig.Name, cluster(t)}, specs...)

		if ig.IsBastion() {
			if diff := cmp.Diff(want, kopshook(t, render...)); diff != "" {
				t.Errorf("%s (-kops +kopshook):\n%s", ig.Name, diff)
			}
			continue
		}
		_, wantRest, _ := strings.Cut(want, nodeup)
		_, gotRest, found := strings.Cut(kopshook(t, render...), "it is the real one.\n")
		if !found {
			t.Errorf("%s: the place of nodeup.sh is not marked", ig.Name)
		}
		if diff := cmp.Diff(wantRest, gotRest); diff != "" {
			t.Errorf("%s, behind nodeup.sh (-kops +kopshook):\n%s", ig.Name, diff)
		}

		// --base takes what kops wrote for the group before it had hooks: a message, or the script alone
		plain := *ig
		plain.Spec.AdditionalUserData = []kops.UserData{{Name: "theirs.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\n"}}
		message, err := resources.AWSMultipartMIME(nodeup, &plain)
		if err != nil {
			t.Fatal(err)
		}
		for what, content := range map[string]string{"a message": message, "a script": nodeup} {
			if err := os.WriteFile(base, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, kopshook(t, append(render, "--base", base)...)); diff != "" {
				t.Errorf("%s, --base %s (-kops +kopshook):\n%s", ig.Name, what, diff)
			}
		}
	}
}

func TestStoredGroupShowsNoChurn(t *testing.T) {
	dir := t.TempDir()
	for _, ig := range groups(t) {
		stored, err := kopscodecs.ToVersionedYaml(ig)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, ig.Name+".yaml")
		if err := os.WriteFile(file, stored, 0o666); err != nil {
			t.Fatal(err)
		}
		var args []string
		for _, s := range specs {
			args = append(args, "-f", s)
		}
		if diff := cmp.Diff(string(stored), kopshook(t, append([]string{"merge", file}, args...)...)); diff != "" {
			t.Errorf("%s: merging what kops printed changes it (-kops +merged):\n%s", ig.Name, diff)
		}
	}
}
