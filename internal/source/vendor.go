package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// sumsName is the file in a vendor folder that lists what kopshook put there, for `sha256sum -c`.
const sumsName = "SHA256SUMS"

// vendorDir is where a lock file says that copies lie, "" when there are none.
func vendorDir(specFile string, lock *LockFile) string {
	if lock.Vendor == "" {
		return ""
	}
	return filepath.Join(specDir(specFile), filepath.FromSlash(lock.Vendor))
}

// vendorName is the folder of a source in a vendor folder: readable, and of its own by a few digits of a hash. It does
// not change when the contents do, so that reviewers see a diff.
func vendorName(key string) string {
	_, plain, ok := strings.Cut(key, "://")
	if !ok {
		plain = key
	}
	plain, _, _ = strings.Cut(plain, "?")
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		}
		return '-'
	}, plain)
	name = strings.Trim(name, "-.")
	if len(name) > 80 {
		name = name[len(name)-80:]
	}
	return strings.Trim(name, "-.") + "-" + hashOf([]byte(key))[:8]
}

// readVendored reads and verifies the copy of an entry. ok is false when there is none.
func readVendored(vendor string, e *Entry, limits Limits) (files []File, ok bool, err error) {
	dir := filepath.Join(vendor, vendorName(e.Source))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, cause(err)
	}
	c := newCollector(limits.Bytes)
	for _, entry := range entries {
		if err := readCopy(filepath.Join(dir, entry.Name()), c, entry.Name()); err != nil {
			return nil, false, report.Hint("run `kopshook vendor` again", "source %q: its copy in %s: %v", e.Source, dir, err)
		}
		files = append(files, File{Name: entry.Name(), Content: c.contents[entry.Name()]})
	}
	sortFiles(files)
	fits := e.isTree() && hashOf(listing(files)) == e.Tree || !e.isTree() && len(files) == 1 && hashOf(files[0].Content) == e.SHA256
	if !fits {
		return nil, false, report.Hint("run `kopshook vendor` again, or take back what was changed there",
			"source %q: its copy in %s is not what %s says", e.Source, dir, LockName)
	}
	return files, true, nil
}

// readCopy reads a regular file: not a link to one, which may lie anywhere.
func readCopy(path string, c *collector, name string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a regular file", name)
	}
	data, err := file.Read(path, c.limit)
	if err != nil {
		return err
	}
	return c.read(name, bytes.NewReader(data))
}

// Vendor copies what the lock files of refs pin into dir, takes out what is no longer pinned, and returns the lock
// files that now say so, to be written by the caller. Copies of other lock files that share dir stay. A folder that holds other files
// is refused. Refs are those of all specs of a folder, as for Lock.
func (l *Loader) Vendor(ctx context.Context, refs []Ref, dir string) ([]Change, error) {
	l.setUp()
	if err := ownFolder(dir); err != nil {
		return nil, err
	}
	want := map[string][]byte{} // contents by path in dir
	all := folders(refs)
	pins, err := l.pins(all, nil)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, f := range all {
		for _, n := range f.sources {
			e := pins[n.key]
			if f.lock.entry(n.key) == nil {
				errs = append(errs, &RefError{n.ref, notLocked(n.key, f.path)})
				continue
			}
			files, err := l.locked(ctx, n.address, e, "")
			if err != nil {
				errs = append(errs, &RefError{n.ref, err})
			}
			for _, file := range files {
				want[vendorName(n.key)+"/"+file.Name] = file.Content
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	shared, err := l.sharersOf(dir, all, pins)
	if err != nil {
		return nil, err
	}
	if err := refuseOthers(dir, all, want, shared); err != nil {
		return nil, err
	}
	out := changes(all, pins)
	for i := range out {
		rel, err := relativeTo(filepath.Dir(out[i].Path), dir)
		if err != nil {
			return nil, err
		}
		out[i].New.Vendor = filepath.ToSlash(rel)
	}
	return out, writeVendor(dir, want, shared)
}

// ownFolder refuses a folder with files that kopshook did not put there.
func ownFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cause(err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "."+sumsName+".") // another process is writing the listing, or was killed then
	})
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, sumsName)); err != nil {
		return report.Hint("name a new folder", "%s holds files that kopshook did not put there", dir)
	}
	return nil
}

// refuseOthers refuses a folder with copies of sources that no lock file has of which is known that it shares the folder: they would go,
// and may be another one's. Where the folder lists its lock files, and is that of one of these, such copies are of what was locked once.
func refuseOthers(dir string, all []*specFolder, want map[string][]byte, shared *sharers) error {
	if shared.known && slices.ContainsFunc(all, func(f *specFolder) bool { return isVendoredIn(dir, f.path, f.lock) }) {
		return nil
	}
	listed, err := file.Read(filepath.Join(dir, sumsName), maxLock)
	if err != nil {
		return nil // it is new
	}
	sums, _ := parseListing(listed)
	for _, s := range sums {
		if _, ok := want[s.name]; !ok && !shared.keeps(s.name) && !hasFolder(want, s.name) {
			return report.Hint("name another folder, or give the specs of all lock files that are to share it with -f; if there is no other, remove the folder first",
				"%s holds copies that another %s may name: %s", dir, LockName, s.name)
		}
	}
	return nil
}

// writeVendor makes dir hold what is wanted. What stood there by an older listing and is no longer wanted goes, but for copies of
// other lock files.
func writeVendor(dir string, want map[string][]byte, shared *sharers) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cause(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	listed := map[string]string{} // sums by name
	var names []string
	for name := range want {
		names = append(names, name)
		listed[name] = hashOf(want[name])
	}
	slices.Sort(names)
	var old []string
	if data, err := file.ReadIn(root, sumsName, maxLock); err == nil {
		sums, _ := parseListing(data)
		for _, s := range sums {
			if _, ok := want[s.name]; ok {
				continue
			}
			if shared.keeps(s.name) && !hasFolder(want, s.name) {
				listed[s.name] = s.sum
				continue
			}
			old = append(old, s.name)
		}
	}
	var list []byte
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		list = fmt.Appendf(list, "%s  %s\n", listed[name], name)
	}
	sums := filepath.Join(dir, sumsName)
	if _, err := root.Lstat(sumsName); errors.Is(err, fs.ErrNotExist) {
		// by the listing a later run, or one at the same time, knows the folder for kopshook's, even when this one is killed
		if err := file.Write(sums, list, 0o644); err != nil {
			return cause(err)
		}
	}
	if err := file.Write(filepath.Join(dir, sharersName), []byte(strings.Join(shared.names, "\n")+"\n"), 0o644); err != nil {
		return cause(err)
	}
	for _, name := range old {
		root.Remove(name)
		root.Remove(filepath.Dir(name)) // when it is empty
	}
	for _, name := range names {
		if old, err := file.ReadIn(root, name, int64(len(want[name]))); err == nil && hashOf(old) == hashOf(want[name]) {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
			return cause(err)
		}
		if err := file.Write(path, want[name], 0o644); err != nil {
			return cause(err)
		}
	}
	return cause(file.Write(sums, list, 0o644))
}

// hasFolder says whether a copy's source is among those that are wanted: what else its folder holds is of an older content.
func hasFolder(want map[string][]byte, name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	for other := range want {
		if strings.HasPrefix(other, folder+"/") {
			return true
		}
	}
	return false
}

func relativeTo(base, dir string) (string, error) {
	b, err := filepath.Abs(base)
	if err != nil {
		return "", err
	}
	d, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(b, d)
}
