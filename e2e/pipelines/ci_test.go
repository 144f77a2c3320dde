package pipelines

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"
)

// kopshook returns a folder with the program, built once.
func kopshook(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		program.dir, program.err = os.MkdirTemp("", "kopshook-pipelines")
		if program.err == nil {
			leftovers = append(leftovers, program.dir)
			run(t, repository(t), nil, "go", "build", "-o", filepath.Join(program.dir, "kopshook"), ".")
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.dir
}

var program struct {
	once sync.Once
	dir  string
	err  error
}

// pullRequest is a git repository with a spec and manifests: the commit base is what is there before. On top of it the
// spec has changed and, with merged, the manifest too.
func pullRequest(t *testing.T, merged bool) (dir, base string) {
	t.Helper()
	dir = t.TempDir()
	for to, from := range map[string]string{"hooks.yaml": "examples/gpu/hooks.yaml", "cluster.yaml": "examples/mixed/cluster.yaml"} {
		data, err := os.ReadFile(filepath.Join(repository(t), from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	merge := func() {
		run(t, dir, nil, filepath.Join(kopshook(t), "kopshook"), "merge", "-w", "-f", "hooks.yaml", "cluster.yaml")
	}
	commit := func() {
		run(t, dir, fixed, "git", "add", "-A")
		run(t, dir, fixed, "git", "commit", "-q", "--no-gpg-sign", "-m", "x")
	}
	run(t, dir, fixed, "git", "init", "-q")
	merge()
	commit()
	base = strings.TrimSpace(run(t, dir, fixed, "git", "rev-parse", "HEAD"))
	run(t, dir, nil, "sed", "-i.old", `s/DRIVER: "580-server"/DRIVER: "590-server"/`, "hooks.yaml")
	if merged {
		merge()
	}
	commit()
	return dir, base
}

// shell runs a script as a pipeline does and returns what it printed and whether it succeeded.
func shell(t *testing.T, dir string, env []string, script string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script) // GitHub's `shell: bash`
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PATH="+kopshook(t)+":"+os.Getenv("PATH")), env...)
	data, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(data), err == nil
}

// action is action.yml.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Steps []struct {
			Name, ID, Shell, Run string
			Env                  map[string]string
		}
	}
}

// step runs a step of the action with inputs. Expressions are the few that the action has.
func (a *action) step(t *testing.T, dir, name string, inputs map[string]string, env []string) (out string, ok bool) {
	t.Helper()
	for _, s := range a.Runs.Steps {
		if s.Name != name {
			continue
		}
		for key, expression := range s.Env {
			m := regexp.MustCompile(`^\$\{\{ inputs\.(\w+)( \|\| github\.event\.pull_request\.base\.sha)? \}\}$`).FindStringSubmatch(expression)
			if m == nil {
				t.Fatalf("step %s: %s is %q: inputs reach the shell through the environment only", name, key, expression)
			}
			value, given := inputs[m[1]]
			if !given {
				value = a.Inputs[m[1]].Default
			}
			if value == "" && m[2] != "" {
				value = inputs["pull request's base"]
			}
			env = append(env, key+"="+value)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %s puts an expression into its script: anybody's branch name would run there", name)
		}
		return shell(t, dir, env, s.Run)
	}
	t.Fatalf("action.yml has no step %q", name)
	return "", false
}

func TestGitHubAction(t *testing.T) {
	var a action
	readYAML(t, "action.yml", &a)
	tests := []struct {
		name     string
		merged   bool
		inputs   map[string]string
		forecast string // in the summary
		changes  string
		check    bool
	}{
		{"a change that is merged", true, nil, "| `main.example.com` | `gpu-a` | `Node` | 0 to 8 | joins when its 2 hooks succeed, maybe too late | 1h31m (nvidia-driver) | `nvidia-driver` |", "true", true},
		{"a change that somebody forgot to merge", false, nil, "`nvidia-driver`", "true", false},
		{"no pull request: the manifest as it is", true, map[string]string{"pull request's base": ""}, "merging changes nothing", "false", true},
		{"a base by name", true, map[string]string{"base": "HEAD"}, "merging changes nothing", "false", true},
		{"a manifest that is new", true, map[string]string{"manifests": "new.yaml"}, "all manifests are new", "false", false},
		{"lists with empty lines", true, map[string]string{"specs": "\nhooks.yaml\n\n", "manifests": "cluster.yaml\n"}, "`nvidia-driver`", "true", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, base := pullRequest(t, test.merged)
			run(t, dir, nil, "cp", filepath.Join(repository(t), "examples/mixed/cluster.yaml"), "new.yaml")
			inputs := map[string]string{"specs": "hooks.yaml", "manifests": "cluster.yaml", "pull request's base": base}
			for k, v := range test.inputs {
				inputs[k] = v
			}
			temp := t.TempDir()
			env := []string{"RUNNER_TEMP=" + temp, "GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary"), "GITHUB_OUTPUT=" + filepath.Join(temp, "output")}
			if out, ok := a.step(t, dir, "Forecast", inputs, env); !ok {
				t.Fatalf("the forecast failed: %s", out)
			}
			summary := run(t, temp, nil, "cat", "summary")
			if !strings.Contains(summary, test.forecast) {
				t.Errorf("the summary has no %q:\n%s", test.forecast, summary)
			}
			output := run(t, temp, nil, "cat", "output")
			if want := "file=" + filepath.Join(temp, "kopshook-forecast.md") + "\nchanges=" + test.changes + "\n"; output != want {
				t.Errorf("outputs %q, not %q", output, want)
			}
			if out, ok := a.step(t, dir, "Check", inputs, env); ok != test.check {
				t.Errorf("the check succeeds: %v, want %v:\n%s", ok, test.check, out)
			}
		})
	}
	t.Run("a mistake in a spec fails the forecast", func(t *testing.T) {
		dir, base := pullRequest(t, true)
		if err := os.WriteFile(filepath.Join(dir, "hooks.yaml"), []byte("a: ["), 0o666); err != nil {
			t.Fatal(err)
		}
		temp := t.TempDir()
		env := []string{"RUNNER_TEMP=" + temp, "GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary"), "GITHUB_OUTPUT=" + filepath.Join(temp, "output")}
		out, ok := a.step(t, dir, "Forecast", map[string]string{"specs": "hooks.yaml", "manifests": "cluster.yaml", "pull request's base": base}, env)
		if ok || !strings.Contains(out, "hooks.yaml:1:") {
			t.Errorf("succeeded or did not say where: %s", out)
		}
	})
	t.Run("the build", func(t *testing.T) {
		temp := t.TempDir()
		env := []string{"RUNNER_TEMP=" + temp, "GITHUB_ACTION_PATH=" + repository(t), "GITHUB_PATH=" + filepath.Join(temp, "path"), "GOFLAGS=-trimpath=false"}
		if out, ok := a.step(t, temp, "Build kopshook", nil, env); !ok {
			t.Fatal(out)
		}
		if got := run(t, temp, nil, "cat", "path"); got != filepath.Join(temp, "kopshook-bin")+"\n" {
			t.Errorf("adds %q to PATH", got)
		}
		run(t, temp, nil, "kopshook-bin/kopshook", "version")
	})
}

// blocks returns the fenced code blocks of a page in one language.
func blocks(t *testing.T, page, info string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+regexp.QuoteMeta(info)+"\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		found = append(found, m[1])
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block of %s", page, info)
	}
	return found
}

func TestGitLabJob(t *testing.T) {
	var job struct {
		Script    []string
		Artifacts struct{ Paths []string }
	}
	for _, block := range blocks(t, "docs/ci.md", "yaml") {
		var page map[string]yaml.Node
		if err := yaml.Unmarshal([]byte(block), &page); err != nil {
			t.Fatal(err)
		}
		if n, ok := page["kopshook"]; ok {
			if err := n.Decode(&job); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(job.Script) < 3 || !strings.HasPrefix(job.Script[0], "git clone ") || job.Script[1] != "make -C /tmp/kopshook install" {
		t.Fatalf("script %q", job.Script)
	}
	for _, merged := range []bool{true, false} {
		dir, base := pullRequest(t, merged)
		out, ok := shell(t, dir, []string{"CI_MERGE_REQUEST_DIFF_BASE_SHA=" + base}, strings.Join(job.Script[2:], "\n"))
		if ok != merged || !strings.Contains(out, "a rolling update will replace 0 to 8 nodes") {
			t.Errorf("merged %v: succeeds %v:\n%s", merged, ok, out)
		}
		for _, p := range job.Artifacts.Paths {
			if _, err := os.Stat(filepath.Join(dir, p)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID, Name, Entry, Language string
		PassFilenames             *bool `yaml:"pass_filenames"`
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	results := map[string][2]bool{ // succeeds with a manifest that is merged, with one that is not
		"kopshook-merge": {true, true}, // pre-commit itself fails when a file changes
		"kopshook-check": {true, false},
		"kopshook-lint":  {true, true},
	}
	for _, h := range hooks {
		want, known := results[h.ID]
		if !known || h.Language != "golang" || h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("%+v", h)
			continue
		}
		delete(results, h.ID)
		for i, merged := range []bool{true, false} {
			dir, _ := pullRequest(t, merged)
			args := " -f hooks.yaml cluster.yaml"
			if h.ID == "kopshook-lint" {
				args = " -f hooks.yaml"
			}
			out, ok := shell(t, dir, nil, h.Entry+args)
			if ok != want[i] {
				t.Errorf("%s, merged %v: succeeds %v:\n%s", h.ID, merged, ok, out)
			}
			changed := run(t, dir, fixed, "git", "status", "--porcelain", "cluster.yaml")
			if wantChange := h.ID == "kopshook-merge" && !merged; (changed != "") != wantChange {
				t.Errorf("%s, merged %v: changes %q", h.ID, merged, changed)
			}
		}
	}
	for id := range results {
		t.Errorf(".pre-commit-hooks.yaml has no %s", id)
	}
}
