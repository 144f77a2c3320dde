package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"kopshook.dev/kopshook/internal/report"
)

// LockOptions says what Lock does.
type LockOptions struct {
	Update  func(Ref) bool           // resolve anew though it is locked; nil: nothing
	Partial func(folder string) bool // refs do not hold all specs of a folder: keep what none of them names; nil: nowhere
}

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
		if old := c.Old.entry(e.Source); old != nil && (!old.same(&e) || old.Revision != e.Revision || old.Size != e.Size) {
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
	if err := WriteFile(c.Path, c.New.Encode(), 0o644); err != nil {
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

// Lock resolves the remote sources of refs that are not locked yet, or that are to be updated, and returns the lock
// files that pin them: one for each folder with specs that have remote sources, or with a lock file. Nothing is
// written but the cache. Each source is fetched once, whatever number of folders it is locked for.
func (l *Loader) Lock(ctx context.Context, refs []Ref, opts LockOptions) ([]Change, error) {
	l.setUp()
	all := folders(refs)
	locks := make([]*LockFile, len(all))
	var errs []error
	pins := map[string]*Entry{} // by key
	resolve := map[string]*address{}
	dirs := map[string]bool{} // keys for which a folder is allowed wherever they are named
	for i, f := range all {
		errs = append(errs, f.errs...)
		lock, err := l.lockFile(f.path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		locks[i] = lock
		for j, a := range f.addresses {
			if dir, ok := dirs[a.key]; !ok || dir {
				dirs[a.key] = f.refs[j].Dir
			}
			e := lock.entry(a.key)
			if e == nil || opts.Update != nil && opts.Update(f.refs[j]) {
				resolve[a.key] = a
				continue
			}
			if err := l.agree(e, f.path); err != nil {
				errs = append(errs, err)
			}
			pins[a.key] = e
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	// a source that one folder has locked is locked the same for the others, unless it is to be updated
	for key := range resolve {
		if pins[key] != nil && !anyUpdate(all, key, opts) {
			delete(resolve, key)
		}
	}
	resolved, err := l.resolveAll(ctx, resolve)
	if err != nil {
		return nil, err
	}
	for key, e := range resolved {
		pins[key] = e
	}
	for key, e := range pins {
		if e.isTree() && !dirs[key] {
			errs = append(errs, notOneFile(key))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var changes []Change
	for i, f := range all {
		updated := &LockFile{Version: lockVersion, Vendor: locks[i].Vendor}
		if opts.Partial != nil && opts.Partial(f.dir) {
			updated.Sources = slices.Clone(locks[i].Sources)
		}
		for _, a := range f.addresses {
			if old := updated.entry(a.key); old != nil {
				*old = *pins[a.key]
			} else {
				updated.Sources = append(updated.Sources, *pins[a.key])
			}
		}
		changes = append(changes, Change{Path: f.path, Old: locks[i], New: updated})
	}
	return changes, nil
}

func anyUpdate(all []*specFolder, key string, opts LockOptions) bool {
	for _, f := range all {
		for i, a := range f.addresses {
			if a.key == key && opts.Update != nil && opts.Update(f.refs[i]) {
				return true
			}
		}
	}
	return false
}

// resolveAll fetches what the addresses stand for now, several at once. Results and errors are in order of the keys.
func (l *Loader) resolveAll(ctx context.Context, addresses map[string]*address) (map[string]*Entry, error) {
	keys := make([]string, 0, len(addresses))
	for key := range addresses {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	entries := make([]*Entry, len(keys))
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() { entries[i], errs[i] = l.resolve(ctx, addresses[key]) })
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

func (l *Loader) resolve(ctx context.Context, a *address) (*Entry, error) {
	if l.Offline {
		return nil, report.Hint("run `kopshook lock` without --offline", "source %q is not locked", a.key)
	}
	if a.plain() {
		l.warn(fmt.Sprintf("source %q: comes unencrypted and unchecked the first time: use https, or add checksum=sha256:HEX", a.key))
	}
	f, err := l.fetch(ctx, a, "")
	if err != nil {
		return nil, err
	}
	f.name(a)
	e := &Entry{Source: a.key, Revision: f.revision}
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
	refs      []Ref  // refs[i] is addresses[i]
	addresses []*address
	errs      []error
}

// folders sorts refs by the folders of their specs, in the order in which they come. A source that several specs of a
// folder name stands there once; its Dir is false when one of them takes a single file only.
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
			f.errs = append(f.errs, err)
			continue
		}
		if j := slices.IndexFunc(f.addresses, func(other *address) bool { return other.key == a.key }); j >= 0 {
			f.refs[j].Dir = f.refs[j].Dir && ref.Dir
			continue
		}
		f.refs = append(f.refs, ref)
		f.addresses = append(f.addresses, a)
	}
	return all
}
