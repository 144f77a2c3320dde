//go:build unix

package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/report"
)

// A hook that comes after kops create cluster waits for the API of the new cluster; any other asks at once.
func TestInstallHooksWaitForTheAPI(t *testing.T) {
	// stands for kubectl: the API answers when it was asked three times
	const kubectl = `#!/bin/sh
shift 2 # --context NAME
case "$1 $2" in
"get --raw") echo "asked for $3" >> log; test "$(grep -c asked log)" -gt 2 ;;
*) cat > /dev/null; echo "$1" >> log ;;
esac
`
	for event, want := range map[string]string{
		"pre-install":  "asked for /readyz\nwaited\nasked for /readyz\nwaited\nasked for /readyz\ndelete\ncreate\n",
		"post-install": "asked for /readyz\nwaited\nasked for /readyz\nwaited\nasked for /readyz\ndelete\ncreate\n",
		"pre-upgrade":  "delete\ncreate\n",
	} {
		t.Run(event, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"kubectl": kubectl, "sleep": "#!/bin/sh\necho waited >> log\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var r report.Report
			made := Convert("helm", "input", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations: {helm.sh/hook: "+event+"}\n"), Options{}, &r)
			docs := clusterhooks.Decode("result.yaml", made, &r)
			if r.HasErrors() || len(docs) != 1 {
				t.Fatalf("%v in\n%s", r.Findings, made)
			}
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", *docs[0].Hooks[0].Script)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "KOPSHOOK_CLUSTER=new.example.com"}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
