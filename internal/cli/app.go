// Package cli is the kopshook command: flags, files, streams and exit codes. All I/O of the program is here or in the
// packages that it calls for it: internal/file, source, bucket, machines, clusterhooks, kube, boot, localcluster and fakecloud.
//
// Rules of output: results go to standard output, everything else to standard error. Messages have a position
// ("file:line:col: error: ...") or begin with "kopshook:"; lower case, no full stop; remedies stand on "hint:" lines.
// Nothing is printed to standard output when anything failed.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"kopshook.dev/kopshook/internal/explain"
	"kopshook.dev/kopshook/internal/report"
)

// Exit codes of every command.
const (
	exitOK       = 0
	exitFindings = 1 // findings, or a difference
	exitInput    = 2 // usage or input error

	exitInterrupted = 128 + 2 // by SIGINT; Main has those for other signals
)

// Main runs kopshook with args (args[0] is the program) and returns its exit code.
func Main(args []string) int {
	ctx, signals := catchInterruptions(os.Stderr)
	return signals.exitCode(Run(ctx, args, os.Stdin, os.Stdout, os.Stderr))
}

// Run is Main with streams of the caller's.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &checkedWriter{w: stdout}
	app := newApp(stdin, out, stderr)
	if completeOption(app, args) {
		return exitOK
	}
	if len(args) == 2 && args[1] == "--version" {
		args = []string{args[0], "version"}
	}
	args = optionsFirst(app, args)
	err := checkOptions(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	if out.err != nil {
		err = fmt.Errorf("standard output: %w", out.err)
	}
	return exitCode(err, stderr)
}

// checkedWriter remembers the first error: not everything that prints looks at it.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil && err != nil {
		c.err = err
		var path *os.PathError
		if errors.As(err, &path) {
			c.err = path.Err
		}
	}
	return n, err
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	cli.FlagStringer = func(f cli.Flag) string { return describeOption(f).helpLine() } // the library has it for all apps
	app := &cli.App{
		Name:      "kopshook",
		Usage:     "hooks for kops instance groups: in place before the kubelet starts",
		UsageText: "kopshook COMMAND [OPTIONS] [FILE...]",
		Description: strings.TrimSpace(`
kopshook reads hook specs (kind: InstanceGroupHooks) and kops InstanceGroup manifests, and merges ordered user data
into spec.additionalUserData: what a node needs is done before its kubelet starts, and a node whose hooks failed
never joins.

   kops get ig --name my.cluster -o yaml | kopshook merge -f hooks.yaml - | kops replace -f -`),
		Reader:    stdin,
		Writer:    stdout,
		ErrWriter: stderr,
		Commands: []*cli.Command{
			newCommand(),
			adoptCommand(),
			mergeCommand(),
			renderCommand(),
			diffCommand(),
			checkCommand(),
			editCommand(),
			lintCommand(),
			explainCommand(),
			listCommand(),
			lockCommand(),
			vendorCommand(),
			fitCommand(),
			pushCommand(),
			addonCommand(),
			schemaCommand(),
			fnCommand(),
			externalCommand(),
			execCommand(),
			convertCommand(),
			tryCommand(),
			tryCloudCommand(),
			bakeCommand(),
			statusCommand(),
			versionCommand(),
			completionCommand(),
		},
		EnableBashCompletion:   true,
		HideVersion:            true,
		UseShortOptionHandling: true,
		// names of files may hold commas
		DisableSliceFlagSeparator: true,
		After:                     printWarnings,
		// exitCode prints errors and chooses the code
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c.App, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, cmd := range app.Commands {
		cmd.OnUsageError = usageError
	}
	return app
}

// exitError ends the command with a code. A nil err means that all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// failed ends the command after its report was printed.
var failed = &exitError{code: exitInput}

// differs ends the command that found a difference.
var differs = &exitError{code: exitFindings}

// invalidValue is what Go's flag package says of a value that an option does not take.
var invalidValue = regexp.MustCompile(`^invalid (boolean )?value (".*") for (?:flag )?-(\S+): `)

func usageError(c *cli.Context, err error, _ bool) error {
	name := "kopshook"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != c.App.Name {
		name += " " + c.Command.Name
	}
	remedy := "run " + name + " --help"
	if option, alone := strings.CutPrefix(err.Error(), "flag needs an argument: -"); alone {
		return report.Hint("write it behind the option, or "+dashed(option)+"=VALUE; "+remedy, "%s needs a value", dashed(option))
	}
	option, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if m := invalidValue.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		return report.Hint(remedy, "%s takes no value, or true or false, and not %s", dashed(m[3]), m[2])
	} else if m != nil {
		return report.Hint(remedy, "%s cannot be %s", dashed(m[3]), m[2])
	}
	if !unknown {
		return report.Hint(remedy, "%s", err)
	}
	for _, name := range []string{"-" + option, "--" + option} {
		if _, err := os.Stat(name); err == nil {
			return report.Hint("for the file of this name write ./"+name, "%s: unknown option", name)
		}
	}
	if near := report.Nearest(option, optionNames(c)); near != "" {
		remedy = fmt.Sprintf("did you mean %s?", dashed(near))
	} else if name == "kopshook exec" {
		remedy = "what is for kops stands behind --: " + execUsage
	}
	return report.Hint(remedy, "%s: unknown option", dashed(option))
}

// optionNames are the long names of a command's options.
func optionNames(c *cli.Context) []string {
	var names []string
	if c.Command != nil {
		for _, f := range c.Command.Flags {
			names = append(names, f.Names()...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return len(name) == 1 })
}

// dashed is an option as people write it: Go's flag package drops one of two dashes.
func dashed(option string) string {
	if len(option) == 1 {
		return "-" + option
	}
	return "--" + option
}

func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, c := range app.VisibleCommands() {
		names = append(names, c.Name)
	}
	remedy := "run kopshook --help for the list of commands"
	if near := report.Nearest(name, names); near != "" {
		remedy = fmt.Sprintf("did you mean `kopshook %s`?", near)
	}
	return report.Hint(remedy, "unknown command %q", name)
}

// exitCode prints err, unless it was reported already, and returns the exit code it means.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	code := exitInput
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
		if exit.err == nil {
			return code
		}
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "kopshook: interrupted; no file was changed")
		return exitInterrupted
	}
	var r report.Report
	r.AddError(report.Position{}, "", err)
	report.Text(stderr, r.Findings, report.TextOptions{Color: colored(stderr)})
	return code
}

// colored says whether w takes colors: a terminal, and NO_COLOR is not set (https://no-color.org).
func colored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// printText prints somebody's text. A terminal gets no characters of it that control the terminal; files and other
// programs get it as it is.
func printText(w io.Writer, text []byte) error {
	if isTerminal(w) {
		text = []byte(report.Visible(string(text)))
	}
	_, err := w.Write(text)
	return err
}

func isTerminal(v any) bool {
	_, ok := terminal(v)
	return ok
}

// terminal is the file descriptor of a stream that is a terminal.
func terminal(v any) (fd int, ok bool) {
	if c, ok := v.(*checkedWriter); ok {
		v = c.w
	}
	f, ok := v.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// screenOf says what w is for those who draw.
func screenOf(w io.Writer) explain.Screen {
	s := explain.Screen{Color: colored(w)}
	if fd, ok := terminal(w); ok {
		s.Width = 80
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			s.Width = width
		}
	}
	return s
}
