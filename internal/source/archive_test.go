package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// entry of an archive: a file, unless it is something else.
type entry struct {
	name, content string
	kind          byte // of package tar; 0 is a file
}

func tarOf(t testing.TB, entries ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(e.content))}
		if e.kind != 0 {
			h.Typeflag, h.Size, h.Linkname = e.kind, 0, e.content
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, e.content)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		switch e.kind {
		case tar.TypeSymlink:
			h.SetMode(fs.ModeSymlink | 0o777)
		case tar.TypeFifo:
			h.SetMode(fs.ModeNamedPipe | 0o644)
		case tar.TypeDir:
			h.Method = zip.Store
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packed(t testing.TB, b []byte, packing string) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch packing {
	case "gz":
		w = gzip.NewWriter(&out)
	case "xz":
		w, err = xz.NewWriter(&out)
	case "zst":
		w, err = zstd.NewWriter(&out)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads an archive as a download of that name.
func readArchive(t testing.TB, name string, b []byte, inner string, limits Limits) ([]File, bool, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "download")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := packing(name, "")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := openArchive(context.Background(), f, name, p, limits)
	if err != nil {
		return nil, false, err
	}
	return tr.files(context.Background(), inner, limits)
}

func TestArchives(t *testing.T) {
	entries := []entry{
		{"hooks-1.2/", "", tar.TypeDir},
		{"hooks-1.2/gpu/10-a", "a", 0},
		{"hooks-1.2/gpu/9-b", "b", 0},
		{"hooks-1.2/gpu/.hidden", "h", 0},
		{"hooks-1.2/gpu/sub/x", "x", 0},
		{"hooks-1.2/gpu/link", "../common", tar.TypeSymlink},
		{"hooks-1.2/common", "c", 0},
		{"hooks-1.2/latest", "gpu", tar.TypeSymlink},
	}
	want := "10-a: \"a\"\n9-b: \"b\"\nlink: \"c\"\n"
	plain := tarOf(t, entries...)
	for name, b := range map[string][]byte{
		"x.tar": plain, "x.tar.gz": packed(t, plain, "gz"), "x.tgz": packed(t, plain, "gz"), "x.tar.xz": packed(t, plain, "xz"),
		"x.txz": packed(t, plain, "xz"), "x.tar.zst": packed(t, plain, "zst"), "x.zip": zipOf(t, entries...),
	} {
		for _, inner := range []string{"hooks-1.2/gpu", "*/gpu", "hooks-1.2/latest", "hooks-1.2/gpu/sub/../"} {
			t.Run(name+" "+inner, func(t *testing.T) {
				files, dir, err := readArchive(t, name, b, inner, small)
				if diff := cmp.Diff(want, got(files, err)); diff != "" || !dir {
					t.Error(dir, diff)
				}
			})
		}
		t.Run(name+" one file", func(t *testing.T) {
			files, dir, err := readArchive(t, name, b, "hooks-1.2/gpu/9-b", small)
			if diff := cmp.Diff("9-b: \"b\"\n", got(files, err)); diff != "" || dir {
				t.Error(dir, diff)
			}
		})
	}
	t.Run("hard links of tar are named from the root", func(t *testing.T) {
		b := tarOf(t, entry{"a/b/one", "1", 0}, entry{"a/b/two", "a/b/one", tar.TypeLink})
		files, _, err := readArchive(t, "x.tar", b, "a/b", small)
		if diff := cmp.Diff("one: \"1\"\ntwo: \"1\"\n", got(files, err)); diff != "" {
			t.Error(diff)
		}
	})
	for _, p := range []string{"gz", "xz", "zst"} {
		t.Run("a single file, "+p, func(t *testing.T) {
			files, dir, err := readArchive(t, "x.sh."+p, packed(t, []byte("#!/bin/sh\n"), p), "", small)
			if diff := cmp.Diff("x.sh: \"#!/bin/sh\\n\"\n", got(files, err)); diff != "" || dir {
				t.Error(dir, diff)
			}
		})
	}
}

func TestBadArchives(t *testing.T) {
	many := make([]entry, 101)
	for i := range many {
		many[i] = entry{name: fmt.Sprintf("d/%d", i)}
	}
	const elsewhere = "hint: do not use it: it was made to write elsewhere\n"
	const inside = "hint: only links inside it are followed\n"
	const regular = "hint: only regular files are read\n"
	for name, c := range map[string]struct {
		entries []entry
		want    string
		only    string // tar or zip; "" is both
	}{
		"a name with ../":           {[]entry{{"a", "a", 0}, {"../../etc/cron.d/x", "x", 0}}, "error: it holds an entry called \"../../etc/cron.d/x\"\n" + elsewhere, ""},
		"a name with ../ inside":    {[]entry{{"a", "a", 0}, {"b/../../x", "x", 0}}, "error: it holds an entry called \"b/../../x\"\n" + elsewhere, ""},
		"an absolute name":          {[]entry{{"/etc/cron.d/x", "x", 0}}, "error: it holds an entry called \"/etc/cron.d/x\"\n" + elsewhere, ""},
		"a name with backslashes":   {[]entry{{`..\..\x`, "x", 0}}, "error: it holds an entry called \"..\\\\..\\\\x\"\n" + elsewhere, ""},
		"a name with a line break":  {[]entry{{"a\nb", "x", 0}}, "error: it holds an entry called \"a\\nb\"\n" + elsewhere, ""},
		"folders without an end":    {[]entry{{strings.Repeat("a/", 1<<17) + "x", "x", 0}}, "error: it holds an entry called \"" + strings.Repeat("a/", 200) + "...\"\n" + elsewhere, "tar"},
		"a link without an end":     {[]entry{{"a", strings.Repeat("a/../", 1<<17) + "b", tar.TypeSymlink}, {"b", "b", 0}}, "error: \"a\" is a link that leads nowhere\n", "tar"},
		"a link that leaves it":     {[]entry{{"a", "../../etc/passwd", tar.TypeSymlink}}, "error: \"a\" leads out of it\n" + inside, ""},
		"an absolute link":          {[]entry{{"a", "/etc/passwd", tar.TypeSymlink}}, "error: \"a\" leads out of it, to /etc/passwd\n" + inside, ""},
		"a hard link that leaves":   {[]entry{{"a", "../../etc/passwd", tar.TypeLink}}, "error: \"a\" leads out of it\n" + inside, "tar"},
		"a link below a link":       {[]entry{{"a", ".", tar.TypeSymlink}, {"a/b", "x", 0}}, "error: it holds \"a\" both as a file and as a folder\nhint: pack it again\n", ""},
		"a FIFO":                    {[]entry{{"a", "", tar.TypeFifo}}, "error: \"a\" is no regular file\n" + regular, ""},
		"a device":                  {[]entry{{"a", "", tar.TypeChar}}, "error: \"a\" is no regular file\n" + regular, "tar"},
		"a name twice":              {[]entry{{"a", "1", 0}, {"./a", "2", 0}}, "error: it holds \"a\" twice\nhint: pack it again\n", ""},
		"too many entries":          {many, "error: it holds more than 100 files\nhint: pack the hooks' files alone\n", ""},
		"a bomb":                    {[]entry{{"a", strings.Repeat("\x00", 2<<20), 0}}, "error: it unpacks to more than 1 MiB\nhint: pack the hooks' files alone\n", "tar"},
		"a bomb in a zip":           {[]entry{{"a", strings.Repeat("\x00", 2<<20), 0}}, "error: it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n", "zip"},
		"more files than are taken": {many[:11], "error: \"d\" holds more than 10 files\nhint: name a folder that holds the hook's scripts and nothing else\n", ""},
		"nothing":                   {nil, "error: there are no files in \"/\" of it\nhint: name a folder of scripts behind //; subfolders and names that begin with a dot do not count\n", ""},
	} {
		for _, kind := range []string{"tar", "zip"} {
			if c.only != "" && c.only != kind {
				continue
			}
			t.Run(name+" in "+kind, func(t *testing.T) {
				file, b := "x.tar.gz", []byte(nil)
				if kind == "zip" {
					file, b = "x.zip", zipOf(t, c.entries...)
				} else {
					b = packed(t, tarOf(t, c.entries...), "gz")
				}
				inner := ""
				if strings.HasPrefix(name, "more files") {
					inner = "d"
				}
				files, _, err := readArchive(t, file, b, inner, small)
				if diff := cmp.Diff(c.want, got(files, err)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}

	t.Run("a zip that lies about sizes", func(t *testing.T) {
		b := zipOf(t, entry{"a", strings.Repeat("x", 100_000), 0})
		// the size in the central directory: 24 bytes behind its signature
		at := bytes.LastIndex(b, []byte("PK\x01\x02")) + 24
		copy(b[at:], []byte{1, 0, 0, 0})
		_, _, err := readArchive(t, "x.zip", b, "a", small)
		if err == nil {
			t.Error("it was read")
		}
	})
	for _, name := range []string{"x.tar", "x.tar.gz", "x.tar.bz2", "x.tar.xz", "x.tar.zst", "x.zip", "x.gz", "x.bz2", "x.xz", "x.zst"} {
		t.Run("what is no "+name, func(t *testing.T) {
			_, _, err := readArchive(t, name, []byte("<html>Please log in</html>"), "", small)
			if err == nil || !strings.Contains(err.Error(), "cannot be unpacked") {
				t.Error(err)
			}
		})
	}
	t.Run("an archive of a million files", func(t *testing.T) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for i := range 100_001 { // the default limit is met; what comes behind is not looked at
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeReg, Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		z.Close()
		_, _, err := readArchive(t, "x.tar.gz", b.Bytes(), "", Limits{}.withDefaults())
		if diff := cmp.Diff("error: it holds more than 100000 files\nhint: pack the hooks' files alone\n", got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("is not downloaded again", func(t *testing.T) {
		srv := serve(t, map[string]string{"/x.zip": string(zipOf(t, entry{"../x", "x", 0}))})
		_, err := fetchNew(t, srv.URL+"/x.zip", nil)
		want := fmt.Sprintf("error: source %q: it holds an entry called \"../x\"\n", srv.URL+"/x.zip") + elsewhere
		if diff := cmp.Diff(want, got(nil, err)); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzArchive(f *testing.F) {
	entries := []entry{{"d/", "", tar.TypeDir}, {"d/a", "a", 0}, {"d/b", "a", tar.TypeSymlink}, {"d/c", "../../x", tar.TypeSymlink}}
	f.Add("tar", tarOf(f, entries...))
	f.Add("tgz", packed(f, tarOf(f, entries...), "gz"))
	f.Add("zip", zipOf(f, entries...))
	f.Add("txz", packed(f, tarOf(f, entries...), "xz"))
	f.Add("tzst", packed(f, tarOf(f, entries...), "zst"))
	f.Fuzz(func(t *testing.T, ending string, b []byte) {
		if p, err := packing("x."+ending, ""); err != nil || p == "" {
			return
		}
		files, _, err := readArchive(t, "x."+ending, b, "", small)
		if err != nil {
			return
		}
		sum := 0
		for _, file := range files {
			sum += len(file.Content)
			if !isPlain(file.Name) || strings.Contains(file.Name, "/") || file.Name == ".." {
				t.Errorf("a file called %q", file.Name)
			}
		}
		if sum > int(small.Bytes) || len(files) > small.Files {
			t.Errorf("%d bytes in %d files", sum, len(files))
		}
	})
}
