package instancegroups_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/kops/pkg/apis/kops"
	sigsyaml "sigs.k8s.io/yaml"
)

// style writes manifests as people do: in many ways.
type style struct {
	*rand.Rand
	step     int  // of indentation
	list     int  // indentation of lists below their key
	comments bool // here and there
	seen     int
}

func (s *style) pick(options ...string) string { return options[s.Intn(len(options))] }
func (s *style) oneIn(n int) bool              { return s.Intn(n) == 0 }
func pad(n int) string                         { return strings.Repeat(" ", n) }

// filler is nothing, or comments and empty lines.
func (s *style) filler(indent int) string {
	if !s.comments || !s.oneIn(4) {
		return ""
	}
	var b strings.Builder
	for range 1 + s.Intn(2) {
		b.WriteString(s.pick("\n", pad(indent)+"# a comment\n", "# at the left\n", pad(indent)+"# - name: kopshook-old\n",
			pad(indent+2)+"# deeper: it's \"quoted\n", "   \n", "#\n", pad(indent)+"# wide ünïcödé\n"))
	}
	return b.String()
}

func (s *style) tail() string {
	if s.comments && s.oneIn(5) {
		return s.pick(" # why", "   #", "  ")
	}
	return ""
}

// manifest writes a file of one or more documents.
func (s *style) manifest() string {
	var b strings.Builder
	if s.oneIn(4) {
		b.WriteString("---\n")
	} else if s.oneIn(8) {
		b.WriteString("--- # the first\n")
	}
	for i := range 1 + s.Intn(3) {
		if i > 0 {
			b.WriteString(s.pick("---\n", "\n---\n", "\n---\n\n"))
		}
		b.WriteString(s.filler(0))
		switch {
		case s.oneIn(5):
			b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata:\n  ig: |\n    spec:\n      additionalUserData:\n      - name: kopshook-x\n")
		default:
			b.WriteString(s.group(i))
		}
		b.WriteString(s.filler(0))
	}
	out := b.String()
	if s.oneIn(6) {
		out = strings.TrimRight(out, "\n")
	}
	if s.oneIn(4) {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	if s.oneIn(8) {
		out = "\ufeff" + out
	}
	return out
}

func (s *style) group(i int) string {
	apiVersion, role := "kops.k8s.io/v1alpha2", "Master"
	if s.oneIn(3) {
		apiVersion, role = "kops.k8s.io/v1alpha3", "ControlPlane"
	} else if s.oneIn(5) {
		apiVersion = "kops/v1alpha2"
	}
	fields := []string{
		"image: ubuntu-24.04" + s.tail() + "\n",
		"machineType: \"cx23\"" + s.tail() + "\n",
		"maxSize: 4\n",
		"role: " + s.pick(role, "Node", "APIServer") + s.tail() + "\n",
		"subnets:" + s.tail() + "\n" + s.filler(s.step) + pad(s.step+s.list) + "- fsn1" + s.tail() + "\n" + pad(s.step+s.list) + "- fsn2\n",
		"nodeLabels:\n" + pad(2*s.step) + "a: |+\n" + pad(2*s.step+2) + "kept\n\n\n",
		"taints: [a, 'b # c',\n" + pad(2*s.step) + "d]\n",
	}
	var picked []string
	for _, f := range fields {
		if strings.HasPrefix(f, "role:") || !s.oneIn(3) {
			picked = append(picked, f)
		}
	}
	if s.oneIn(2) {
		s.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	}
	if !s.oneIn(3) {
		at := s.Intn(len(picked) + 1)
		picked = append(picked[:at], append([]string{s.userData()}, picked[at:]...)...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s%s\nkind: InstanceGroup\n%s", apiVersion, s.tail(), s.filler(0))
	fmt.Fprintf(&b, "metadata:\n%slabels:\n%skops.k8s.io/cluster: c.example.com\n%sname: group-%d\n", pad(s.step), pad(2*s.step), pad(s.step), i)
	spec := s.pick("spec", "spec", "spec", `"spec"`, `'spec'`) + ":" + s.tail() + "\n"
	for _, f := range picked {
		spec += s.filler(s.step) + pad(s.step) + f
	}
	if s.oneIn(4) {
		return b.String() + spec + s.filler(0) + s.pick("status: {}\n", "status:\n", "'status': \"a\n  # b\"\n")
	}
	return b.String() + spec + s.pick("", "", "", "...\n", "... # end\n")
}

func (s *style) userData() string {
	key := s.pick("additionalUserData", "additionalUserData", `"additionalUserData"`, `'additionalUserData'`) + s.pick(":", ":", " :")
	indent := s.step + s.list
	switch s.Intn(8) {
	case 0:
		return key + s.pick(" []", " null", " ~", "", " [ ]", " [\n"+pad(indent+2)+"]") + s.tail() + "\n"
	case 1:
		return key + " [{name: a.sh, type: text/x-shellscript, content: \"#!/bin/sh\\n\"}, {'name': \"b, ]\", \"type\": 'it''s', content: c d}]" + s.tail() + "\n"
	}
	var b strings.Builder
	b.WriteString(key + s.tail() + "\n")
	for range 1 + s.Intn(4) {
		b.WriteString(s.filler(indent))
		b.WriteString(s.item(indent))
	}
	return b.String()
}

// item writes a part, in the user's way.
func (s *style) item(indent int) string {
	s.seen++
	name := fmt.Sprintf("user-%d.sh", s.seen)
	if s.oneIn(5) {
		name = fmt.Sprintf("kopshook-old-%d", s.seen)
		comments := s.comments
		s.comments = false // in what is replaced they may go
		defer func() { s.comments = comments }()
	}
	if s.oneIn(8) {
		return pad(indent) + "- {name: " + name + ", type: 'text/cloud-config', content: \"#cloud-config\\n# ]}\"}" + s.tail() + "\n"
	}
	fields := []string{
		"name: " + s.pick(name, `"`+name+`"`, "'"+name+"'"),
		"type: " + s.pick("text/x-shellscript", "'text/x-shellscript'", ">-\n"+pad(indent+4)+"text/x-shellscript"),
		"content: " + s.content(indent+2),
	}
	s.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	var b strings.Builder
	b.WriteString(pad(indent) + s.pick("- ", "- ", "- ", "-\n"+pad(indent+2), "- # own\n"+pad(indent+2)))
	for i, f := range fields {
		if i > 0 {
			b.WriteString(s.filler(indent+2) + pad(indent+2))
		}
		b.WriteString(f)
		if !strings.HasSuffix(f, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// content writes a content in one of YAML's ways.
func (s *style) content(indent int) string {
	in := pad(indent + 2)
	long := strings.Repeat(in+"echo 'more than the sixty-four bytes that are worth being elided'\n", s.Intn(3))
	return s.pick(
		"|\n"+in+"#!/bin/sh\n"+in+"\techo tab\n"+long,
		"|\n"+in+"#!/bin/sh\n\n\n"+long+in+"  echo deeper\n\n",
		"|-\n"+in+"#!/bin/sh\n"+in+"- name: kopshook-fake\n"+long,
		"|+\n"+in+"#!/bin/sh\n"+long+"\n\n",
		"|+  # keep\n"+in+"#!/bin/sh\n  \n",
		">\n"+in+"#!/bin/sh\n"+in+"folded\n\n"+in+"# no comment\n",
		">+\n"+in+"#!/bin/sh\n\n",
		"|2\n"+in+"  deeper first\n"+in+"x\n",
		"|1-\n"+in[1:]+" x\n"+in[1:]+"# y\n",
		"\"#!/bin/sh\\n\\\n"+in+"  # \\\" still quoted\n"+in+"# end\"\n",
		"'#!/bin/sh\n\n"+in+"# it''s quoted'\n",
		"plain text\n"+in+"on two lines\n",
		"\"\"", "''", "x", "\"a \\u0085 b \u0085 c\"", "|\n"+in+"a \u2028"+in+"b\n"+in+"ü\n",
		"|\n"+in+strings.Repeat("x", 20000)+"\n",
		"|\n"+in+"additionalUserData:\n"+in+"- content: |\n"+in+"    this body is inside of another one and longer than sixty-four bytes\n"+in+"  name: kopshook-fake\n",
	)
}

// parts returns parts of ours with contents of all kinds.
func (s *style) parts() []kops.UserData {
	var parts []kops.UserData
	for i := range 1 + s.Intn(3) {
		parts = append(parts, kops.UserData{
			Name: fmt.Sprintf("kopshook-%03d-%s", i, s.pick("gate.sh", "runtime.yaml", "a b", "ü", "true", "#")),
			Type: s.pick("text/cloud-config", "text/cloud-boothook", "yes", "1:30"),
			Content: s.pick(
				"#!/bin/sh\necho hi\n", "#!/bin/sh\n\n\necho hi\n", "#!/bin/sh\necho no final newline", "tab\there\n", "trailing \n",
				"  leading\n", "\n\nempty lines first\n", "ends in many\n\n\n", "ü\n", "a\u2028c\ufeffd\n", "crlf\r\n", "yes", "0755", "1:30", "null", "~",
				"\n", " ", "--MIMEBOUNDARY\n", "---\nnot a document\n", "a\n---\nb\n", "...\n", "# x\n", "@kopshook-body-0@\n", strings.Repeat("long ", 4000)+"\n",
				strings.Repeat("- a line of a script that is so long that it will be elided\n", 3), "\U0001f600\n", "\x1b[0m\n", "a: b\nc: |\n  d\n",
			),
		})
	}
	return parts
}

func TestMergeHoldsForManyStyles(t *testing.T) {
	for seed := range manifests(t, 300) {
		s := &style{Rand: rand.New(rand.NewSource(int64(seed)))}
		s.step = []int{2, 2, 4, 3, 1}[s.Intn(5)]
		s.list = []int{0, 0, 2, 4}[s.Intn(4)]
		s.comments = !s.oneIn(3)
		in, parts := []byte(s.manifest()), s.parts()
		out, err := set(in, parts)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, in)
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			checkMerge(t, in, out, parts)
			for _, comment := range []string{"# a comment", "# at the left", "# - name: kopshook-old", "# deeper: it's \"quoted", "# wide ünïcödé", "# why"} {
				if before, after := bytes.Count(in, []byte(comment)), bytes.Count(out, []byte(comment)); before != after {
					t.Errorf("%d comments %q become %d\nin:\n%s\nout:\n%s", before, comment, after, in, out)
				}
			}
		})
	}
}

// json writes the groups of a manifest as JSON: alone, as an array or in a list, on one line or indented.
func (s *style) json(t *testing.T, manifest string) []byte {
	var objects []string
	for _, d := range documents([]byte(manifest)) {
		data, err := sigsyaml.YAMLToJSON(d)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("kops")) {
			objects = append(objects, strings.Replace(string(data), `"kops/v1alpha2"`, `"kops.k8s.io/v1alpha2"`, 1))
		}
	}
	if len(objects) == 0 {
		objects = append(objects, "{}")
	}
	in := s.pick(objects[0]+"\n", "["+strings.Join(objects, "\n,")+"\n]\n", `{"apiVersion":"v1","kind":"List","items":[`+strings.Join(objects, ",")+"]}")
	if s.oneIn(2) {
		return []byte(in)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(in), "", s.pick("  ", "\t", "   ")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMergeHoldsForManyStylesOfJSON(t *testing.T) {
	for seed := range manifests(t, 200) {
		s := &style{Rand: rand.New(rand.NewSource(int64(seed))), step: 2}
		in, parts := s.json(t, s.manifest()), s.parts()
		out, err := set(in, parts)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, in)
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { checkMerge(t, in, out, parts) })
	}
}

// manifests returns how many manifests to generate: MANIFESTS in the environment asks for more.
func manifests(t *testing.T, n int) int {
	s := os.Getenv("MANIFESTS")
	if s == "" {
		return n
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
