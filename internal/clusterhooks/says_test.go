package clusterhooks

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What servers, hooks and clusters say controls no terminal, and makes up no line of a CI log.
func TestSomebodysWordsStayWords(t *testing.T) {
	const evil = "a\x1b[2J\x07\r\n::error::made up\u202e"
	var stdout, stderr bytes.Buffer
	r := &runner{Options: Options{Stdout: &stdout, Stderr: &stderr, Command: []string{"kops", evil}},
		result: &Result{Note: evil}, command: ParseCommand([]string{"kops"})}
	cluster := Target{Cluster: &Cluster{Name: evil}}
	hook := []stage{{BeforeUpgrade, []step{{hook: &Hook{Name: evil}}}}}
	extension := []stage{{AfterUpgrade, []step{{extension: &Extension{Name: evil}}}}}
	r.targets = []target{{Target: cluster, before: hook, after: extension}}
	r.printPlan()
	r.add(StepResult{Name: evil, Event: BeforeUpgrade, Status: Failed, Message: evil, Remedy: evil, Log: evil})
	r.say("%s", evil)

	const one, lines = "a\ufffd[2J\ufffd\ufffd\ufffd::error::made up\ufffd", "a\ufffd[2J\ufffd\ufffd\n    \ufffd:error::made up\ufffd"
	for name, c := range map[string]struct{ want, got string }{
		"the plan": {"no hooks: EVIL\n" +
			"before-upgrade             hook       EVIL (EVIL)\n" +
			"                           kops       kops EVIL\n" +
			"after-upgrade              extension  EVIL (EVIL)\n", stdout.String()},
		"messages": {"kopshook: before-upgrade: LINES: failed: LINES\n  hint: EVIL\n  log: EVIL\nkopshook: LINES\n", stderr.String()},
	} {
		want := strings.NewReplacer("EVIL", one, "LINES", lines).Replace(c.want)
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
