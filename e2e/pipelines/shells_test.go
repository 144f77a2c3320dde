//go:build e2e

package pipelines

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked are lines as somebody types them, and what real shells offer for their last word. "ig.yaml" and "specs" lie in the folder.
var asked = []struct {
	line string
	want []string
}{
	{"kopshook mer", []string{"merge"}},
	{"kopshook explain -o ", []string{"html", "json", "mermaid", "svg", "text"}},
	{"kopshook explain ig.yaml -g ", []string{"gpu", "nodes"}},
	{"kopshook explain ig.yaml --cluster ", []string{"main.example.com"}},
	{"kopshook lint --severity ", []string{"error", "info", "warning"}},
	{"kopshook try --suite boo", []string{"bookworm"}},
	{"kopshook new nvidia-f", []string{"nvidia-fabricmanager"}},
	{"kopshook merge --wr", []string{"--write"}},
	{"kopshook merge -f s", []string{"specs"}},
	{"kopshook merge -f specs i", []string{"ig.yaml"}},
	{"kopshook explain --times i", []string{"ig.yaml"}},
}

// shellFolder is a folder to ask in, and a PATH with kopshook.
func shellFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	bin := t.TempDir()
	run(t, repository(t), nil, "go", "build", "-o", filepath.Join(bin, "kopshook"), ".")
	const group = "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: %s, labels: {kops.k8s.io/cluster: main.example.com}}\nspec: {role: Node}\n"
	if err := os.WriteFile(filepath.Join(dir, "ig.yaml"), []byte(fmt.Sprintf(group+group, "nodes", "gpu")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
}

func TestFishCompletes(t *testing.T) {
	dir, env := shellFolder(t)
	for _, a := range asked {
		out := run(t, dir, append(env, "ASKED="+a.line), "fish", "--no-config", "-c", "source (kopshook completion fish | psub); complete -C $ASKED")
		var got []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, strings.TrimSuffix(word, "/"))
		}
		slices.Sort(got)
		if diff := cmp.Diff(a.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.line, diff)
		}
	}
	if out := run(t, dir, env, "fish", "--no-config", "-c", "source (kopshook completion fish | psub); complete -C 'kopshook merge --wr'"); !strings.Contains(out, "\twrite the files in place") {
		t.Errorf("it does not say what an option means: %q", out)
	}
}

// askZsh types a line into an interactive zsh, and the key that completes it, and prints the screen.
const askZsh = `zmodload zsh/zpty zsh/zselect
zpty shell "TERM=dumb zsh -f -i"
zpty -w shell 'PS1= RPS1= PS2= LISTMAX=1000; fpath=($FUNCTIONS $fpath); autoload -Uz compinit; compinit -u -D; zstyle ":completion:*" menu no'
zpty -w shell 'ask() { compadd() { local -a offered; builtin compadd -O offered "$@"; print -rl -- "${offered[@]/#/<}" >> $SAID; builtin compadd "$@" }; _main_complete; unfunction compadd }'
zpty -w shell 'zle -C ask complete-word ask; bindkey "^X" ask; echo rea""dy'
zpty -r shell out '*ready*'
zpty -w -n shell "$ASKED"$'\x18'
for i in {1..100}; do
  zselect -t 5
  while zpty -r -t shell out; do :; done
  [[ -s $SAID ]] && break
done
zselect -t 20
zpty -d shell
`

func TestZshCompletes(t *testing.T) {
	dir, env := shellFolder(t)
	functions := t.TempDir()
	if err := os.WriteFile(filepath.Join(functions, "_kopshook"), []byte(run(t, dir, env, "sh", "-c", "kopshook completion zsh")), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, a := range asked {
		said := filepath.Join(t.TempDir(), fmt.Sprint(i))
		run(t, dir, append(env, "ASKED="+a.line, "SAID="+said, "FUNCTIONS="+functions), "zsh", "-f", "-c", askZsh)
		out, err := os.ReadFile(said)
		if err != nil {
			t.Errorf("%s: nothing is offered: %v", a.line, err)
			continue
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^<(.+)$`).FindAllStringSubmatch(string(out), -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		got = slices.Compact(got)
		if diff := cmp.Diff(a.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.line, diff)
		}
	}
}
