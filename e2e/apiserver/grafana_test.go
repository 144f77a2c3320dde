//go:build e2e

package apiserver

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Grafana's own schema, and the compiler that compares with it.
const (
	grafanaSchema = "@grafana/schema@13.2.3"
	typescript    = "typescript@5.9.3"
)

// Grafana's schema has all fields of the dashboard and of its panels' options, with values of their types. A
// field that is misspelled is an error, as TypeScript compares literals. Of queries the schema says nothing: a real Prometheus
// runs them.
func TestGrafanaTakesTheDashboard(t *testing.T) {
	_, text := monitoringFiles(t)
	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("package.json", "{}")
	if out, err := run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", grafanaSchema, typescript); err != nil {
		t.Fatalf("%v: run e2e/install.sh apiserver\n%s", err, out)
	}
	write("tsconfig.json", `{"compilerOptions": {"strict": true, "noEmit": true, "skipLibCheck": true, "module": "nodenext", "moduleResolution": "nodenext", "target": "es2022", "types": []}, "files": ["dashboard.ts"]}`)
	check := func(dashboard []byte) (string, error) {
		write("dashboard.ts", typed(t, dashboard))
		return run("node_modules/.bin/tsc", "-p", ".")
	}
	if out, err := check(text); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	// what a mistake would look like, so that the comparison is one
	broken := string(text)
	for _, fault := range [][2]string{{`"graphMode": "none"`, `"graphMood": "none"`}, {`"mode": "absolute"`, `"mode": "absolut"`}, {`"editable": true`, `"editable": "yes"`}} {
		if !strings.Contains(broken, fault[0]) {
			t.Fatalf("the dashboard has no %s", fault[0])
		}
		broken = strings.Replace(broken, fault[0], fault[1], 1)
	}
	out, err := check([]byte(broken))
	for _, want := range []string{"graphMood", "absolut", "boolean"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("nothing is said of %s: %v\n%s", want, err, out)
		}
	}
}

// typed is TypeScript that compares a dashboard with the types of the schema. Its enumerations are strings in JSON.
func typed(t *testing.T, dashboard []byte) string {
	t.Helper()
	var d struct {
		Panels []struct {
			Type    string
			Options json.RawMessage
		}
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
		t.Fatal(err)
	}
	const raw = "@grafana/schema/dist/esm/raw/composable/"
	var b strings.Builder
	b.WriteString("import type { Dashboard } from '@grafana/schema';\n")
	var kinds []string
	for _, p := range d.Panels {
		if !slices.Contains(kinds, p.Type) {
			kinds = append(kinds, p.Type)
		}
	}
	files := map[string]string{"stat": "StatPanelCfg", "table": "TablePanelCfg", "text": "TextPanelCfg", "timeseries": "TimeSeriesPanelCfg"}
	for _, k := range kinds {
		if files[k] == "" {
			t.Fatalf("panels of type %s have no schema here", k)
		}
		fmt.Fprintf(&b, "import type { Options as %s } from '%s%s/panelcfg/x/%s_types.gen';\n", k, raw, k, files[k])
	}
	b.WriteString("type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;\n")
	b.WriteString("type Some<T> = T extends (infer U)[] ? Some<U>[] : T extends object ? { [K in keyof T]?: Some<T[K]> } : T;\n")
	fmt.Fprintf(&b, "export const dashboard: Plain<Dashboard> = %s;\n", dashboard)
	for i, p := range d.Panels {
		fmt.Fprintf(&b, "export const options%d: Some<Plain<%s>> = %s;\n", i, p.Type, p.Options)
	}
	return b.String()
}
