package unitfile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/cloudinit"
)

const dropIn = "/lib/systemd/system/kops-configuration.service.d/custom.conf"

func bootcmd(items ...string) *cloudinit.Run {
	run := &cloudinit.Run{What: "bootcmd", Content: strings.Join(items, "\n")}
	for _, text := range items {
		run.Items = append(run.Items, cloudinit.Item{Text: text})
	}
	return run
}

func TestRecipeOfTheDocumentation(t *testing.T) {
	got := FindRecipe(bootcmd(
		"mkdir -p "+strings.TrimSuffix(dropIn, "/custom.conf"),
		"echo [Service] >> "+dropIn,
		"modprobe br_netfilter",
		"echo ExecStartPre=/bin/bash /opt/before.sh >> "+dropIn,
		"echo ExecStopPost=/bin/touch /var/done >> "+dropIn,
		"echo TimeoutSec=infinity",
		"systemd daemon-reload",
	))
	want := &Recipe{File: dropIn, Before: []Exec{{"/bin/bash /opt/before.sh", 3}}, After: []Exec{{"/bin/touch /var/done", 4}}, Appended: true,
		Items: []int{0, 1, 3, 4, 5, 6}, Cut: []string{"TimeoutSec=infinity"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecipeInOtherForms(t *testing.T) {
	for name, items := range map[string][]string{
		"printf":          {`printf '[Service]\nExecStartPre=/opt/a\nTimeoutSec=90min\n' > ` + dropIn},
		"tee":             {"echo '[Service]' | tee " + dropIn, "echo 'ExecStartPre=/opt/a' | tee -a " + dropIn, "echo TimeoutStartSec=90min | sudo tee -a " + dropIn},
		"a here-document": {"cat > " + dropIn + " <<EOF\n[Service]\nExecStartPre=/opt/a\nTimeoutSec=5400\nEOF\n"},
		"a block":         {"{ echo [Service]; echo ExecStartPre=/opt/a; echo TimeoutSec=90m; } > " + dropIn},
		"written anew":    {"echo ExecStartPre=/opt/b > " + dropIn, "printf '[Service]\nExecStartPre=/opt/a\nTimeoutSec=90min\n' > " + dropIn},
	} {
		r := FindRecipe(bootcmd(items...))
		if r == nil {
			t.Errorf("%s: nothing is found", name)
			continue
		}
		limit, ok := r.Limit()
		if len(r.Before) != 1 || r.Before[0].Line != "/opt/a" || limit != 90*time.Minute || !ok || len(r.Items) != len(items) {
			t.Errorf("%s: got %+v", name, *r)
		}
	}
}

func TestNoRecipe(t *testing.T) {
	for name, items := range map[string][]string{
		"another unit":    {"echo ExecStartPre=/opt/a > /etc/systemd/system/kubelet.service.d/a.conf; echo kops-configuration"},
		"another setting": {"printf '[Service]\nEnvironment=A=kops-configuration\n' > " + dropIn},
		"only a word":     {"echo kops-configuration.service"},
	} {
		if r := FindRecipe(bootcmd(items...)); r != nil {
			t.Errorf("%s: got %+v", name, *r)
		}
	}
}

func TestScriptsOfCommands(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string // "" where there is none
	}{
		{[]string{"/opt/a -x b"}, "/opt/a -x b\n"},
		{[]string{"-/opt/a", "+/opt/b"}, "/opt/a || true\n/opt/b\n"},
		{[]string{`/bin/sh -c "a && b" 'it;s'`}, "/bin/sh -c 'a && b' 'it;s'\n"},
		{[]string{`/bin/echo *.txt & x`}, "/bin/echo '*.txt' '&' x\n"},
		{[]string{"/bin/touch /var/a/done"}, "mkdir -p /var/a\n/bin/touch /var/a/done\n"},
		{[]string{"/bin/touch /done"}, "/bin/touch /done\n"},
		{[]string{"/opt/a %n"}, ""},
		{[]string{"/opt/a $MAINPID"}, ""},
		{[]string{"/opt/a ; /opt/b"}, ""},
		{[]string{"@/opt/a b"}, ""},
		{[]string{`/opt/a "b`}, ""},
		{[]string{`/opt/a b"c"`}, ""},
		{[]string{"-"}, ""},
	} {
		var commands []Exec
		for _, l := range c.lines {
			commands = append(commands, Exec{Line: l})
		}
		got, ok := Script(commands)
		if ok != (c.want != "") || ok && got != "#!/bin/sh\nset -e\n"+c.want {
			t.Errorf("%q: got %q %v", c.lines, got, ok)
		}
	}
}
