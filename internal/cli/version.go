package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/templates"
)

// version is set by the release build (-ldflags "-X kopshook.dev/kopshook/internal/cli.version=v1.2.3").
var version = ""

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "print the version, the commit and the runtimes it knows",
		UsageText: "kopshook version",
		Description: `Example:
   kopshook version`,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return report.Hint("run kopshook version", "version takes no arguments")
			}
			_, err := fmt.Fprintf(c.App.Writer, "kopshook %s\ncommit: %s\nruntimes: %s\ngo: %s %s/%s\n",
				versionName(), commit(), strings.Join(templates.Runtimes(), ", "), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// versionName is the release's version, that of `go install kopshook.dev/kopshook@VERSION`, or "devel".
func versionName() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// commit is the git commit of the build, with "+dirty" when the tree had changes, or "unknown".
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "unknown", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	return rev + dirty
}
