//go:build e2e

package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/cli"
)

// around is a folder to run kopshook exec in: a stand-in for kops that knows one cluster, and a kubeconfig whose context is called as
// that cluster is, as kops writes it.
type around struct{ dir string }

const clusterName = "main.example.com"

func newAround(t *testing.T) *around {
	t.Helper()
	a := &around{t.TempDir()}
	a.write(t, "kops", `#!/bin/sh
case "$1 $2 $*" in
"get cluster "*) echo '{"kind": "Cluster", "metadata": {"name": "`+clusterName+`"}, "spec": {"kubernetesVersion": "1.35.4"}}' ;;
"upgrade cluster "*--yes*) echo "kops $*" >> "$DONE" ;;
"upgrade cluster "*) ;;
*) echo "kops $*" >> "$DONE" ;;
esac
`)
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: admin-token}}]
contexts: [{name: %[2]s, context: {cluster: c, user: u}}]
current-context: %[2]s
`, cluster.config.Host, clusterName)
	t.Setenv("KUBECONFIG", a.write(t, "kubeconfig", text))
	t.Setenv("DONE", filepath.Join(a.dir, "done"))
	t.Setenv("HOME", a.dir)
	t.Setenv("PATH", os.Getenv("KOPSHOOK_PROGRAMS")+":"+os.Getenv("PATH")) // kubectl
	return a
}

func (a *around) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// exec runs kopshook exec with a spec around kops. done is what kops was asked to do.
func (a *around) exec(t *testing.T, spec string, options []string, command ...string) (code int, done, stdout, stderr string) {
	t.Helper()
	os.Remove(os.Getenv("DONE"))
	args := append([]string{"kopshook", "exec", "--work-dir", filepath.Join(a.dir, "work")}, options...)
	args = append(append(args, "-f", spec, "--", filepath.Join(a.dir, "kops")), command...)
	var out, errs strings.Builder
	code = cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	data, _ := os.ReadFile(os.Getenv("DONE"))
	return code, string(data), out.String(), errs.String()
}
