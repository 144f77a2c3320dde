package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// cache keeps contents by their SHA-256: DIR/sha256/HEX. A folder is kept as its listing, whose hash is the tree hash.
//
// Several processes may use one at once: files appear whole, by rename, and always with the same bytes. They are
// verified when read; one that is damaged counts as missing. All of it may be removed at any time.
//
// A cache that cannot be written to does no harm: a warning, once.
type cache struct {
	dir   string // "" when there is nowhere to keep it
	limit int64  // bytes of one file
	warn  func(string)

	clean, warned sync.Once

	makeTemp func() (string, func(), error) // for tests: takes the place of tempDir
}

// defaultCacheDir is "" where there is no home folder.
func defaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "kopshook")
}

func (c *cache) path(sum string) string { return filepath.Join(c.dir, "sha256", sum) }

// get returns the bytes with a hash, if they are there.
func (c *cache) get(sum string) ([]byte, bool) {
	if c.dir == "" {
		return nil, false
	}
	b, err := file.Read(c.path(sum), c.limit)
	if err != nil || hashOf(b) != sum {
		return nil, false
	}
	return b, true
}

// put keeps bytes. Failing to is no error: they are fetched again next time.
func (c *cache) put(b []byte) {
	if c.dir == "" {
		return
	}
	sum := hashOf(b)
	if _, ok := c.get(sum); ok {
		return
	}
	err := os.MkdirAll(filepath.Join(c.dir, "sha256"), 0o755)
	if err == nil {
		err = file.Write(c.path(sum), b, 0o644)
	}
	if err != nil {
		c.warned.Do(func() { c.warn(fmt.Sprintf("the cache cannot be written to: %v", cause(err))) })
	}
}

// files returns what an entry of the lock file stands for, if all of it is there.
func (c *cache) files(e *Entry) ([]File, bool) {
	if !e.isTree() {
		b, ok := c.get(e.SHA256)
		return []File{{Name: fileName(e.Source), Content: b}}, ok
	}
	b, ok := c.get(e.Tree)
	if !ok {
		return nil, false
	}
	sums, err := parseListing(b)
	if err != nil {
		return nil, false
	}
	var files []File
	for _, s := range sums {
		b, ok := c.get(s.sum)
		if !ok {
			return nil, false
		}
		files = append(files, File{Name: s.name, Content: b})
	}
	return files, true
}

func (c *cache) putFiles(files []File, dir bool) {
	for _, f := range files {
		c.put(f.Content)
	}
	if dir {
		c.put(listing(files))
	}
}

// tempDir makes a folder for a download: in the cache, else, when that is not to be written to, in TMPDIR.
func (c *cache) tempDir() (dir string, cleanUp func(), err error) {
	if c.makeTemp != nil {
		return c.makeTemp()
	}
	if c.dir != "" {
		parent := filepath.Join(c.dir, "tmp")
		c.clean.Do(func() { removeOld(parent) })
		if os.MkdirAll(parent, 0o755) == nil {
			if dir, cleanUp, err = file.TempDir(parent, "fetch-"); err == nil {
				return dir, cleanUp, nil
			}
		}
	}
	return file.TempDir("", "kopshook-")
}

// removeOld removes what processes that were killed left behind. No fetch takes a day.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// listing is what `LC_ALL=C sha256sum *` prints in a folder of files. Its SHA-256 is the folder's tree hash, so that
// anyone can compute it: `LC_ALL=C sha256sum * | sha256sum`.
func listing(files []File) []byte {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", hashOf(f.Content), f.Name)
	}
	return []byte(b.String())
}

type fileSum struct{ sum, name string }

func parseListing(b []byte) ([]fileSum, error) {
	var sums []fileSum
	for line := range strings.Lines(string(b)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !isSHA256(sum) || name == "" || !filepath.IsLocal(name) {
			return nil, errors.New("no listing")
		}
		sums = append(sums, fileSum{sum, name})
	}
	return sums, nil
}

// cause is what is wrong with a path, without Go's "open".
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return fmt.Errorf("%s: %w", l.New, l.Err)
	}
	return err
}

// check verifies fetched files against the lock file's entry.
func (e *Entry) check(files []File, dir bool) error {
	got := ""
	switch {
	case dir && e.isTree():
		got = hashOf(listing(files))
	case !dir && !e.isTree():
		got = hashOf(files[0].Content)
	case dir:
		return report.Hint(relockRemedy, "source %q is a folder, but locked as a file", e.Source)
	default:
		return report.Hint(relockRemedy, "source %q is a file, but locked as a folder", e.Source)
	}
	if got != e.sum() {
		return report.Hint(relockRemedy, "source %q: the server sends other bytes than were locked: want %s, got %s", e.Source, e.sum(), got)
	}
	return nil
}

const relockRemedy = "find out who changed it; `kopshook lock --update` locks what is there now"
