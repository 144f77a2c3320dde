package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// optionsFirst moves options before the files, as urfave/cli wants them: people write them in any order. What stands
// behind "--" stays where it is.
func optionsFirst(app *cli.App, args []string) []string {
	if len(args) < 3 {
		return args
	}
	if args[1] == "help" && app.Command(args[2]) == nil {
		return append([]string{args[0]}, args[2:]...) // which says that there is no such command
	}
	cmd := app.Command(args[1])
	if cmd == nil || cmd.SkipFlagParsing || len(cmd.Subcommands) > 0 {
		return args
	}
	var options, files []string
	rest := args[2:]
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			if cmd.Name == "exec" && len(files) == 0 {
				files = append(files, "--") // urfave/cli takes one that comes right behind options
			}
			files = append(append(files, "--"), rest...)
			break
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			files = append(files, arg)
			continue
		}
		options = append(options, arg)
		if takesValue(cmd, arg) {
			if len(rest) == 0 || isOption(cmd, rest[0]) {
				return slices.Concat(args[:2], options) // with nothing behind it, so that urfave/cli finds no value either
			}
			options = append(options, rest[0])
			rest = rest[1:]
		}
	}
	return slices.Concat(args[:2], options, files)
}

// takesValue says whether the option's value is the next argument.
func takesValue(cmd *cli.Command, option string) bool {
	if strings.Contains(option, "=") {
		return false
	}
	name := strings.TrimLeft(option, "-")
	if !strings.HasPrefix(option, "--") && len(name) > 1 {
		name = name[len(name)-1:] // of combined short options, the last one may take a value
	}
	v, ok := flagOf(cmd, name).(cli.DocGenerationFlag)
	return ok && v.TakesValue()
}

// isOption says whether an argument is certainly no option's value: -5s may be one. A value that looks like an option is
// written with =.
func isOption(cmd *cli.Command, arg string) bool {
	if arg == "--generate-bash-completion" { // a shell asks
		return false
	}
	return strings.HasPrefix(arg, "--") || len(arg) == 2 && flagOf(cmd, strings.TrimPrefix(arg, "-")) != nil
}

func flagOf(cmd *cli.Command, name string) cli.Flag {
	for _, f := range cmd.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}
