package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/fakecloud"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// tryCloudCommand is what runs inside the node of try.
func tryCloudCommand() *cli.Command {
	return &cli.Command{
		Name:   "try-cloud",
		Hidden: true,
		Action: func(c *cli.Context) error { return fakecloud.Play(c.Args().First()) },
	}
}

// tryCloud is what the hooks of the group find around their machine, nil when they ask for nothing. What they need and
// is not given is an error: they would fail.
func tryCloud(c *cli.Context, g *plan.Group) (*fakecloud.Cloud, error) {
	given, err := secretFiles(c)
	if err != nil {
		return nil, err
	}
	around := &fakecloud.Cloud{Objects: map[string][]byte{}, Secrets: map[string]string{}}
	var problems []error
	used := map[string]bool{}
	need := func(address string) { around.Hosts = append(around.Hosts, fakecloud.HostsOf(address)...) }
	for _, h := range g.Hooks {
		for _, f := range h.Files {
			for _, u := range f.URLs {
				if len(fakecloud.HostsOf(u)) == 0 {
					continue
				}
				need(u)
				_, place, _ := strings.Cut(u, "://")
				data, err := bucketFile(c.String("bucket"), place)
				if err == nil {
					around.Objects[place] = data
				} else if len(f.URLs) == 1 { // of mirrors, one will do
					problems = append(problems, report.Hint("give --bucket DIR, with DIR/"+place, "hook %s needs %s: %w", h.Name, report.Clean(u), err))
				}
			}
			if f.Secret == "" {
				continue
			}
			need(f.Secret)
			used[f.Secret] = true
			name, key, _ := strings.Cut(f.Secret, "#")
			value, ok := given[f.Secret]
			whole, all := given[name]
			switch {
			case ok && key != "":
				addKey(around.Secrets, name, key, value)
			case ok:
				around.Secrets[name] = value
			case all:
				used[name] = true
				around.Secrets[name] = whole
			default:
				problems = append(problems, report.Hint("give --secret '"+f.Secret+"=FILE'", "hook %s needs secret %s", h.Name, f.Secret))
			}
		}
	}
	for name := range given {
		if !used[name] {
			problems = append(problems, report.Hint("names are as the spec has them", "--secret %s: no hook of instance group %s asks for it", name, g.Name))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if o, err := g.Archive(); err != nil {
		problems = append(problems, err)
	} else if o != nil {
		scheme, place, _ := strings.Cut(o.Address(), "://")
		if host, _, _ := strings.Cut(place, "/"); scheme == "https" {
			around.Hosts = append(around.Hosts, host)
		}
		need(o.URL)
		around.Objects[place] = o.Content
	}
	slices.Sort(around.Hosts)
	around.Hosts = slices.Compact(around.Hosts)
	switch {
	case len(around.Hosts) == 0 && len(problems) == 0:
		return nil, nil
	case c.String("network") == "host" && len(given) == 0 && c.String("bucket") == "":
		return nil, nil // it asks the cloud of this machine, if that is in one
	case c.String("network") == "host":
		return nil, report.Hint("leave one out", "--network host does not go with --secret and --bucket: the cloud is played on the node's own network")
	case c.IsSet("kops"):
		return nil, report.Hint("leave out --kops", "--kops does not go with hooks that ask the cloud for secrets, files or archives")
	}
	return around, errors.Join(problems...)
}

// secretFiles reads the files of --secret, by the secrets' names.
func secretFiles(c *cli.Context) (map[string]string, error) {
	given := map[string]string{}
	for _, option := range c.StringSlice("secret") {
		i := strings.LastIndex(option, "=")
		if i <= 0 || i == len(option)-1 {
			return nil, report.Hint("say --secret NAME=FILE", "--secret %q does not name a secret and a file", option)
		}
		data, err := file.Read(option[i+1:], 64<<10) // the largest secret that a cloud keeps
		if err != nil {
			return nil, fileError(option[i+1:], err)
		}
		given[option[:i]] = string(data)
	}
	return given, nil
}

// addKey gives one value of a secret that is JSON.
func addKey(secrets map[string]string, name, key, value string) {
	values := map[string]any{}
	_ = json.Unmarshal([]byte(secrets[name]), &values) // what is there is of ours
	values[key] = value
	data, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings can be marshalled
	}
	secrets[name] = string(data)
}

func bucketFile(dir, place string) ([]byte, error) {
	if dir == "" {
		return nil, errors.New("no --bucket is given")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := file.ReadIn(root, filepath.FromSlash(place), 256<<20)
	if err != nil {
		return nil, fmt.Errorf("--bucket %s: %w", dir, err)
	}
	return data, nil
}

func surround(ctx context.Context, m *boot.Machine, c *fakecloud.Cloud) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return c.Surround(ctx, m, program)
}
