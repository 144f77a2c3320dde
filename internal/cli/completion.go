package cli

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/lint"
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
			if c.NArg() > 1 {
				return report.Hint("print them one by one", "more than one shell is named")
			}
			var script string
			switch shell := c.Args().First(); shell {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				s, err := fishCompletion(c.App)
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

// completeOption answers a shell that asks how an option may go on, or which values it takes. The shell asks by what stands
// before the word that is being written, that word if it begins with a dash, and --generate-bash-completion. urfave/cli 2.27.7
// would read the option first, and fail.
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
				for _, v := range valuesOf(f, args[1:n-2]) {
					fmt.Fprintln(app.Writer, v)
				}
				return true
			}
			if strings.HasPrefix(option, word) {
				if strings.HasSuffix(os.Getenv("SHELL"), "zsh") { // as urfave/cli does of commands
					option += ":" + firstWords(describeOption(f).text)
				}
				found = append(found, option)
			}
		}
	}
	for _, option := range found {
		fmt.Fprintln(app.Writer, option)
	}
	return true
}

// firstWords are those of a text that fit beside an option: up to the first colon or semicolon.
func firstWords(text string) string {
	if i := strings.IndexAny(text, ":;\n"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// valuesOf are the values that an option takes; none where it takes a file or anything else, which shells know.
func valuesOf(f cli.Flag, args []string) []string {
	o := describeOption(f)
	switch {
	case slices.Contains([]string{"FORMAT", "SUITE", "SYSTEM", "SEVERITY"}, o.value):
		_, list, _ := strings.Cut(o.text, ": ")
		var values []string
		for _, v := range strings.Split(list, ", ") {
			value, _, _ := strings.Cut(v, " ") // what it means may follow
			values = append(values, value)
		}
		return values
	case o.value == "CODE":
		var codes []string
		for _, r := range lint.Rules() {
			codes = append(codes, r.Code)
		}
		return codes
	case slices.Contains(o.names, "--group"):
		groups, _ := groupsIn(args)
		return groups
	case slices.Contains(o.names, "--cluster"):
		_, clusters := groupsIn(args)
		return clusters
	}
	return nil
}

// plainName is a name that is the same word in each shell. What else a file of somebody's has for a name is not offered: it
// would be in the command line, and run.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`).MatchString

// groupsIn returns the names of the instance groups in the files among the arguments, or else in the folder's YAML files, and
// those of their clusters. What cannot be read has none.
func groupsIn(args []string) (groups, clusters []string) {
	const most = 1 << 20 // of a file: a shell waits
	found := groupsInFiles(args, most)
	if len(found) == 0 {
		files, _ := filepath.Glob("*.yaml")
		found = groupsInFiles(files[:min(len(files), 20)], most)
	}
	found = slices.DeleteFunc(found, func(g *instancegroups.Group) bool {
		return !plainName(g.Name) || g.Cluster != "" && !plainName(g.Cluster)
	})
	for _, g := range found {
		if g.Cluster != "" && !slices.Contains(clusters, g.Cluster) {
			clusters = append(clusters, g.Cluster)
		}
	}
	for _, g := range found {
		name := g.Name
		if len(clusters) > 1 && g.Cluster != "" {
			name = g.Cluster + "/" + name
		}
		if !slices.Contains(groups, name) {
			groups = append(groups, name)
		}
	}
	return groups, clusters
}

func groupsInFiles(names []string, most int64) (found []*instancegroups.Group) {
	for _, name := range names {
		data, err := file.Read(name, most)
		if err != nil {
			continue
		}
		if f, err := instancegroups.Parse(name, data); err == nil {
			found = append(found, f.Groups()...)
		}
	}
	return found
}

// fishCompletion is what urfave/cli makes of commands and options, and values that kopshook knows.
func fishCompletion(app *cli.App) (string, error) {
	script, err := app.ToFishCompletion()
	if err != nil {
		return "", err
	}
	var b, values strings.Builder
	known := map[string]bool{} // options with values that kopshook knows, as urfave/cli begins their lines
	for _, c := range app.Commands {
		if c.BashComplete != nil {
			fmt.Fprintf(&values, "complete -c kopshook -n '__fish_seen_subcommand_from %s' -f -a '(__kopshook_values)'\n", c.Name)
		}
		for _, f := range c.Flags {
			o := describeOption(f)
			dynamic := slices.Contains(o.names, "--group") || slices.Contains(o.names, "--cluster")
			if !dynamic && len(valuesOf(f, nil)) == 0 {
				continue
			}
			line := fmt.Sprintf("complete -c kopshook -n '__fish_seen_subcommand_from %s'", c.Name)
			known[line+" -f -l "+f.Names()[0]] = true
			values.WriteString(line)
			for _, name := range f.Names() {
				fmt.Fprintf(&values, " -%s %s", map[bool]string{true: "s", false: "l"}[len(name) == 1], name)
			}
			values.WriteString(" -x -a '(__kopshook_values)'\n")
		}
	}
	for line := range strings.Lines(strings.ReplaceAll(script, "`", "")) {
		head, _, value := strings.Cut(line, " -r -d ")
		if head, _, _ = strings.Cut(head, " -s "); value && !known[head] { // it may be a file
			line = strings.Replace(line, " -f -l ", " -F -l ", 1)
		}
		b.WriteString(line)
	}
	b.WriteString(`
function __kopshook_values
    set -l words (commandline -opc)
    $words --generate-bash-completion 2> /dev/null
end
`)
	b.WriteString(values.String())
	return b.String(), nil
}
