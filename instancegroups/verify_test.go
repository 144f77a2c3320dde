package instancegroups

import (
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"
)

// TestVerifyFindsWrongEdits makes edits that the package would never make: the comparison behind every edit must see
// that something else changes.
func TestVerifyFindsWrongEdits(t *testing.T) {
	long := strings.Repeat("      echo 'a line of a long script'\n", 5)
	in := `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: nodes # a name
spec:
  additionalUserData:
  - content: |
` + long + `    name: first.sh
    type: text/x-shellscript
  - content: echo
    name: second.sh
    type: text/x-shellscript
    extra: [1]
  unknown: 5
  role: Node
`
	const right = "  - content: |\n      #!/bin/sh\n    name: kopshook-1\n    type: text/cloud-config\n"
	parts := []kops.UserData{{Name: "kopshook-1", Type: "text/cloud-config", Content: "#!/bin/sh\n"}}
	for name, c := range map[string]struct {
		old, new, want string
		more           bool // right is written, too
	}{
		"right":                    {"  unknown", right + "  unknown", "", false},
		"right, with a comment":    {"  unknown", right + "  # a comment\n  unknown", "", false},
		"not there":                {"  unknown", "  unknown", "3 parts come out as 2", false},
		"twice":                    {"  unknown", right + right + "  unknown", "3 parts come out as 4", false},
		"in the wrong place":       {"  - content: echo", right + "  - content: echo", `"second.sh" comes out differently`, false},
		"another content":          {"  unknown", strings.Replace(right, "/sh", "/bash", 1) + "  unknown", `"kopshook-1" comes out differently`, false},
		"without a line break":     {"  unknown", strings.Replace(right, "|", "|-", 1) + "  unknown", `"kopshook-1" comes out differently`, false},
		"with more fields":         {"  unknown", right + "    more: x\n  unknown", `"kopshook-1" comes out differently`, false},
		"a field is lost":          {"  unknown: 5\n", right, "other fields change", false},
		"a field changes its type": {"  unknown: 5\n", right + "  unknown: \"5\"\n", "other fields change", false},
		"a field comes":            {"  unknown", right + "  manager: x\n  unknown", "other fields change", false},
		"the name changes":         {"  name: nodes", "  name: node", "other fields change", true},
		"their script changes":     {"long script'\n    name", "lost script'\n    name", `"first.sh" comes out differently`, true},
		"their script ends early":  {"      echo 'a line of a long script'\n    name: first", "    name: first", `"first.sh" comes out differently`, true},
		"their extra field":        {"extra: [1]\n", "extra: [2]\n" + right, "unknown fields", false},
		"a part of theirs is lost": {"  - content: echo\n    name: second.sh\n    type: text/x-shellscript\n    extra: [1]\n", right, "3 parts come out as 2", false},
		"the document is cut":      {"  unknown: 5\n", right + "---\n  unknown: 5\n", "cut the document in two", false},
		"not YAML any more":        {"  unknown", right + " unknown", "did not find expected key", false},
		"a key twice":              {"  unknown", right + "  role: Node\n  unknown", "already set", false},
		"another object":           {"kind: InstanceGroup", "kind: Cluster", "other fields change", true},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse("ig.yaml", []byte(in))
			if err != nil {
				t.Fatal(err)
			}
			g := f.Groups()[0]
			g.SetUserData(parts)
			at := strings.Index(in, c.old)
			if at < 0 {
				t.Fatalf("%q is not in the manifest", c.old)
			}
			edits := []edit{{at, at + len(c.old), c.new, nil}}
			if end := strings.Index(in, "  unknown"); c.more {
				edits = append(edits, edit{end, end, right, nil})
			}
			err = g.section.verify(&bodies{parent: &g.section.file.bodies}, edits, []*Group{g})
			if c.want == "" {
				if err != nil {
					t.Errorf("a right edit is refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
