package adopt_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
)

// TestAdoptEverythingThatThereIs adopts the user data of every manifest in the project: of the examples, of the tests
// that edit manifests, and what lint's pages show as bad and as good. Nothing of it may get lost, and what is left and
// what was made, adopted again, is nothing new.
func TestAdoptEverythingThatThereIs(t *testing.T) {
	manifests, parts, taken := 0, 0, 0
	for _, m := range corpus(t) {
		f, err := instancegroups.Parse(m.name, []byte(m.text))
		if err != nil {
			continue // no manifest, or a broken one
		}
		t.Run(m.name, func(t *testing.T) {
			var groups []*adopt.Adopted
			for _, g := range f.Groups() {
				if ag := groupOf(g); len(ag.Parts) > 0 {
					groups = append(groups, adopt.Adopt(ag))
				}
			}
			if len(groups) == 0 {
				t.SkipNow()
			}
			manifests++
			spec := adopt.Specs(groups)
			for _, a := range groups {
				out := prove(t, a, spec)
				parts += len(a.Parts)
				taken += len(a.Taken)
				if len(a.Taken) > 0 && len(out.hooks) == 0 && !slices.ContainsFunc(a.Hooks(), func(h adopt.Hook) bool { return !h.Enabled }) {
					t.Errorf("parts are taken, and there are no hooks\n%s", spec)
				}
			}
		})
	}
	t.Logf("%d manifests with %d parts, %d of which become hooks", manifests, parts, taken)
	if manifests < 100 || taken < 100 {
		t.Errorf("%d manifests with user data, %d parts are taken: where are the others?", manifests, taken)
	}
}

func groupOf(g *instancegroups.Group) adopt.Group {
	ag := adopt.Group{Name: g.Name, Cluster: g.Cluster, Role: g.Role}
	for _, u := range g.UserData() {
		if !strings.HasPrefix(u.Name, instancegroups.Prefix) {
			ag.Parts = append(ag.Parts, cloudinit.Part(u))
		}
	}
	return ag
}

type manifest struct{ name, text string }

// corpus returns everything in the project that may be a manifest.
func corpus(t *testing.T) []manifest {
	t.Helper()
	var all []manifest
	root := filepath.Join("..", "..")
	for _, folder := range []string{"examples", "instancegroups/testdata", "internal/cli/testdata", "internal/convert/testdata", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(root, path)
			switch filepath.Ext(path) {
			case ".txtar":
				for _, f := range txtar.Parse(data).Files {
					all = append(all, manifest{name + " " + f.Name, string(f.Data)})
				}
			case ".md":
				for i, text := range strings.Split(string(data), "\n```yaml")[1:] {
					_, text, _ = strings.Cut(text, "\n")
					text, _, _ = strings.Cut(text, "\n```")
					if strings.HasPrefix(text, "- name:") {
						text = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n  role: Node\n  additionalUserData:\n" + indent(text)
					}
					all = append(all, manifest{name + " " + string(rune('a'+i)), text + "\n"})
				}
			default:
				all = append(all, manifest{name, string(data)})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}
