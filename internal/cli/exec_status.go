package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/machines"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// waitsForNodes are the commands that fail when machines do not become nodes.
var waitsForNodes = []string{"rolling-update cluster", "reconcile cluster", "delete instance", "validate cluster"}

// surveyTimeout bounds what a failed command adds to its own time.
const surveyTimeout = time.Minute

// sayWhyNotNodes says, after a command that waited for nodes in vain, what the other machines are at. It never changes how
// the command ends.
func sayWhyNotNodes(c *cli.Context, result *clusterhooks.Result) {
	if !result.Kops.Started || result.Kops.ExitCode == 0 || result.Signal != 0 {
		return
	}
	command := clusterhooks.ParseCommand(result.Command)
	name, store := command.Cluster(os.Getenv), command.StateStore(os.Getenv)
	if !slices.Contains(waitsForNodes, command.Name) || name == "" || store == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Context), surveyTimeout)
	defer stop()
	say := func(format string, args ...any) {
		fmt.Fprintf(c.App.ErrWriter, "kopshook: "+format+"\n", args...)
	}
	s, err := newClusterStatus(ctx, name, store)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if err != nil {
		say("cannot tell why machines are not nodes: %s", report.OneLine(err.Error()))
		return
	}
	findings, note, err := s.look(ctx)
	if err != nil {
		say("cannot tell why machines are not nodes: %s", report.OneLine(err.Error()))
		return
	}
	if note != "" {
		say("%s", report.OneLine(note))
	}
	for line := range strings.Lines(s.text(findings, time.Now())) {
		say("%s", strings.TrimRight(line, "\n"))
	}
	running := slices.ContainsFunc(findings, func(f machines.Finding) bool { return f.Verdict == machines.Running })
	if option, waited := waitOf(command); running && !anyFailed(findings) && option != "" {
		say("hooks still run, and nothing has failed: kops waited %s, %s makes it wait longer", waited, option)
	}
}

// waitOf returns the option that says how long a command waits for nodes, and what it was; "" where it has none: reconcile.
func waitOf(c *clusterhooks.Command) (option, waited string) {
	switch c.Name {
	case "rolling-update cluster", "delete instance":
		option, waited = "validation-timeout", report.Duration(waits.KopsGivesUp)
	case "validate cluster":
		option, waited = "wait", "not at all" // cmd/kops/validate_cluster.go: once, unless told otherwise
	default:
		return "", ""
	}
	return "--" + option, cmp.Or(c.Option(option), waited)
}
