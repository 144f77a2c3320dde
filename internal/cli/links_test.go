package cli

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	mdLink    = regexp.MustCompile(`!?\[[^\]]*\]\(([^()\s]+)\)`)
	mdHeading = regexp.MustCompile(`^#{1,6} +(.*?)(?: +#+)?$`)
	mdCode    = regexp.MustCompile("`[^`]*`")
	notInSlug = regexp.MustCompile(`[^\p{L}\p{M}\p{N}_ -]`)
)

// page is a Markdown page: what it links to, and its anchors.
type page struct {
	links   []string
	anchors []string
}

// readPage reads a page; what stands in code is no link and no heading.
func readPage(t *testing.T, name string) page {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var p page
	fenced := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		if m := mdHeading.FindStringSubmatch(line); m != nil {
			p.anchors = append(p.anchors, anchor(m[1]))
		}
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(line, "code"), -1) {
			p.links = append(p.links, m[1])
		}
	}
	return p
}

// anchor is what GitHub and GitLab make of a heading.
func anchor(heading string) string {
	heading = mdLink.ReplaceAllStringFunc(heading, func(s string) string { return s[1:strings.Index(s, "]")] })
	return strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		"Files that the node downloads":           "files-that-the-node-downloads",
		"`boot`, or 1. The console":               "boot-or-1-the-console",
		"For a provider with `a_b` blocks":        "for-a-provider-with-a_b-blocks",
		"Names of [other](x.md) systems: Über":    "names-of-other-systems-über",
		"What a kops-configuration.service does?": "what-a-kops-configurationservice-does",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("%q becomes %q, not %q", heading, got, want)
		}
	}
}

// Every link of a page leads to something, and every page of docs/ can be reached from docs/README.md.
func TestLinks(t *testing.T) {
	repo := repository(t)
	pages := map[string]page{}
	err := filepath.WalkDir(repo, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && name != repo && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(name) == ".md" {
			pages[name] = readPage(t, name)
		}
		return nil
	})
	if err != nil || len(pages) < 20 {
		t.Fatal(len(pages), err)
	}
	for name, p := range pages {
		for _, link := range p.links {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.Scheme != "" {
				if u.Scheme != "https" {
					t.Errorf("%s links to %s, which is not https", name, link)
				}
				continue
			}
			target := name
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(name), filepath.FromSlash(u.Path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, link, err)
				continue
			}
			if to, isPage := pages[target]; u.Fragment != "" && (!isPage || !slices.Contains(to.anchors, u.Fragment)) {
				t.Errorf("%s links to %s, which has no such heading", name, link)
			}
		}
	}

	top := filepath.Join(repo, "docs", "README.md")
	reached, next := map[string]bool{top: true}, []string{top}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, link := range pages[from].links {
			path, _, _ := strings.Cut(link, "#")
			to := filepath.Join(filepath.Dir(from), filepath.FromSlash(path))
			if info, err := os.Stat(to); err == nil && info.IsDir() {
				to = filepath.Join(to, "README.md")
			}
			if _, isPage := pages[to]; isPage && !reached[to] {
				reached[to] = true
				next = append(next, to)
			}
		}
	}
	for name := range pages {
		if rel, err := filepath.Rel(repo, name); err == nil && strings.HasPrefix(rel, "docs"+string(filepath.Separator)) && !reached[name] {
			t.Errorf("%s is reached from no other page", rel)
		}
	}
}
