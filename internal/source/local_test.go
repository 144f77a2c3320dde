package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocal(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{
		"specs/hooks.yaml":        "",
		"specs/a.sh":              "a",
		"specs/scripts/10-b":      "b",
		"specs/scripts/9-c":       "c",
		"specs/scripts/B":         "B",
		"specs/scripts/.hidden":   "h",
		"specs/scripts/sub/x":     "x",
		"specs/empty/.gitkeep":    "",
		"specs/big":               strings.Repeat("x", 4097),
		"specs/many big/a":        strings.Repeat("x", 3000),
		"specs/many big/b":        strings.Repeat("x", 3000),
		"specs/links/keep":        "k",
		"shared/s.sh":             "s",
		"specs/..dots":            "dots",
		"specs/github.com.sh":     "gh",
		"specs/with : colon/a::b": "colon",
	})
	for i := range 11 {
		write(t, top, map[string]string{"specs/many/" + string(rune('a'+i)): "x"})
	}
	for link, target := range map[string]string{
		"specs/in.sh":          "a.sh",
		"specs/abs-in.sh":      filepath.Join(top, "specs/a.sh"),
		"specs/out.sh":         "../shared/s.sh",
		"specs/dir":            "scripts",
		"specs/outdir":         "../shared",
		"specs/links/up":       "../a.sh",
		"specs/links/folder":   "../scripts",
		"specs/bad/out":        "../../shared/s.sh",
		"specs/dangling":       "nothing",
		"specs/loop":           "loop",
		"specs/passwd":         "/etc/passwd",
		"specs/broken/nothing": "gone",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(top, link)), 0o755)
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}

	const outside = "hint: move it there, or allow its folder with --allow-path TOP/shared\n"
	const missing = "hint: paths are relative to the spec's folder; remote sources begin with https://, git::, s3:// or gs://\n"
	scripts := "10-b: \"b\"\n9-c: \"c\"\nB: \"B\"\n"
	loadsLocally(t, top, map[string]localCase{
		"a file":                              {src: "a.sh", want: "a.sh: \"a\"\n", file: true},
		"a file with a dot":                   {src: "./a.sh", want: "a.sh: \"a\"\n", file: true},
		"a file that begins with dots":        {src: "..dots", want: "..dots: \"dots\"\n", file: true},
		"a file named as a forge":             {src: "github.com.sh", want: "github.com.sh: \"gh\"\n"},
		"a name with colons":                  {src: "with : colon/a::b", want: "a::b: \"colon\"\n"},
		"a folder, by bytes":                  {src: "scripts", want: scripts},
		"a folder with a slash":               {src: "scripts/", want: scripts},
		"a link inside":                       {src: "in.sh", want: "in.sh: \"a\"\n"},
		"an absolute link inside":             {src: "abs-in.sh", want: "abs-in.sh: \"a\"\n"},
		"a link to a folder inside":           {src: "dir", want: scripts},
		"a folder with links inside":          {src: "links", want: "keep: \"k\"\nup: \"a\"\n"},
		"a link outside that is allowed":      {src: "out.sh", allow: "shared", want: "out.sh: \"s\"\n"},
		"a path outside that is allowed":      {src: "../shared/s.sh", allow: "shared", want: "s.sh: \"s\"\n"},
		"an absolute path that is allowed":    {src: top + "/shared/s.sh", allow: "shared", want: "s.sh: \"s\"\n"},
		"an absolute path inside":             {src: top + "/specs/a.sh", want: "a.sh: \"a\"\n"},
		"a path outside":                      {src: "../shared/s.sh", want: "error: source \"../shared/s.sh\" lies outside the spec's folder TOP/specs\n" + outside},
		"an absolute path outside":            {src: "/etc/passwd", want: "error: source \"/etc/passwd\" lies outside the spec's folder TOP/specs\nhint: move it there, or allow its folder with --allow-path /etc\n"},
		"a link outside":                      {src: "out.sh", want: "error: source \"out.sh\" lies outside the spec's folder TOP/specs: it leads to TOP/shared/s.sh\n" + outside},
		"a link to a folder outside":          {src: "outdir/s.sh", want: "error: source \"outdir/s.sh\" lies outside the spec's folder TOP/specs: it leads to TOP/shared/s.sh\n" + outside},
		"a link outside in a folder":          {src: "bad", want: "error: source \"bad/out\" lies outside the spec's folder TOP/specs: it leads to TOP/shared/s.sh\n" + outside},
		"a folder outside":                    {src: "/etc", want: "error: source \"/etc\" lies outside the spec's folder TOP/specs\nhint: move it there, or allow its folder with --allow-path /etc\n"},
		"a link to a system file":             {src: "passwd", want: "error: source \"passwd\" lies outside the spec's folder TOP/specs: it leads to /etc/passwd\nhint: move it there, or allow its folder with --allow-path /etc\n"},
		"a dangling link":                     {src: "dangling", want: "error: source \"dangling\" does not exist\n" + missing},
		"a dangling link in a folder":         {src: "broken", want: "error: source \"broken/nothing\" does not exist\n" + missing},
		"a link to itself":                    {src: "loop", want: "error: source \"loop\": too many levels of symbolic links\n"},
		"nothing there":                       {src: "nothing", want: "error: source \"nothing\" does not exist\n" + missing},
		"an empty name":                       {src: "", want: "error: source \"\" is no path\nhint: name a file or folder\n"},
		"an empty folder":                     {src: "empty", want: "error: source \"empty\" holds no files\nhint: put scripts into it; subfolders and names that begin with a dot do not count\n"},
		"a folder where a file is wanted":     {src: "scripts", file: true, want: "error: source \"scripts\" is a folder\nhint: name one file: only a hook's source may be a folder of scripts\n"},
		"a file that is too large":            {src: "big", want: "error: source \"big\": it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n"},
		"files that are too large together":   {src: "many big", want: "error: source \"many big/b\": it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n"},
		"too many files":                      {src: "many", want: "error: source \"many\" holds more than 10 files\nhint: name a folder that holds the hook's scripts and nothing else\n"},
		"a folder that is a file on the way":  {src: "a.sh/x", want: "error: source \"a.sh/x\": not a directory\n"},
		"an allowed folder that is not there": {src: "../shared/s.sh", allow: "gone", want: "error: source \"../shared/s.sh\" lies outside the spec's folder TOP/specs\n" + outside},
	})

	t.Run("a spec on standard input is relative to the current folder", func(t *testing.T) {
		t.Chdir(filepath.Join(top, "specs"))
		for _, spec := range []string{"-", "", "hooks.yaml", "./hooks.yaml"} {
			if diff := cmp.Diff("a.sh: \"a\"\n", got((&Loader{}).Load(context.Background(), Ref{SpecFile: spec, Source: "a.sh"}))); diff != "" {
				t.Errorf("%q: %s", spec, diff)
			}
		}
	})
}

// localCase loads src, as a hook's or a file's source; sources below allow may lie outside the spec's folder.
type localCase struct {
	src, want string
	allow     string
	file      bool
}

// loadsLocally loads each source for the spec top/specs/hooks.yaml; what is wanted says TOP for top.
func loadsLocally(t *testing.T, top string, cases map[string]localCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := &Loader{Limits: small}
			if c.allow != "" {
				if !filepath.IsAbs(c.allow) {
					c.allow = filepath.Join(top, c.allow)
				}
				l.AllowPaths = []string{c.allow}
			}
			s := got(l.Load(context.Background(), Ref{SpecFile: filepath.Join(top, "specs/hooks.yaml"), Source: c.src, Dir: !c.file}))
			if strings.Contains(s, "error") {
				_, s, _ = strings.Cut(s, "error")
				s = "error" + s
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(s, top, "TOP")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
