package lint

import (
	"os"
	"path/filepath"
	"testing"

	"kopshook.dev/kopshook/internal/report"
)

// What lint says of a node is what its finding means for the verdict, which all views show.
func TestEffects(t *testing.T) {
	const ubuntu = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260101"
	script := func(lines ...string) string { return groupWith(ubuntu, "", lines...) }
	for name, c := range map[string]struct {
		text string
		want Effect
	}{
		"swap":                         {script("mkswap /s", "swapon /s"), KubeletFails},
		"swap after an entry of fstab": {script("echo '/s none swap sw 0 0' >> /etc/fstab", "swapon /s"), KubeletFails},
		"swap if something is so":      {script("test ! -e /s || swapon /s"), NoEffect},
		"swap on the next boot":        {script("echo '/s none swap sw 0 0' >> /etc/fstab"), NoEffect},
		"a script that does not parse": {script("if true; then echo"), Loses},
	} {
		t.Run(name, func(t *testing.T) {
			worst := NoEffect
			for _, f := range lintExample(t, c.text) {
				worst = max(worst, f.Effect)
			}
			if worst != c.want {
				t.Errorf("got %v, want %v", worst, c.want)
			}
		})
	}
}

// withoutEffect are the errors whose bad example leaves the verdict as it is: the machines join, or nobody can say.
var withoutEffect = map[string]string{
	"KH017": "a guarded reboot, or a hook that may be done before the machine goes down",
	"KH018": "the node runs what stands there",
	"KH035": "the example ends the others only if something is so",
	"KH038": "the command runs, without its end",
	"KH040": "the file has another mode",
	"KH050": "systemd breaks the cycle where it likes",
	"KH052": "nodeup starts the kubelet again",
	"KH054": "the mount may come before nodeup writes",
	"KH062": "what apt does depends on the packages",
	"KH063": "the first boot goes well",
	"KH066": "the command fails, and the next one runs",
	"KH070": "the secret arrives",
	"KH081": "nothing is merged into such a file",
}

// An error of lint's is in the verdict too, or is listed above.
func TestErrorsChangeTheVerdict(t *testing.T) {
	for _, r := range Rules() {
		if r.Severity != report.Error {
			continue
		}
		page, err := os.ReadFile(filepath.Join(rulesDir, r.Code+".md"))
		if err != nil {
			t.Fatal(err)
		}
		worst := NoEffect
		for _, f := range lintExample(t, example(t, string(page), "bad")) {
			if f.Code == r.Code {
				worst = max(worst, f.Effect)
			}
		}
		if why := withoutEffect[r.Code]; (worst == NoEffect) != (why != "") {
			t.Errorf("%s (%s) has effect %d on its bad example; withoutEffect says %q", r.Code, r.Title, worst, why)
		}
	}
}
