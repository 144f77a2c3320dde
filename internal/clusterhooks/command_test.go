package clusterhooks

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCommand(t *testing.T) {
	type want struct {
		Name, Cluster string
		Yes           bool
		Operands      []string
		Doubt         string
	}
	for _, tc := range []struct {
		says, line string
		want       want
	}{
		{"the cluster as an operand", "kops update cluster a.b --yes", want{"update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"the cluster as an option", "kops update cluster --name a.b -y", want{"update cluster", "a.b", true, nil, ""}},
		{"options before the command", "kops --state s3://x --name=a.b update cluster", want{"update cluster", "a.b", false, nil, ""}},
		{"a boolean takes no value", "kops rolling-update cluster --yes a.b", want{"rolling-update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"a boolean with a value", "kops rolling-update cluster --yes=false a.b", want{"rolling-update cluster", "a.b", false, []string{"a.b"}, ""}},
		{"a value with a dash", "kops update cluster --out -dir --yes a.b", want{"update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"letters in a bundle", "kops rolling-update cluster -iy a.b", want{"rolling-update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"a letter with its value", "kops replace -fx.yaml", want{"replace", "", false, nil, ""}},
		{"a letter and its value", "kops get clusters -o json", want{"get clusters", "", false, nil, ""}},
		{"-v takes a value", "kops update cluster -v 8 a.b --yes", want{"update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"--admin without a value", "kops update cluster --admin a.b --yes", want{"update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"--admin with a duration", "kops rolling-update cluster --admin 24h a.b --yes", want{"rolling-update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"-- ends the options", "kops update cluster --yes -- a.b", want{"update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"an unknown option with a word behind it", "kops update cluster --new a.b --yes", want{"update cluster", "", true, nil, "--new a.b"}},
		{"an unknown option before another", "kops update cluster --new --yes a.b", want{"update cluster", "a.b", true, []string{"a.b"}, ""}},
		{"the last word is an option", "kops update cluster a.b --target", want{"update cluster", "a.b", false, []string{"a.b"}, ""}},
		{"an instance is no cluster", "kops delete instance i-1 --yes", want{"delete instance", "", true, []string{"i-1"}, ""}},
		{"nothing", "kops", want{}},
		{"a dash alone", "kops replace -f -", want{"replace", "", false, nil, ""}},
	} {
		t.Run(tc.says, func(t *testing.T) {
			c := ParseCommand(strings.Fields(tc.line))
			got := want{c.Name, c.ClusterName(), c.Yes(), c.Operands, c.Doubt}
			if len(got.Operands) == 0 {
				got.Operands = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.line, diff)
			}
		})
	}
}

// TestOptionsAreThoseOfKops holds the lists of options against kops' source: an option that takes a value must not be
// taken for one that does not, or the cluster's name would be read as a value.
func TestOptionsAreThoseOfKops(t *testing.T) {
	found := map[bool][]string{}
	for _, folder := range []string{"cmd/kops", "pkg/kubeconfig", "pkg/commands"} {
		files, err := filepath.Glob(filepath.Join(kopsSource(t), folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for option, boolean := range optionsIn(t, name) {
				found[boolean] = append(found[boolean], option)
			}
		}
	}
	if len(found[true]) < 30 || len(found[false]) < 100 {
		t.Fatalf("found only %d booleans and %d other options in kops' source", len(found[true]), len(found[false]))
	}
	for boolean, names := range found {
		for _, name := range names {
			if isBoolean(name) != boolean || takesValue(name) == boolean {
				t.Errorf("--%s: is it a boolean in kops: %v; here: %v, takes a value: %v", name, boolean, isBoolean(name), takesValue(name))
			}
		}
	}
	// klog's own and cobra's are defined elsewhere
	elsewhere := strings.Fields("add_dir_header alsologtostderr help legacy_stderr_threshold_behavior log_backtrace_at log_dir log_file " +
		"log_file_max_size logtostderr one_output override s2a_enable_appengine_dialer s2a_timeout skip_headers skip_log_headers stderrthreshold v version vmodule")
	for word := range strings.FieldsSeq(booleanOptions + valueOptions) {
		if !slices.Contains(found[true], word) && !slices.Contains(found[false], word) && !slices.Contains(elsewhere, word) {
			t.Errorf("kops has no option --%s", word)
		}
	}
}

func kopsSource(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kops").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(dir))
}

// optionsIn returns the options that a file of kops defines, and which of them are booleans.
func optionsIn(t *testing.T, name string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if option, boolean, ok := definedOption(n); ok {
			options[option] = boolean
		}
		return true
	})
	return options
}

// TestPartsOfReconcileAreCommandsOfKops: an option of reconcile is one of the two commands that it begins with, or it is left
// out there.
func TestPartsOfReconcileAreCommandsOfKops(t *testing.T) {
	options := func(command string) map[string]bool {
		o := optionsIn(t, filepath.Join(kopsSource(t), "cmd", "kops", command+"_cluster.go"))
		for name := range optionsIn(t, filepath.Join(kopsSource(t), "pkg", "kubeconfig", "create_kubecfg.go")) {
			o[name] = true
		}
		return o
	}
	line := []string{"kops", "reconcile", "cluster", "--name=a.b", "--state", "s3://x"}
	given := options("reconcile")
	if len(given) < 3 {
		t.Fatalf("reconcile has only the options %v", given)
	}
	for name := range given {
		line = append(line, "--"+name+"=1")
	}
	first, rest, ok := ParseCommand(line).controlPlaneFirst()
	if !ok || len(first) != 2 || !slices.Equal(rest, line) {
		t.Fatalf("%q, %q, %v", first, rest, ok)
	}
	global := []string{"name", "state"}
	for _, args := range first {
		c := ParseCommand(args)
		known := options(strings.TrimSuffix(c.Name, " cluster"))
		for _, o := range c.given {
			if _, ok := known[o.name]; !ok && !slices.Contains(global, o.name) {
				t.Errorf("kops %s has no option --%s", c.Name, o.name)
			}
		}
		if !c.Yes() || c.ClusterName() != "a.b" || c.Option("state") != "s3://x" {
			t.Errorf("%q: what was given is lost", args)
		}
		if diff := cmp.Diff([]string{"control-plane", "apiserver"}, c.roles()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
}

// definedOption finds calls such as cmd.Flags().BoolVarP(&x, "yes", ...).
func definedOption(n ast.Node) (name string, boolean, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) < 2 {
		return "", false, false
	}
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return "", false, false
	}
	kind, isVar := strings.CutSuffix(strings.TrimSuffix(method.Sel.Name, "P"), "Var")
	literal, isLiteral := call.Args[1].(*ast.BasicLit)
	if !isVar || !isLiteral || literal.Kind != token.STRING {
		return "", false, false
	}
	name, err := strconv.Unquote(literal.Value)
	return name, kind == "Bool", err == nil
}

// FuzzParseCommand: no command line breaks the parser, and a command that kops would not take for confirmed has no
// events but those of validate, replace and manifests.
func FuzzParseCommand(f *testing.F) {
	f.Add("kops update cluster a.b --yes")
	f.Add("kops -iyf=x --name= -- -y")
	f.Add("kops - -- --")
	f.Fuzz(func(t *testing.T, line string) {
		c := ParseCommand(append([]string{"kops"}, strings.Fields(line)...))
		op := c.Operation()
		if !strings.Contains(line, "y") && len(op.Before) > 0 {
			t.Errorf("%q has the events %v", line, op.Before)
		}
		c.ClusterName()
		c.List("filename")
	})
}

func TestCompareVersions(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
		ok   bool
	}{
		{"1.35.4", "1.35.4", 0, true},
		{"v1.35.4", "1.35.4", 0, true},
		{"1.35.4", "1.35.10", -1, true},
		{"1.36.0", "1.35.10", 1, true},
		{"1.36.0-beta.1", "1.36.0", -1, true},
		{"1.36.0", "1.36.0-beta.1", 1, true},
		{"1.36.0+build", "1.36.0", 0, true},
		{"1.36", "1.36.0", 0, true},
		{"", "1.36.0", 0, false},
		{"https://example.com/release", "1.36.0", 0, false},
		{"1.2.3.4", "1.36.0", 0, false},
	} {
		got, ok := compareVersions(tc.a, tc.b)
		if sign := max(-1, min(1, got)); sign != tc.want || ok != tc.ok {
			t.Errorf("compareVersions(%q, %q) = %d, %v; want %d, %v", tc.a, tc.b, got, ok, tc.want, tc.ok)
		}
	}
}

// Standard input goes on to kops whole, up to the bound, and with one byte more it is refused: nothing is cut off in silence.
func TestManifestsOnStandardInputAreWholeOrRefused(t *testing.T) {
	const head = "kind: Cluster\n"
	for _, size := range []int{maxManifest, maxManifest + 1} {
		p := &prober{stdin: io.MultiReader(strings.NewReader(head), strings.NewReader(strings.Repeat("\n", size-len(head))))}
		_, err := p.manifest(context.Background(), "-")
		if size <= maxManifest && (err != nil || len(p.read) != size) {
			t.Errorf("%d bytes: %d are read, %v", size, len(p.read), err)
		}
		if size > maxManifest && (err == nil || !strings.Contains(err.Error(), "is larger than 64 MiB")) {
			t.Errorf("%d bytes: got %v", size, err)
		}
	}
}
