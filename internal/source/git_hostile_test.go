package source

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// A server may redirect git from https to https, and not to http.
func TestGitLeavesNoHTTPS(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"top": "#!/bin/sh\n"})
	plain := strings.TrimPrefix(r.serve(nil), "git::")
	t.Setenv("GIT_SSL_NO_VERIFY", "1")
	// redirects gives a source at a server that sends everybody on to another one.
	redirects := func(to string) string {
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, to+strings.TrimPrefix(req.URL.Path, "/hooks.git")+"?"+req.URL.RawQuery, http.StatusFound)
		}))
		t.Cleanup(srv.Close)
		return "git::" + srv.URL + "/hooks.git//top"
	}
	_, err := fetchNew(t, redirects(plain), nil)
	if said := got(nil, err); err == nil || !strings.HasSuffix(said, "hint: the server redirects from https to http: ask its operator, or name another server\n") ||
		strings.Contains(said, "tried") {
		t.Errorf("from https to http: %s", said)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.handler().ServeHTTP(w, req)
	}))
	defer secure.Close()
	if files, err := fetchNew(t, redirects(secure.URL+"/hooks.git"), nil); err != nil || got(files, nil) != "top: \"#!/bin/sh\\n\"\n" {
		t.Errorf("from https to https: %s", got(files, err))
	}
}

// object writes an object of git's as it is, whatever it says.
func (r *repo) object(kind string, data []byte) string {
	r.t.Helper()
	cmd := exec.Command("git", "hash-object", "-t", kind, "--literally", "-w", "--stdin")
	cmd.Dir, cmd.Stdin = r.dir, bytes.NewReader(data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git hash-object: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// commitTree commits a tree with one entry that git add would refuse, "10-first" beside it.
func (r *repo) commitTree(mode, name, target string) {
	r.t.Helper()
	entry := func(mode, name, id string) []byte {
		raw, err := hex.DecodeString(id)
		if err != nil {
			r.t.Fatal(err)
		}
		return append([]byte(mode+" "+name+"\x00"), raw...)
	}
	tree := r.object("tree", append(entry("100644", "10-first", r.object("blob", []byte("#!/bin/sh\n"))), entry(mode, name, target)...))
	r.git("update-ref", "HEAD", r.git("commit-tree", "-m", "change", tree))
}

// Trees that no work tree has: what git itself would not write, it reads.
func TestHostileGitTrees(t *testing.T) {
	r := newRepo(t)
	blob, first := r.object("blob", []byte("#!/bin/sh\necho x\n")), "10-first: \"#!/bin/sh\\n\"\n"
	empty := r.object("tree", nil)
	commit := r.git("commit-tree", "-m", "x", empty)
	const madeToWrite = "hint: do not use it: it was made to write elsewhere\n"
	refused := func(name string) string {
		return fmt.Sprintf("error: source SRC: it holds an entry called %q\n", name) + madeToWrite
	}
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct{ mode, name, id, want string }{
		"an option":                      {"100644", "-rf", blob, "-rf: \"#!/bin/sh\\necho x\\n\"\n" + first},
		"a line break":                   {"100644", "a\nb", blob, refused("a\nb")},
		"a tab":                          {"100644", "a\tb", blob, refused("a\tb")},
		"an escape":                      {"100644", "a\x1b[2J", blob, refused("a\x1b[2J")},
		"turned text":                    {"100644", "a\u202ehs.", blob, refused("a\u202ehs.")},
		"bytes that are no UTF-8":        {"100644", "a\xff", blob, refused("a\xff")},
		"a backslash":                    {"100644", `..\a`, blob, refused(`..\a`)},
		"the folder above":               {"100644", "..", blob, refused("..")},
		"a slash":                        {"100644", "../a", blob, refused("../a")},
		"the root":                       {"100644", "/etc/x", blob, refused("/etc/x")},
		"the longest name":               {"100644", long[1:], blob, first + long[1:] + ": \"#!/bin/sh\\necho x\\n\"\n"},
		"a longer one":                   {"100644", long, blob, refused(long)},
		"the folder itself":              {"40000", ".", empty, first},
		"the name of git's own folder":   {"100644", ".git", blob, first},
		"the same name again":            {"100644", "10-first", blob, "error: source SRC: it holds \"10-first\" twice\nhint: pack it again\n"},
		"another case":                   {"100644", "10-First", blob, "10-First: \"#!/bin/sh\\necho x\\n\"\n" + first},
		"a submodule":                    {"160000", "sub", commit, "error: source SRC: \"sub\" is no regular file\nhint: only regular files are read\n"},
		"a link to itself":               {"120000", "l", r.object("blob", []byte("l")), "error: source SRC: \"l\" is a link that leads nowhere\n"},
		"a link with a NUL":              {"120000", "l", r.object("blob", []byte("10-first\x00/etc/passwd")), "error: source SRC: it holds no \"10-first\\x00\", which \"l\" leads to\n"},
		"a link of a mebibyte":           {"120000", "l", r.object("blob", bytes.Repeat([]byte("a/"), 512<<10)), "it is larger than"},
		"an unknown mode":                {"170000", "x", blob, "error: source SRC: \"x\" is no regular file\nhint: only regular files are read\n"},
		"a setuid bit":                   {"104755", "x", blob, "10-first"},
		"an object that is not there":    {"100644", "x", strings.Repeat("1", 40), "error: source SRC: git: "},
		"a blob in place of a tree":      {"40000", "x", blob, "error: source SRC: git: "},
		"a tree in place of a blob":      {"100644", "x", empty, "error: source SRC: git cat-file: cannot read"},
		"a tree that leads to itself":    {"40000", "x", strings.Repeat("2", 40), "error: source SRC: git: "},
		"a large file, packed to little": {"100644", "x", r.object("blob", make([]byte, 8<<20)), "error: source SRC: it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r.commitTree(c.mode, c.name, c.id)
			src := r.serve(nil)
			said := strings.Replace(got(fetchNew(t, src, nil)), `"`+src+`"`, "SRC", 1)
			exact := strings.HasSuffix(c.want, "\n")
			if exact && said != c.want || !exact && !strings.Contains(said, c.want) {
				t.Errorf("got %.300q, want %.300q", said, c.want)
			}
		})
	}
}

// What a server sends without end, or packs into little, takes neither memory nor time.
func TestGitIsBounded(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"x": "#!/bin/sh\n"})
	limits := func(l *Loader) { l.Limits.Attempts, l.Limits.Time, l.Limits.Unpacked = 1, 3*time.Second, 16<<20 }
	drip := func(w http.ResponseWriter, req *http.Request, text string) {
		for req.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	line := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	// answers are to the request for refs, and to others
	for name, c := range map[string]struct {
		refs bool
		send string
		want []string // one of them
	}{
		"refs without end": {true, strings.Repeat(line(strings.Repeat("3", 40)+" refs/heads/"+strings.Repeat("y", 200)+"\n"), 500),
			[]string{"not finished after 3s", "out of memory", "Out of memory", "signal: "}},
		"words without end": {false, strings.Repeat(line("\x02"+strings.Repeat("z", 60000)+"\n"), 10), []string{"not finished after 3s", "git: "}},
		"rubbish":           {false, strings.Repeat("PACK", 10000), []string{"git: "}},
	} {
		t.Run(name, func(t *testing.T) {
			src := r.serve(func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					body, _ := io.ReadAll(req.Body)
					asked := "upload-pack"
					if strings.HasSuffix(req.URL.Path, "/info/refs") {
						asked = "info/refs"
					}
					lsRefs := bytes.Contains(body, []byte("command=ls-refs"))
					if asked == "upload-pack" && c.refs == lsRefs {
						w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
						if !c.refs {
							io.WriteString(w, line("packfile\n"))
						}
						drip(w, req, c.send)
						return
					}
					req.Body = io.NopCloser(bytes.NewReader(body))
					h.ServeHTTP(w, req)
				})
			})
			start := time.Now()
			said := got(fetchNew(t, src, limits))
			if !slices.ContainsFunc(c.want, func(w string) bool { return strings.Contains(said, w) }) || len(said) > 100<<10 {
				t.Errorf("%d bytes: %.500s", len(said), said)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	t.Run("a large tree, packed to little", func(t *testing.T) {
		id, err := hex.DecodeString(r.object("blob", nil))
		if err != nil {
			t.Fatal(err)
		}
		tree := r.object("tree", slices.Concat([]byte("100644 "), bytes.Repeat([]byte("n"), 80<<20), []byte{0}, id))
		r.git("update-ref", "HEAD", r.git("commit-tree", "-m", "change", tree))
		src := r.serve(nil)
		long := func(l *Loader) { limits(l); l.Limits.Time = time.Minute }
		if said := got(fetchNew(t, src, long)); !strings.HasSuffix(said, "keep hooks in a repository of their own\n") || strings.Contains(said, "times)") {
			t.Errorf("%.500s", said)
		}
	})
}
