package cli

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/golden"
)

// manual is what docs/commands.md and the manual page are made of: the definitions of the commands, and what they
// cannot say.
type manual struct {
	name, usage, synopsis string
	description           []passage
	commands              []command
	common                []option // of several commands, and the same in each
}

type command struct {
	name, usage, synopsis string
	description           []passage
	options               []option // those of its own
	common                []option
}

// exitCodes, environment and files are said here and nowhere else.
var (
	exitCodes = [][2]string{
		{"0", "all is well"},
		{"1", "findings, a difference, or user data that is too large: what diff, check, lint, explain, fit, lock --check, status and try are asked about"},
		{"2", "a mistake in the options or in the input; nothing was written"},
		{"125, 126, 127", "of exec: a hook failed, the command cannot be started, the command is not found; all others are those of kops"},
		{"129, 130, 131, 143", "interrupted by SIGHUP, SIGINT, SIGQUIT or SIGTERM; no file was changed. A second signal ends kopshook at once"},
	}
	environment = [][2]string{
		{"KOPSHOOK_FILES", "hook specs of commands without -f: files and folders, separated as in PATH"},
		{"KOPSHOOK_CACHE", "the folder in which try keeps root file systems, in place of the user's cache folder"},
		{"KOPSHOOK_DEBIAN_MIRROR, KOPSHOOK_UBUNTU_MIRROR", "addresses of the mirrors that try builds root file systems from; for Ubuntu there is no default"},
		{"KOPSHOOK_WORK", "the folder in which exec keeps the work folders of hooks, as --work-dir"},
		{"KOPSHOOK_EXEC", "set by exec for all that it starts, so that an exec inside another is noticed"},
		{"KOPS_STATE_STORE, KOPS_CLUSTER_NAME", "kops' own: exec and status read them as kops does"},
		{"KUBECONFIG", "files in which exec looks for the address of the cluster's API, which hooks are told; status asks that API for nodes"},
		{"AWS_PROFILE, GOOGLE_APPLICATION_CREDENTIALS and their like", "credentials with which status asks the cloud; AWS_ENDPOINT_URL_EC2 and CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE replace its address"},
		{"GOGC", "Go's own, how much memory may be used before some is freed: 400 where it is not set"},
		{"NO_COLOR", "when it is not empty: no colors on a terminal"},
		{"TERM", "with dumb: neither colors nor progress"},
		{"XDG_CACHE_HOME, XDG_STATE_HOME", "the user's folders for the cache and for the work folders of exec"},
		{"HOME", "where those folders are without the two"},
		{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY, NETRC", "for sources over HTTP, as with other programs; credentials come from ~/.netrc"},
	}
	files = [][2]string{
		{"kopshook.lock.yaml", "beside hook specs: what their remote sources are pinned to; written by lock, to be committed"},
		{"~/.cache/kopshook", "sources by their SHA-256, and the root file systems of try; on macOS in ~/Library/Caches. It can be removed at any time"},
		{"~/.local/state/kopshook/CLUSTER/HOOK", "work folders and logs of exec"},
	}
	nodeFiles = [][2]string{
		{"/etc/systemd/system/kopshook-NAME.service", "the unit of a hook"},
		{"/etc/systemd/system/UNIT.d/kopshook-*.conf", "drop-ins of hooks, and those that make units wait"},
		{"/opt/kopshook", "the runner, and the hooks' scripts and files"},
		{"/var/lib/kopshook/status/NAME.json", "what a hook came to; kopshook status prints it"},
		{"/var/lib/kopshook/skip/NAME", "when it is there, the hook is skipped and what waits for it goes on"},
		{"/var/lib/kopshook/INSTANCE-ID/NAME", "the hook has succeeded on this instance; without it, it runs again"},
		{"/run/kopshook", "what this boot needs: which hooks are done"},
	}
)

func newManual() manual {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	m := manual{name: app.Name, usage: app.Usage, synopsis: app.UsageText, description: passages(app.Description)}
	many := map[string]int{}
	for _, c := range app.Commands {
		for _, f := range c.Flags {
			many[describeOption(f).helpLine()]++
		}
	}
	for _, c := range app.Commands {
		if c.Name == "help" || c.Hidden {
			continue
		}
		synopsis := strings.ReplaceAll(c.UsageText, "\n   ", "\n")
		made := command{name: c.Name, usage: c.Usage, synopsis: synopsis, description: passages(c.Description)}
		for _, f := range c.Flags {
			o := describeOption(f)
			switch {
			case slices.Equal(f.Names(), cli.HelpFlag.Names()):
			case many[o.helpLine()] < 4:
				made.options = append(made.options, o)
			default:
				made.common = append(made.common, o)
				if !slices.ContainsFunc(m.common, func(other option) bool { return other.helpLine() == o.helpLine() }) {
					m.common = append(m.common, o)
				}
			}
		}
		m.commands = append(m.commands, made)
	}
	return m
}

func TestPassagesOfHelpTexts(t *testing.T) {
	const text = "A text\nof two lines.\n\nAnother:\n   one    a term\n          and more\n   other  one\nText.\n\nExample:\n   code -x  1\n   more"
	want := []passage{
		{text: "A text of two lines."}, {text: "Another:"}, {terms: [][2]string{{"one", "a term and more"}, {"other", "one"}}},
		{text: "Text."}, {text: "Example:"}, {code: []string{"code -x  1", "more"}},
	}
	if diff := cmp.Diff(want, passages(text), cmp.AllowUnexported(passage{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReferenceOfCommandsIsCurrent(t *testing.T) {
	repo := repository(t)
	m := newManual()
	for name, text := range map[string]string{"docs/commands.md": m.markdown(), "docs/man/kopshook.1": m.roff()} {
		golden.Check(t, filepath.Join(repo, name), []byte(text))
	}
}

// An option's environment variable is in the manual's list of them all.
func TestVariablesOfOptionsAreInTheManual(t *testing.T) {
	listed := map[string]bool{}
	for _, e := range environment {
		for _, name := range strings.Split(e[0], ", ") {
			listed[name] = true
		}
	}
	for _, c := range newApp(strings.NewReader(""), io.Discard, io.Discard).Commands {
		for _, f := range c.Flags {
			for _, name := range f.(cli.DocGenerationFlag).GetEnvVars() {
				if !listed[name] {
					t.Errorf("kopshook %s: $%s is not in environment above", c.Name, name)
				}
			}
		}
	}
}

func TestOptionsSayWhatTheirValueIs(t *testing.T) {
	for _, c := range newApp(strings.NewReader(""), io.Discard, io.Discard).Commands {
		for _, f := range c.Flags {
			o := describeOption(f)
			if d := f.(cli.DocGenerationFlag); d.TakesValue() && o.value == "" {
				t.Errorf("kopshook %s %s: put the word for its value in backquotes", c.Name, o.syntax())
			}
			if o.text == "" || strings.HasSuffix(o.text, ".") {
				t.Errorf("kopshook %s %s says %q", c.Name, o.syntax(), o.text)
			}
		}
	}
}
