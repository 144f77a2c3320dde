package nodeclass

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kopshook.dev/kopshook/internal/report"
)

const class = `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: spot, labels: {a: b}}
spec:
  amiFamily: Custom
  x: &x [1, "2", true, null, 3.5]
  z: *x
  userData: old
`

func TestDecodeFindsClassesAmongOtherObjects(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want []string
	}{
		"one":              {class, []string{"spot"}},
		"behind others":    {"kind: NodePool\napiVersion: karpenter.sh/v1\nspec: {template: {spec: {nodeClassRef: {kind: EC2NodeClass, name: n, group: karpenter.k8s.aws}}}}\n---\n" + class, []string{"spot"}},
		"JSON":             {`{"apiVersion":"karpenter.k8s.aws/v1","kind":"EC2NodeClass","metadata":{"name":"j"},"spec":{"userData":"x"}}`, []string{"j"}},
		"an older version": {strings.Replace(class, "aws/v1", "aws/v1beta1", 1), []string{"spot"}},
		"of another group": {strings.Replace(class, "karpenter.k8s.aws/v1", "other/v1\n# karpenter.k8s.aws/", 1), nil},
		"the CRD":          {"kind: CustomResourceDefinition\nspec: {group: karpenter.k8s.aws/, names: {kind: EC2NodeClass}}\n", nil},
		"not YAML":         {class + "  userData: {\n", nil},
	} {
		var r report.Report
		var got []string
		for _, c := range Decode("f", []byte(c.data), &r) {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(r.Findings) > 0 {
			t.Errorf("%s: %v (-want +got)\n%s", name, r.Findings, diff)
		}
	}
}

func TestWithChangesNothingButUserDataAndMetadata(t *testing.T) {
	var r report.Report
	c := Decode("f", []byte(class), &r)[0]
	for _, data := range []string{"a\n", "a", "a\n\n", "a\r\nb\r\n", " a\n\tb \n", "--- \n", "é \x00"} {
		text, err := c.With(data)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q: %v\n%s", data, err, text)
		}
		if err := yaml.Unmarshal(fmt.Appendf(nil, "%s", strings.NewReplacer("userData: old", "", ", labels: {a: b}", "").Replace(class)), &want); err != nil {
			t.Fatal(err)
		}
		want.(map[string]any)["spec"].(map[string]any)["userData"] = data
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", data, diff)
		}
	}
}
