package pipelines

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goreleaser is what of .goreleaser.yaml decides the bytes.
type goreleaser struct {
	Builds []struct {
		Main         string
		Env          []string
		Flags        []string
		Ldflags      []string
		ModTimestamp string `yaml:"mod_timestamp"`
		Goos, Goarch []string
	}
	Archives []struct{ Files []archived }
	Kos      []struct{ Build string }
}

// archived is a file of an archive.
type archived struct{ Src string }

func TestConfigurationsAgree(t *testing.T) {
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	var ko struct {
		Builds []struct {
			ID, Main            string
			Env, Flags, Ldflags []string
		}
	}
	readYAML(t, ".ko.yaml", &ko)
	b, k := config.Builds[0], ko.Builds[0]
	if b.ModTimestamp != "{{ .CommitTimestamp }}" {
		t.Errorf("goreleaser: mod_timestamp is %q", b.ModTimestamp)
	}
	if got, want := strings.Join(k.Flags, " "), strings.Join(b.Flags, " "); got != want {
		t.Errorf("ko builds with the flags %q, goreleaser with %q", got, want)
	}
	normal := strings.NewReplacer("{{ .Git.Tag }}", "TAG", "{{ .Tag }}", "TAG").Replace
	if got, want := normal(strings.Join(k.Ldflags, " ")), normal(strings.Join(b.Ldflags, " ")); got != want {
		t.Errorf("ko links with %q, goreleaser with %q", got, want)
	}
	if got, want := strings.Join(k.Env, " "), strings.Join(b.Env, " "); got != want {
		t.Errorf("ko builds with %q, goreleaser with %q", got, want)
	}
	for _, a := range config.Archives {
		for _, must := range []string{"LICENSE", "CHANGELOG.md", "docs/man/kopshook.1"} {
			if !slices.ContainsFunc(a.Files, func(f archived) bool { return f.Src == must }) {
				t.Errorf("goreleaser: %s is in no archive", must)
			}
		}
		for _, f := range a.Files {
			if _, err := os.Stat(filepath.Join(repository(t), f.Src)); err != nil {
				t.Errorf("goreleaser: %v", err)
			}
		}
	}
	// the commands that people copy have the same flags
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "releases.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(strings.Join(b.Ldflags, " "), "{{ .Tag }}", "$(git describe --tags)")
	if !bytes.Contains(page, []byte(`go build `+strings.Join(b.Flags, " ")+` -ldflags "`+want+`" -o kopshook .`)) {
		t.Errorf("docs/releases.md does not build with the flags %q", want)
	}
}

// Every platform of the release compiles. What they link is the same code.
func TestEveryPlatformCompiles(t *testing.T) {
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	for _, goos := range config.Builds[0].Goos {
		for _, goarch := range config.Builds[0].Goarch {
			out := run(t, repository(t), []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"}, "go", "list", "-e", "-deps",
				"-f", `{{if and .Module .Module.Main}}{{range .GoFiles}}{{$.ImportPath}}/{{.}} {{end}}{{with .Error}}ERROR {{.}}{{end}}{{end}}`, ".")
			if strings.Contains(out, "ERROR") {
				t.Errorf("%s/%s: %s", goos, goarch, out)
			}
		}
	}
}
