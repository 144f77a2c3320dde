package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"
)

// exampleLine is a command line in a help text.
var exampleLine = regexp.MustCompile(`(?m)^ +((?:[A-Z_]+='[^']*' |sudo )?(?:kopshook|kops|source) .*)$`)

// standInKops is a kops that knows one cluster, examples/mixed: enough for the pipelines of help texts and docs.
const standInKops = `#!/bin/sh
set -eu
case "$1 $2" in
"get ig") sed -n '/^kind: InstanceGroup/,$p' examples/mixed/cluster.yaml | sed '1i apiVersion: kops.k8s.io/v1alpha2' ;;
"replace -f") cat "$3" > replaced.yaml; grep -q kopshook- replaced.yaml ;;
"edit ig") "$0" get ig > edited.yaml; ${EDITOR} edited.yaml; grep -q kopshook- edited.yaml ;;
"get cluster") echo '{"kind": "Cluster", "metadata": {"name": "main.example.com"}, "spec": {"kubernetesVersion": "1.36.1"}}' ;;
*) echo "stand-in kops: $*" ;;
esac
`

// mayFind stands before every example: exit code 1 is fine for commands that exist to find something, and for no other.
const mayFind = `kopshook() {
  command kopshook "$@" || {
    code=$?
    case $code$1 in 1check | 1diff | 1fit | 1lint | 1status) return 0 ;; esac
    return $code
  }
}
sudo() {
  case "$*" in
  "kopshook try "*) ;; # boots a node: e2e/ runs those
  *) command sudo "$@" ;;
  esac
}
`

func TestEveryCommandHasItsPlaceInTheHelp(t *testing.T) {
	var named []string
	for _, category := range categories {
		named = append(named, category.commands...)
	}
	for _, c := range newApp(strings.NewReader(""), io.Discard, io.Discard).VisibleCommands() {
		if !slices.Contains(named, c.Name) && !slices.Contains([]string{"help", "version", "completion"}, c.Name) {
			t.Errorf("%s is under more: name it in categories", c.Name)
		}
	}
}

// TestHelpExamples runs every command line that a help text shows: in a copy of the project's examples, with a
// stand-in for kops.
func TestHelpExamples(t *testing.T) {
	var walk func(prefix string, commands []*cli.Command)
	walk = func(prefix string, commands []*cli.Command) {
		for _, cmd := range commands {
			name := prefix + cmd.Name
			if cmd.Name == "help" || cmd.Hidden {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				lines := exampleLine.FindAllStringSubmatch(cmd.Description, -1)
				if len(lines) == 0 {
					t.Fatalf("kopshook %s --help shows no example", name)
				}
				for _, line := range lines {
					runExample(t, line[1], "")
				}
			})
			walk(name+" ", cmd.Subcommands)
		}
	}
	walk("", newApp(strings.NewReader(""), io.Discard, io.Discard).Commands)
}

// lookFor says which lines of the file shown the example has not printed.
const lookFor = `while IFS= read -r line; do
  case $line in '' | *...) continue ;; esac
  grep -qxF -e "$line" .out || { echo "not printed: $line" >&2; exit 1; }
done < .shown
`

// runExample runs a shell script in a fresh copy of the examples, with bash -e. It must print the lines of shown.
func runExample(t *testing.T, script, shown string) {
	t.Helper()
	txtar := "exec bash -eo pipefail .example.sh\n"
	if shown != "" {
		txtar = "exec bash -c 'bash -eo pipefail .example.sh > .printed 2>&1; code=$?; cat .printed; exit $code'\n" +
			"exec sed 's/ *$//w .out' .printed\nexec sh .look.sh\n"
	}
	txtar += "-- .example.sh --\n" + mayFind + script + "\n-- .look.sh --\n" + lookFor + "-- .shown --\n" + shown
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "example.txtar"), []byte(txtar), 0o666); err != nil {
		t.Fatal(err)
	}
	p := params(t, dir)
	p.UpdateScripts = false
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		for _, top := range []string{"examples", "golden"} {
			if top == "golden" && !strings.Contains(script, top) {
				continue // hundreds of files, which take longer than most examples
			}
			if err := os.CopyFS(filepath.Join(env.WorkDir, top), os.DirFS(filepath.Join(env.Getenv("REPO"), top))); err != nil {
				return err
			}
		}
		for _, f := range []string{"hooks.yaml", "cluster.yaml"} {
			from := map[string]string{"hooks.yaml": "examples/gpu/hooks.yaml", "cluster.yaml": "examples/mixed/cluster.yaml"}[f]
			data, err := os.ReadFile(filepath.Join(env.Getenv("REPO"), from))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(env.WorkDir, f), data, 0o666); err != nil {
				return err
			}
		}
		bin := filepath.Join(env.WorkDir, ".bin")
		if err := os.MkdirAll(bin, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(bin, "kops"), []byte(standInKops), 0o777); err != nil {
			return err
		}
		env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
		env.Setenv("HOME", env.WorkDir)
		return os.MkdirAll(filepath.Join(env.WorkDir, ".zfunc"), 0o777)
	}
	testscript.Run(t, p)
}
