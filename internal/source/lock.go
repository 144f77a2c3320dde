package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// RefError is what is wrong with one source of a spec.
type RefError struct {
	Ref Ref
	Err error
}

func (e *RefError) Error() string { return e.Err.Error() }
func (e *RefError) Unwrap() error { return e.Err }

// Change is a lock file as it should be.
type Change struct {
	Path     string
	Old, New *LockFile // Old is empty when there is no file
}

// Added, Removed and Changed list sources, sorted: those that stand in New only, in Old only, and with other bytes or
// another revision in both.
func (c *Change) Added() []string   { return c.New.without(c.Old) }
func (c *Change) Removed() []string { return c.Old.without(c.New) }
func (c *Change) Changed() []string {
	var keys []string
	for _, e := range c.New.Sources {
		if old := c.Old.entry(e.Source); old != nil && (!old.same(&e) || old.Revision != e.Revision || old.Key != e.Key || old.Size != e.Size) {
			keys = append(keys, e.Source)
		}
	}
	slices.Sort(keys)
	return keys
}

// Empty says whether there is nothing to write.
func (c *Change) Empty() bool {
	return len(c.Added())+len(c.Removed())+len(c.Changed()) == 0 && c.Old.Vendor == c.New.Vendor
}

// Write writes the lock file.
func (c *Change) Write() error {
	if c.Empty() {
		return nil
	}
	if err := file.Write(c.Path, c.New.Encode(), 0o644); err != nil {
		return cause(err)
	}
	return nil
}

func (f *LockFile) without(other *LockFile) []string {
	var keys []string
	for _, e := range f.Sources {
		if other.entry(e.Source) == nil {
			keys = append(keys, e.Source)
		}
	}
	slices.Sort(keys)
	return keys
}

// Lock resolves the remote sources of refs that are not locked yet, or for which update says so, and returns the lock
// files that pin them: one for each folder with specs. Refs are those of all specs of a folder: what none of them
// names goes. Nothing is written but the cache. Each source is fetched once, whatever number of folders it is
// locked for; one that a folder has locked is locked the same for the others.
//
// Errors are joined RefErrors, or those of lock files.
func (l *Loader) Lock(ctx context.Context, refs []Ref, update func(Ref) bool) ([]Change, error) {
	l.setUp()
	all := folders(refs)
	todo := map[string]*named{}
	files := map[string]*named{} // sources that must be one file, wherever
	for _, f := range all {
		for _, n := range f.sources {
			if update != nil && update(n.ref) {
				todo[n.key] = n
			}
			if !n.ref.Dir {
				files[n.key] = n
			}
		}
	}
	pins, err := l.pins(all, todo)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		for _, n := range f.sources {
			pin := pins[n.key]
			if pin == nil || todo[n.key] == nil && l.keyOf(n, pin, update) != pin.Key {
				todo[n.key] = n
			}
		}
	}
	resolved, err := l.resolveAll(ctx, todo, pins, update)
	if err != nil {
		return nil, err
	}
	maps.Copy(pins, resolved)
	var errs []error
	for key, n := range files {
		if pins[key].isTree() {
			errs = append(errs, &RefError{n.ref, notOneFile(key)})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return changes(all, pins), nil
}

// CheckLock compares lock files with the specs and with the vendor folder, without network or cache. In the lock files
// that it returns, what is not locked yet has no sum. With them comes an error of joined RefErrors when copies in the
// vendor folder are missing, or not what is locked.
func (l *Loader) CheckLock(refs []Ref) ([]Change, error) {
	l.setUp()
	all := folders(refs)
	pins, err := l.pins(all, nil)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, f := range all {
		dir := vendorDir(f.path, f.lock)
		for _, n := range f.sources {
			e := pins[n.key]
			if f.lock.entry(n.key) == nil || dir == "" {
				continue
			}
			_, ok, err := readVendored(dir, e, l.limits)
			if !ok && err == nil {
				err = report.Hint("run `kopshook vendor` again", "source %q has no copy in %s", n.key, dir)
			}
			if err != nil {
				errs = append(errs, &RefError{n.ref, err})
			}
		}
	}
	return changes(all, pins), errors.Join(errs...)
}

// pins reads the lock files of the folders, and returns what they say of the sources in them. They must agree, but for
// those that are to be resolved anew.
func (l *Loader) pins(all []*specFolder, anew map[string]*named) (map[string]*Entry, error) {
	var errs []error
	pins := map[string]*Entry{}
	for _, f := range all {
		errs = append(errs, f.errs...)
		lock, err := l.lockFile(f.path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f.lock = lock
		for _, n := range f.sources {
			e := lock.entry(n.key)
			if e == nil {
				continue
			}
			if err := l.agree(e, f.path); err != nil && anew[n.key] == nil {
				errs = append(errs, &RefError{n.ref, err})
			}
			if pin := pins[n.key]; pin == nil || pin.Key == "" {
				pins[n.key] = e
			}
		}
	}
	return pins, errors.Join(errs...)
}

// changes makes lock files of pins.
func changes(all []*specFolder, pins map[string]*Entry) []Change {
	var out []Change
	for _, f := range all {
		lock := &LockFile{Version: lockVersion, Vendor: f.lock.Vendor}
		for _, n := range f.sources {
			e := Entry{Source: n.key}
			if pin := pins[n.key]; pin != nil {
				e = *pin
			}
			lock.Sources = append(lock.Sources, e)
		}
		out = append(out, Change{Path: f.path, Old: f.lock, New: lock})
	}
	return out
}

// resolveAll fetches what sources stand for now, several at once. Of those that are pinned, and that update does not name,
// signatures alone are looked at.
func (l *Loader) resolveAll(ctx context.Context, todo map[string]*named, pins map[string]*Entry, update func(Ref) bool) (map[string]*Entry, error) {
	keys := slices.Sorted(maps.Keys(todo))
	entries := make([]*Entry, len(keys))
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			n, pin := todo[key], pins[key]
			want := l.keyOf(n, pin, update)
			var err error
			if pin != nil && (update == nil || !update(n.ref)) {
				entries[i], err = l.sign(ctx, n.address, *pin, want)
			} else {
				entries[i], err = l.resolve(ctx, n.address, want)
			}
			if err != nil {
				errs[i] = &RefError{n.ref, err}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := map[string]*Entry{}
	for i, key := range keys {
		out[key] = entries[i]
	}
	return out, nil
}

// resolve fetches what a source stands for now, and signed with key unless that is empty.
func (l *Loader) resolve(ctx context.Context, a *address, key string) (*Entry, error) {
	if l.Offline {
		return nil, report.Hint("run `kopshook lock` without --offline", "source %q has to be fetched, which --offline forbids", a.key)
	}
	if a.plain() {
		l.warn(fmt.Sprintf("source %q: comes unencrypted and unchecked the first time: use https, or add checksum=sha256:HEX", a.key))
	}
	f, err := l.fetch(ctx, a, "")
	if err != nil {
		return nil, err
	}
	f.name(a)
	e, err := l.sign(ctx, a, Entry{Source: a.key, Revision: f.revision}, key)
	if err != nil {
		return nil, err
	}
	for _, file := range f.files {
		e.Size += int64(len(file.Content))
	}
	if f.dir {
		e.Tree = hashOf(listing(f.files))
	} else {
		e.SHA256 = hashOf(f.files[0].Content)
	}
	l.cache.putFiles(f.files, f.dir)
	return e, nil
}

// specFolder is a folder of specs, with the remote sources that they name.
type specFolder struct {
	dir, path string // path is of the lock file
	lock      *LockFile
	sources   []*named
	errs      []error
}

// named is a source and where it is named. When several specs of a folder name it, ref.Dir is false if one of them
// takes a single file only.
type named struct {
	ref Ref
	*address
}

// folders sorts refs by the folders of their specs, in the order in which they come.
func folders(refs []Ref) []*specFolder {
	var all []*specFolder
	for _, ref := range refs {
		dir := specDir(ref.SpecFile)
		i := slices.IndexFunc(all, func(f *specFolder) bool { return f.dir == dir })
		if i < 0 {
			i = len(all)
			all = append(all, &specFolder{dir: dir, path: lockPath(ref.SpecFile)})
		}
		f := all[i]
		if !IsRemote(ref.Source) {
			continue
		}
		a, err := parseAddress(ref.Source)
		if err != nil {
			f.errs = append(f.errs, &RefError{ref, err})
			continue
		}
		j := slices.IndexFunc(f.sources, func(n *named) bool { return n.key == a.key })
		switch {
		case j >= 0 && f.sources[j].same != a.same:
			f.errs = append(f.errs, &RefError{ref, report.Hint("add version=, with a word of your own, to one of them",
				"source %q cannot be told from another one of this folder, which differs in what is hidden", a.key)})
		case j < 0:
			f.sources = append(f.sources, &named{ref, a})
		case !ref.Dir:
			f.sources[j].ref = ref
		}
	}
	return all
}
