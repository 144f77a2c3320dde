package cli

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

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

// completeOption answers a shell that asks how an option may go on, which it does by its unfinished word and
// --generate-bash-completion as the last arguments. urfave/cli 2.27.7 would read the word as an option first, and fail.
// After a whole option there is nothing to say: a value or a file comes next.
func completeOption(app *cli.App, args []string) bool {
	n := len(args)
	if n < 4 || args[n-1] != "--generate-bash-completion" || !strings.HasPrefix(args[n-2], "-") || slices.Contains(args[1:n-2], "--") {
		return false
	}
	word, flags, commands := args[n-2], app.Flags, app.Commands
	for _, name := range args[1 : n-2] {
		if at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) }); at >= 0 {
			flags, commands = commands[at].Flags, commands[at].Subcommands
		}
	}
	var found []string
	for _, f := range flags {
		for _, name := range f.Names() {
			option := "--" + name
			if len(name) == 1 {
				option = "-" + name
			}
			if option == word {
				return true
			}
			if strings.HasPrefix(option, word) {
				found = append(found, option)
			}
		}
	}
	for _, option := range found {
		fmt.Fprintln(app.Writer, option)
	}
	return true
}
