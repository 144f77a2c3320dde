package cli

import (
	_ "embed"
	"io"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
)

var (
	//go:embed completion/kopshook.bash
	bashCompletion string
	//go:embed completion/_kopshook
	zshCompletion string
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		UsageText: "kopshook completion bash|zsh|fish",
		Description: `Examples:
   source <(kopshook completion bash)
   kopshook completion zsh > ~/.zfunc/_kopshook
   kopshook completion fish > kopshook.fish`,
		BashComplete: func(c *cli.Context) {
			io.WriteString(c.App.Writer, "bash\nzsh\nfish\n")
		},
		Action: func(c *cli.Context) error {
			var script string
			switch shell := c.Args().First(); shell {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				s, err := c.App.ToFishCompletion()
				if err != nil {
					return err
				}
				script = s
			default:
				return report.Hint("name one of bash, zsh, fish", "no completion script for shell %q", shell)
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}
