package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/report"
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

// checkOptions refuses what urfave/cli takes in silence: an option for one value that is given twice, of which the first would be
// lost, and an option with an empty value, which a variable that is not set leaves. args are as optionsFirst returns them.
func checkOptions(app *cli.App, args []string) error {
	if len(args) < 3 || args[len(args)-1] == "--generate-bash-completion" {
		return nil
	}
	cmd := app.Command(args[1])
	if cmd == nil || cmd.SkipFlagParsing || len(cmd.Subcommands) > 0 || cmd.Name == "exec" && !slices.Contains(args, "--") {
		return nil // exec says itself that there is no --: the options may be those of kops
	}
	var errs []error
	given := map[string]bool{}
	rest := args[2:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" && rest[0] != "--" {
		option, value, equals := strings.Cut(rest[0], "=")
		rest = rest[1:]
		if option == "--help" || option == "-h" {
			return nil
		}
		if !takesValue(cmd, option) {
			continue
		}
		if !equals {
			if len(rest) == 0 {
				break // urfave/cli says so
			}
			value, rest = rest[0], rest[1:]
		}
		name, repeats := valueOption(cmd, option)
		if value == "" {
			errs = append(errs, report.Hint("a variable may not be set: look at what it holds, or leave "+name+" out", "%s is empty", name))
		}
		if given[name] && !repeats {
			errs = append(errs, report.Hint("give it once", "%s is given twice", name))
		}
		given[name] = true
	}
	return errors.Join(errs...)
}

// valueOption returns the long name of an option that takes a value, and whether it may be repeated.
func valueOption(cmd *cli.Command, option string) (name string, repeats bool) {
	short := strings.TrimLeft(option, "-")
	if !strings.HasPrefix(option, "--") {
		short = short[len(short)-1:]
	}
	f := flagOf(cmd, short)
	slice, ok := f.(cli.DocGenerationSliceFlag)
	return dashed(f.Names()[0]), ok && slice.IsSliceFlag()
}

func flagOf(cmd *cli.Command, name string) cli.Flag {
	for _, f := range cmd.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}
