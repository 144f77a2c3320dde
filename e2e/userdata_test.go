//go:build e2e

package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/apis/nodeup"
	"k8s.io/kops/pkg/assets"
	"k8s.io/kops/pkg/model/resources"
	"k8s.io/kops/upup/pkg/fi"
	"k8s.io/kops/util/pkg/architectures"
	"k8s.io/kops/util/pkg/hashing"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// manifest is the instance group of all nodes here.
const manifest = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  labels:
    kops.k8s.io/cluster: e2e.example.com
  name: nodes
spec:
  machineType: t3.medium
  maxSize: 2
  minSize: 2
  role: Node
  subnets:
  - us-east-1a
`

// spec is a hook spec called name with these hooks, a YAML list. With KOPSHOOK_E2E_ARCHIVE set they come in an archive:
// all tests hold for those, too.
func spec(name, hooks string) string {
	archive := ""
	if os.Getenv("KOPSHOOK_E2E_ARCHIVE") != "" {
		archive = "  archive: true\n"
	}
	return "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata:\n  name: " + name +
		"\nspec:\n  runtime: v1\n  selector: {}\n" + archive + "  hooks:\n" + indent(strings.Trim(hooks, "\n"))
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text + "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// parts is what the specs add to the instance group's user data, by the way that `kopshook merge` goes.
func parts(t testing.TB, specs ...string) []kops.UserData {
	t.Helper()
	found, err := planParts(specs...)
	if err != nil {
		t.Fatal(err)
	}
	return mutate(t, found)
}

// specError is what is wrong with the specs.
type specError string

func (e specError) Error() string { return string(e) }

func planParts(specs ...string) ([]kops.UserData, error) {
	g, err := planGroup(specs...)
	if err != nil {
		return nil, err
	}
	return g.PlannedUserData(), nil
}

func planGroup(specs ...string) (*plan.Group, error) {
	var r report.Report
	var docs []*hookspec.Doc
	for _, s := range specs {
		docs = append(docs, hookspec.Decode("hooks.yaml", []byte(s), &r)...)
	}
	file, err := instancegroups.Parse("ig.yaml", []byte(manifest))
	if err != nil {
		return nil, err
	}
	var groups []*plan.Group
	if !r.HasErrors() {
		groups = plan.Make(context.Background(), docs, []*plan.Manifest{{Name: "ig.yaml", File: file}}, &source.Loader{}, &r)
	}
	if r.HasErrors() {
		var b strings.Builder
		if err := report.Text(&b, r.Findings, report.TextOptions{}); err != nil {
			return nil, err
		}
		return nil, specError(b.String())
	}
	return groups[0], nil
}

// userData is the user data that kops sends a node of an instance group with these parts: its own nodeup.sh and its own
// framing.
func userData(t testing.TB, parts ...kops.UserData) []byte {
	t.Helper()
	script := resources.NodeUpScript{
		NodeUpAssets: map[architectures.Architecture]*assets.MirroredAsset{
			architectures.ArchitectureAmd64: nodeupAsset("amd64"), architectures.ArchitectureArm64: nodeupAsset("arm64"),
		},
		BootConfig: &nodeup.BootConfig{
			CloudProvider: kops.CloudProviderAWS, ClusterName: "e2e.example.com", ConfigBase: new("s3://state/e2e.example.com"),
			InstanceGroupName: "nodes", InstanceGroupRole: kops.InstanceGroupRoleNode,
		},
		CloudProvider:        "aws",
		EnvironmentVariables: func() (string, error) { return "export AWS_REGION=us-east-1\n", nil },
	}
	resource, err := script.Build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := fi.ResourceAsString(resource)
	if err != nil {
		t.Fatal(err)
	}
	ig := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Role: kops.InstanceGroupRoleNode, AdditionalUserData: parts}}
	data, err := resources.AWSMultipartMIME(text, ig)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(data)
}

// nodeupAsset is where kops' nodeup would be. The stand-in's hash takes the place of this one, so nothing is fetched.
func nodeupAsset(arch string) *assets.MirroredAsset {
	return &assets.MirroredAsset{
		Locations: []string{"https://127.0.0.1/" + arch + "/nodeup"},
		Hash:      hashing.MustFromString(strings.Repeat("0", 64)),
	}
}

// cloudConfig and script are parts of the user's own.
func cloudConfig(name, content string) kops.UserData {
	return kops.UserData{Name: name, Type: "text/cloud-config", Content: "#cloud-config\n" + content}
}

func script(name, content string) kops.UserData {
	return kops.UserData{Name: name, Type: "text/x-shellscript", Content: "#!/bin/bash\n" + content}
}

func boothook(name, content string) kops.UserData {
	return kops.UserData{Name: name, Type: "text/cloud-boothook", Content: "#!/bin/sh\n" + content}
}

func join(lists ...[]kops.UserData) []kops.UserData {
	var all []kops.UserData
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
