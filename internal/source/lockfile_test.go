package source

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

// ed25519Key is a public key.
const ed25519Key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="

func TestDecodeLock(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	ok := "version: 1\nvendor: vendor/hooks\nsources:\n  - source: https://example.com/x\n    sha256: " + sum + "\n    size: 3\n"
	f, err := DecodeLock("l", []byte(ok))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lockHeader+ok, string(f.Encode())); diff != "" {
		t.Error(diff)
	}
	signed := "version: 1\nsources:\n  - source: oci://h/r:v1\n    revision: sha256:" + sum + "\n    key: " + ed25519Key + "\n    tree: " + sum + "\n    size: 3\n"
	if f, err = DecodeLock("l", []byte(signed)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lockHeader+signed, string(f.Encode())); diff != "" {
		t.Error(diff)
	}
	entry := "  - {source: https://example.com/x, sha256: " + sum + ", size: 3}\n"
	for name, c := range map[string]struct{ in, want string }{
		"empty":                          {"", "l:1:1: the lock file is empty"},
		"comments alone":                 {"# x\n", "l:1:1: the lock file is empty"},
		"no YAML":                        {"version: 1\nsources:\n\t- x\n", "l:3: the lock file is no YAML: found character that cannot start any token"},
		"a merge conflict":               {"version: 1\n<<<<<<< HEAD\nsources: []\n=======\n", "l:2: the lock file is no YAML: could not find expected ':'"},
		"a list":                         {"- x\n", "l:1:1: the lock file must be a mapping"},
		"two documents":                  {ok + "---\nversion: 1\n", "l:7:1: the lock file has a second document"},
		"no version":                     {"sources: []\n", "l:1:1: the lock file has no version"},
		"version 0":                      {"version: 0\n", "l:1:10: version must be 1"},
		"a newer version":                {"version: 2\nblobs: {}\n", "l:1:1: the lock file has version 2; this kopshook knows version 1"},
		"an unknown key":                 {"version: 1\nsorces: []\n", "l:2:1: the lock file has an unknown key \"sorces\""},
		"a key twice":                    {"version: 1\nsources: []\nsources: []\n", "l:3:1: the lock file has \"sources\" twice"},
		"sources is no list":             {"version: 1\nsources: {}\n", "l:2:10: sources must be a list"},
		"an unknown key of one":          {"version: 1\nsources:\n  - {source: a, sha256: " + sum + ", size: 3, rev: x}\n", "l:3:100: a source has an unknown key \"rev\""},
		"no source":                      {"version: 1\nsources:\n  - {sha256: " + sum + ", size: 3}\n", "l:3:5: a source has no source"},
		"no sum":                         {"version: 1\nsources:\n  - {source: a, size: 3}\n", "l:3:5: a source has sha256 or tree, one of them"},
		"two sums":                       {"version: 1\nsources:\n  - {source: a, size: 3, sha256: " + sum + ", tree: " + sum + "}\n", "l:3:5: a source has sha256 or tree, one of them"},
		"a sum that is short":            {"version: 1\nsources:\n  - {source: a, size: 3, sha256: " + sum[1:] + "}\n", "l:3:34: sha256 \"" + sum[1:] + "\" is no SHA-256 in hex"},
		"a sum in capitals":              {"version: 1\nsources:\n  - {source: a, size: 3, tree: " + strings.ToUpper(sum) + "}\n", "l:3:32: tree \"" + strings.ToUpper(sum) + "\" is no SHA-256 in hex"},
		"no size":                        {"version: 1\nsources:\n  - {source: a, sha256: " + sum + "}\n", "l:3:5: a source has no size"},
		"a size that is no number":       {"version: 1\nsources:\n  - {source: a, sha256: " + sum + ", size: -1}\n", "l:3:97: size must be a number of bytes"},
		"a revision that is none":        {"version: 1\nsources:\n  - {source: a, sha256: " + sum + ", size: 1, revision: main}\n", "l:3:110: revision \"main\" is neither a commit id nor a digest"},
		"a key that is none":             {"version: 1\nsources:\n  - {source: 'oci://h/r:v1', revision: 'sha256:" + sum + "', key: AAAA, sha256: " + sum + ", size: 1}\n", "l:3:120: key is no public key that can be read"},
		"a key of what is no registry's": {"version: 1\nsources:\n  - {source: a, key: " + ed25519Key + ", sha256: " + sum + ", size: 1}\n", "l:3:5: a key is for sources of registries, and their revisions"},
		"a key of no revision":           {"version: 1\nsources:\n  - {source: 'oci://h/r:v1', key: " + ed25519Key + ", sha256: " + sum + ", size: 1}\n", "l:3:5: a key is for sources of registries, and their revisions"},
		"a source twice":                 {"version: 1\nsources:\n" + entry + entry, "l:4:5: source \"https://example.com/x\" stands there twice"},
		"credentials":                    {"version: 1\nsources:\n  - {source: 'https://u:p@h/x', sha256: " + sum + ", size: 3}\n", "l:3:5: a source holds credentials"},
		"an absolute vendor path":        {"version: 1\nvendor: /x\n", "l:2:9: vendor must be relative to the lock file's folder"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeLock("l", []byte(c.in))
			var r report.Report
			if err != nil {
				r.AddError(report.Position{}, "", err)
			}
			var lines []string
			for _, f := range r.Findings {
				lines = append(lines, f.Position.String()+": "+f.Message)
				if f.Remedy == "" {
					t.Error("no remedy")
				}
			}
			if diff := cmp.Diff([]string{c.want}, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("its errors stand at its own place", func(t *testing.T) {
		spec := specIn(t, map[string]string{LockName: "version: 7\n"})
		_, err := testLoader(t).Load(context.Background(), Ref{spec, "https://example.com/x", true})
		var r report.Report
		r.AddError(report.Position{File: spec, Line: 3, Col: 3}, "spec.hooks[0].source", err)
		want := []report.Finding{{Position: report.Position{File: lockPath(spec), Line: 1, Col: 1},
			Message: "the lock file has version 7; this kopshook knows version 1", Remedy: "use the kopshook that wrote it, or a newer one"}}
		if diff := cmp.Diff(want, r.Findings); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzDecodeLock(f *testing.F) {
	f.Add([]byte("version: 1\nvendor: v\nsources:\n  - source: https://example.com/x\n    sha256: " + strings.Repeat("0a", 32) + "\n    size: 3\n"))
	f.Add([]byte("version: 1\nsources: [{source: a, tree: b, revision: c, size: d}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := DecodeLock("l", data)
		if err != nil {
			return
		}
		once := lock.Encode()
		lock, err = DecodeLock("l", once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if diff := cmp.Diff(string(once), string(lock.Encode())); diff != "" {
			t.Error(diff)
		}
	})
}
