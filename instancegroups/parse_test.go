package instancegroups_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
)

func parse(t *testing.T, in string) *instancegroups.File {
	t.Helper()
	f, err := instancegroups.Parse("ig.yaml", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// group is the shortest InstanceGroup; %s is further lines of its spec.
const group = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: nodes
spec:
  role: Node
%s`

func TestGroupsHaveWhatSelectionNeeds(t *testing.T) {
	f := parse(t, `# a file
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  labels:
    kops.k8s.io/cluster: one.example.com
    team: gpu
  name: masters
spec:
  nodeLabels:
    a: b
  role: Master
---
kind: InstanceGroup
apiVersion: kops.k8s.io/v1alpha3
metadata: {name: api}
spec: {role: APIServer}
---
apiVersion: kops/v1alpha2
kind: InstanceGroup
metadata: {name: jump}
spec: {role: Bastion}
---
apiVersion: v1
kind: Secret
metadata: {name: other}
---
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: {name: one.example.com}
spec: {cloudProvider: aws}
---
just: text
`)
	type summary struct {
		Name, Cluster, Role, APIVersion string
		Labels, NodeLabels              map[string]string
		Line                            int
		Known                           bool // its Cluster
	}
	var got []summary
	for _, g := range f.Groups() {
		got = append(got, summary{g.Name, g.Cluster, g.Role, g.APIVersion, g.Labels, g.NodeLabels, g.Line, g.ClusterObject != nil})
		if g.Object.Name != g.Name || string(g.Object.Spec.Role) != g.Role {
			t.Errorf("the object of %s is another one: %v", g.Name, g.Object)
		}
	}
	want := []summary{
		{"masters", "one.example.com", "ControlPlane", "kops.k8s.io/v1alpha2", map[string]string{"kops.k8s.io/cluster": "one.example.com", "team": "gpu"}, map[string]string{"a": "b"}, 3, true},
		{"api", "", "APIServer", "kops.k8s.io/v1alpha3", nil, nil, 15, true},
		{"jump", "", "Bastion", "kops/v1alpha2", nil, nil, 20, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if c := f.Clusters(); len(c) != 1 || c[0].Name != "one.example.com" || c[0].Line != 29 || c[0].Object.GetCloudProvider() != kops.CloudProviderAWS {
		t.Errorf("clusters: %+v", c)
	}
	var docs []string
	for _, d := range f.Documents() {
		docs = append(docs, fmt.Sprintf("%d %s %s", d.Line, d.Kind, d.Name))
	}
	if diff := cmp.Diff([]string{"3 InstanceGroup masters", "15 InstanceGroup api", "20 InstanceGroup jump", "25 Secret other", "29 Cluster one.example.com", "34  "}, docs); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("ig.yaml:1:1: an empty document: kops create and kops replace refuse the file (remove the \"---\" line beside it)\n", lines(f.Warnings())); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestDocumentsCoverTheirBytes(t *testing.T) {
	for _, nl := range []string{"\n", "\r\n"} {
		in := strings.ReplaceAll("\ufeffa: 1\n\n---\n\nb: 2\n# x\n---\nc: 3", "\n", nl)
		var got []string
		for _, d := range parse(t, in).Documents() {
			got = append(got, strings.ReplaceAll(in[d.Start:d.End], nl, "|"))
		}
		if diff := cmp.Diff([]string{"a: 1||", "|b: 2|# x|", "c: 3"}, got); diff != "" {
			t.Errorf("documents with %q (-want +got):\n%s", nl, diff)
		}
	}
}

func TestUserDataIsTheirsAndThenOurs(t *testing.T) {
	f := parse(t, fmt.Sprintf(group, `  additionalUserData:
  - {name: kopshook-1, type: text/cloud-config, content: old}
  - {name: theirs, type: text/x-shellscript, content: echo}
`))
	g := f.Groups()[0]
	names := func() (names []string) {
		for _, p := range g.UserData() {
			names = append(names, p.Name+"="+p.Content)
		}
		return names
	}
	if diff := cmp.Diff([]string{"kopshook-1=old", "theirs=echo"}, names()); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	ours := []kops.UserData{{Name: "kopshook-1", Type: "text/cloud-config", Content: "new"}}
	g.SetUserData(ours)
	ours[0].Content = "changed by the caller"
	if diff := cmp.Diff([]string{"theirs=echo", "kopshook-1=new"}, names()); diff != "" {
		t.Errorf("after SetUserData (-want +got):\n%s", diff)
	}
	g.SetUserData(nil)
	if diff := cmp.Diff([]string{"theirs=echo"}, names()); diff != "" {
		t.Errorf("after SetUserData(nil) (-want +got):\n%s", diff)
	}
}

func TestOnlyGroupsThatAreSetChange(t *testing.T) {
	in := fmt.Sprintf(group, "") + "---\n" + strings.Replace(fmt.Sprintf(group, "  additionalUserData: [ ]\n"), "nodes", "more", 1)
	f := parse(t, in)
	if out, err := f.Bytes(); err != nil || string(out) != in {
		t.Fatalf("unset: %v\n%s", err, out)
	}
	f.Groups()[0].SetUserData(standardParts)
	out, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	_, second, _ := strings.Cut(in, "---\n")
	if !strings.HasSuffix(string(out), "---\n"+second) {
		t.Errorf("the second group is not as it was:\n%s", out)
	}
}

func TestUnsupported(t *testing.T) {
	cluster := func(spec string) string {
		return "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: c}\nspec:\n  " + spec + "\n---\n"
	}
	for name, c := range map[string]struct {
		cluster, spec string
		want          string
	}{
		"ubuntu":                        {"", "  image: ubuntu-24.04\n", ""},
		"ubuntu's own project":          {"", "  image: ubuntu-os-cloud/ubuntu-2404\n", ""},
		"flatcar by name":               {"", "  image: kinvolk-public/Flatcar-stable-4081\n", "Flatcar"},
		"flatcar by account":            {"", "  image: 075585003325/stable-4081\n", "Flatcar"},
		"container-optimized OS":        {"", "  image: cos-cloud/cos-stable-109\n", "Container-Optimized OS"},
		"karpenter":                     {"", "  manager: Karpenter\n", "Karpenter"},
		"cloud group":                   {"", "  manager: CloudGroup\n", ""},
		"GCE":                           {cluster("cloudProvider: gce"), "", ""},
		"GCE with startup script":       {cluster("cloudProvider: gce\n  cloudConfig: {gceUseStartupScript: true}"), "", "useStartupScript"},
		"GCE with startup script false": {cluster("cloudProvider: gce\n  cloudConfig: {gceUseStartupScript: false}"), "", ""},
		"metal":                         {strings.Replace(cluster("cloudProvider: aws"), "{name: c}", "{name: c, labels: {alpha.kops.k8s.io/cloud: metal}}", 1), "", "metal"},
	} {
		t.Run(name, func(t *testing.T) {
			g := parse(t, c.cluster+fmt.Sprintf(group, c.spec)).Groups()[0]
			reason := g.Unsupported()
			if (reason != "") != (c.want != "") || !strings.Contains(reason, c.want) {
				t.Errorf("got %q, want %q", reason, c.want)
			}
		})
	}
}

func TestUnknownFieldsOfNewerKopsAreWarnings(t *testing.T) {
	f := parse(t, fmt.Sprintf(group, "  quantumEntanglement: true\n  kubelet: {telepathy: {a: b}}\n"))
	want := `ig.yaml:7:3: kops has no field "quantumEntanglement" here and drops it (remove it, unless your kops is newer and knows it)
ig.yaml:8:13: kops has no field "telepathy" here and drops it (remove it, unless your kops is newer and knows it)
`
	if diff := cmp.Diff(want, lines(f.Warnings())); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	f.Groups()[0].SetUserData(standardParts)
	out, err := f.Bytes()
	if err != nil || !bytes.Contains(out, []byte("quantumEntanglement: true\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPartsThatKopsWouldChangeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		apiVersion string
		part       kops.UserData
		want       string
	}{
		"not ours":       {"", kops.UserData{Name: "a", Type: "text/cloud-config", Content: "x"}, "must begin with kopshook-"},
		"not UTF-8":      {"", kops.UserData{Name: "kopshook-1", Type: "t", Content: "\xff"}, "kops would change it"},
		"DEL":            {"", kops.UserData{Name: "kopshook-1", Type: "t", Content: "a\x7f\n"}, "kops cannot print it"},
		"next line":      {"", kops.UserData{Name: "kopshook-1", Type: "t", Content: "a\u0085b\n"}, "kops would change it"},
		"old API group":  {"kops/v1alpha2", kops.UserData{Name: "kopshook-1", Type: "t", Content: "x\n apiVersion: kops/v1alpha2\n"}, "it replaces that text"},
		"same, new name": {"kops.k8s.io/v1alpha2", kops.UserData{Name: "kopshook-1", Type: "t", Content: "x\n apiVersion: kops/v1alpha2\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := fmt.Sprintf(group, "")
			if c.apiVersion != "" {
				in = strings.Replace(in, "kops.k8s.io/v1alpha2", c.apiVersion, 1)
			}
			out, err := set([]byte(in), []kops.UserData{c.part})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q\n%s", err, c.want, out)
			}
		})
	}
}

func TestBadInputIsAClearError(t *testing.T) {
	bomb := "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\na0: &a0 [x, x]\n"
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	for name, c := range map[string]struct {
		in   string
		want string
	}{
		"empty":          {"", "ig.yaml: the file is empty"},
		"blank":          {" \n\n", "ig.yaml: the file is empty"},
		"NUL":            {"a: b\nc: \x00", "ig.yaml:2: the file holds a NUL byte: it is binary, not YAML or JSON"},
		"binary":         {"\x7fELF\x02\x01\x01\x00", "ig.yaml:1: the file holds a NUL byte: it is binary, not YAML or JSON"},
		"Latin-1":        {"a: b\nc: \xe4\n", "ig.yaml:2: the file is not UTF-8 (convert the file to UTF-8)"},
		"UTF-16":         {"\xff\xfea\x00", "ig.yaml: the file is encoded in UTF-16 (convert it to UTF-8)"},
		"control":        {"a: \x01\n", "ig.yaml:1: this is not YAML: control characters are not allowed"},
		"deep":           {strings.Repeat("[", 20000), "exceeded max depth"},
		"deep JSON":      {strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "exceeded max depth"},
		"alias bomb":     {bomb, "excessive aliasing"},
		"unclosed":       {"a: \"b\n", "ig.yaml:2: this is not YAML: found unexpected end of stream"},
		"broken JSON":    {`{"kind": "InstanceGroup", }x`, "this is not YAML"},
		"control JSON":   {"{\"a\": \"\x7f\"}", "ig.yaml:1:8: kops cannot read the character U+007F: it takes JSON for YAML (write it as \\u007f)"},
		"JSON, and more": {`{"a": "b"} c`, `this is not YAML: did not find expected <document start> (remove what stands behind the document, or put a line "---" between the two)`},
		"no apiVersion":  {"a: b\n---\nmetadata: {name: a}\nkind: InstanceGroup\n", "ig.yaml:4:1: kops reads no InstanceGroup without an apiVersion (add `apiVersion: kops.k8s.io/v1alpha2`)"},
		"JSON scalar":    {`"x"`, "this is no manifest"},
		"several errors": {"a: *b\n---\nc: *d\n", "ig.yaml:1: this is not YAML: unknown anchor 'b' referenced\nig.yaml:3: this is not YAML: unknown anchor 'd' referenced"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := instancegroups.Parse("ig.yaml", []byte(c.in))
			if err == nil {
				t.Fatal("no error")
			}
			checkErrors(t, err)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300q, want %q", err, c.want)
			}
		})
	}
}

func TestTooLargeFilesAreRefused(t *testing.T) {
	_, err := instancegroups.Parse("ig.yaml", make([]byte, instancegroups.MaxSize+1))
	want := "ig.yaml: the file is larger than 128 MiB (split it into several files)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLineBreaksOfAllKinds(t *testing.T) {
	in := fmt.Sprintf(group, "  # next line:\u0085  # line separator:\u2028  # both\n  image: \"a\u0085 \u2028 b\"\n  machineType: x\n")
	for name, in := range map[string]string{
		"LF":                    in,
		"CRLF":                  strings.ReplaceAll(in, "\n", "\r\n"),
		"byte order mark":       "\ufeff" + in,
		"no line break at end":  strings.TrimSuffix(in, "\n"),
		"CRLF, no break at end": strings.TrimSuffix(strings.ReplaceAll(in, "\n", "\r\n"), "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			out := mustSet(t, []byte(in), standardParts)
			checkMerge(t, []byte(in), out, standardParts)
			if strings.Contains(in, "\r\n") && strings.Count(string(out), "\n") != strings.Count(string(out), "\r\n") {
				t.Errorf("not all line breaks are CRLF:\n%q", out)
			}
			if strings.HasSuffix(in, "\n") != bytes.HasSuffix(out, []byte("\n")) {
				t.Errorf("the end of the file changed:\n%q", out)
			}
		})
	}
}

// A place that is not there is that of the deepest part of its path.
func TestPositionsOfFields(t *testing.T) {
	for form, c := range map[string]struct {
		in   string
		want [][2]int
	}{
		"YAML": {"apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec:\n  role: Node\n  additionalUserData:\n  - name: a\n    type: t\n  - {name: é, type: t}\n",
			[][2]int{{1, 1}, {4, 1}, {6, 3}, {7, 5}, {9, 15}, {6, 3}, {6, 3}, {1, 1}}},
		"JSON": {"{\"apiVersion\": \"kops.k8s.io/v1alpha2\", \"kind\": \"InstanceGroup\",\n\"metadata\": {\"name\": \"nodes\"},\n\"spec\": {\"role\": \"Node\",\n  \"additionalUserData\": [\n    {\"name\": \"a\", \"type\": \"t\"},\n    {\"name\": \"é\", \"type\": \"t\"}]}}\n",
			[][2]int{{1, 2}, {3, 1}, {4, 3}, {5, 6}, {6, 19}, {4, 3}, {4, 3}, {1, 1}}},
	} {
		g := parse(t, c.in).Groups()[0]
		for i, path := range []string{"apiVersion", "spec", "spec additionalUserData", "spec additionalUserData 0 name", "spec additionalUserData 1 type",
			"spec additionalUserData 2 name", "spec additionalUserData name", "other"} {
			if line, col := g.Position(strings.Fields(path)...); [2]int{line, col} != c.want[i] {
				t.Errorf("%s: %s is at %d:%d, want %v", form, path, line, col, c.want[i])
			}
		}
	}
}

func TestGroupsWhoseNodesGetNoUserData(t *testing.T) {
	const cluster = "---\napiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: c, labels: {alpha.kops.k8s.io/cloud: %s}}\nspec: {cloudProvider: aws}\n"
	for name, c := range map[string]struct {
		in                 string
		leavesOut, ofClass bool
	}{
		"no cluster":          {fmt.Sprintf(group, ""), false, false},
		"AWS":                 {fmt.Sprintf(group, "") + fmt.Sprintf(cluster, "aws"), false, false},
		"metal":               {fmt.Sprintf(group, "") + fmt.Sprintf(cluster, "metal"), true, false},
		"Karpenter":           {fmt.Sprintf(group, "  manager: Karpenter\n"), true, true},
		"Karpenter on AWS":    {fmt.Sprintf(group, "  manager: Karpenter\n") + fmt.Sprintf(cluster, "aws"), true, true},
		"Karpenter, Flatcar":  {fmt.Sprintf(group, "  manager: Karpenter\n  image: 075585003325/Flatcar-stable\n"), true, false},
		"Flatcar, without it": {fmt.Sprintf(group, "  image: flatcar\n"), false, false},
	} {
		g := parse(t, c.in).Groups()[0]
		if g.LeavesOut() != c.leavesOut || g.InNodeClass() != c.ofClass {
			t.Errorf("%s: left out %v, in a node class %v", name, g.LeavesOut(), g.InNodeClass())
		}
	}
}

// What is not kops' passes as it is, even where kops' parser would refuse it.
func TestDocumentsOfOthersAreNotJudged(t *testing.T) {
	f := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 1, x: 2}\n---\n"+fmt.Sprintf(group, ""))
	if docs := f.Documents(); len(docs) != 2 || docs[0].Kind != "ConfigMap" || docs[0].Name != "a" {
		t.Errorf("documents: %v", docs)
	}
}
