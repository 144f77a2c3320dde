package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/report"
)

// waitsForNodes are the commands that fail when machines do not become nodes.
var waitsForNodes = []string{"rolling-update cluster", "reconcile cluster", "validate cluster"}

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
}
