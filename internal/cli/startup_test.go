package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// The program starts often. A package that compiles a large pattern, or fills a table by calls, when it is linked in makes
// each start slower; what it allocates then shows it, and does not depend on how busy the machine is.
func TestNoPackageDoesMuchAtStart(t *testing.T) {
	cmd := exec.Command(os.Args[0], "version")
	cmd.Args[0] = "kopshook"
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	const most = 32 << 10
	packages := regexp.MustCompile(`(?m)^init (kopshook\.dev/\S+) .* (\d+) bytes`).FindAllStringSubmatch(string(trace), -1)
	if len(packages) < 5 {
		t.Fatalf("only %d packages of kopshook are in\n%s", len(packages), trace)
	}
	for _, p := range packages {
		if p[1] == "kopshook.dev/kopshook/internal/cli" { // the tests' own variables are in it
			continue
		}
		if n, err := strconv.Atoi(p[2]); err != nil || n > most {
			t.Errorf("%s allocates %s bytes when the program starts, more than %d: do it when it is first needed", p[1], p[2], most)
		}
	}
}
