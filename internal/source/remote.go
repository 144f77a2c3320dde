package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// lockState is a lock file as it was read, once.
type lockState struct {
	once sync.Once
	file *LockFile // empty when there is none
	err  error
}

// use is an entry that was used, and the lock file it stands in.
type use struct {
	entry *Entry
	path  string
}

// remote returns the files of a remote source that the lock file or a checksum pins.
func (l *Loader) remote(ctx context.Context, ref Ref) ([]File, error) {
	a, err := parseAddress(ref.Source)
	if err != nil {
		return nil, err
	}
	lock, err := l.lockFile(lockPath(ref.SpecFile))
	if err != nil {
		return nil, err
	}
	var files []File
	var dir bool
	entry := lock.entry(a.key)
	switch {
	case entry != nil:
		if err := l.agree(entry, lockPath(ref.SpecFile)); err != nil {
			return nil, err
		}
		dir = entry.isTree()
		files, err = l.locked(ctx, a, entry, vendorDir(ref.SpecFile, lock))
	case a.pin != "":
		files, dir, err = l.pinned(ctx, a)
	default:
		return nil, notLocked(a.key, lockPath(ref.SpecFile))
	}
	if err != nil {
		return nil, err
	}
	if dir && !ref.Dir {
		return nil, notOneFile(a.key)
	}
	return files, nil
}

// lockFile reads a lock file. One that does not exist is empty.
func (l *Loader) lockFile(path string) (*LockFile, error) {
	l.mu.Lock()
	s := l.locks[path]
	if s == nil {
		s = &lockState{}
		l.locks[path] = s
	}
	l.mu.Unlock()
	s.once.Do(func() {
		s.file, s.err = readLock(path)
	})
	return s.file, s.err
}

// maxLock bounds a lock file: an entry takes about 200 bytes.
const maxLock = 16 << 20

func readLock(path string) (*LockFile, error) {
	data, err := file.Read(path, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return &LockFile{Version: lockVersion}, nil
	}
	if err != nil {
		return nil, cause(err)
	}
	return DecodeLock(path, data)
}

// agree refuses a source that two lock files of one run pin to different bytes: what a node gets would depend on the
// folder that a spec happens to lie in.
func (l *Loader) agree(e *Entry, path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, ok := l.used[e.Source]
	if !ok {
		l.used[e.Source] = use{e, path}
		return nil
	}
	if first.entry.same(e) {
		return nil
	}
	return report.Hint("run `kopshook lock --update` with the specs of both folders",
		"source %q is locked differently in %s and in %s", e.Source, first.path, path)
}

// locked returns the files that a lock file's entry pins: from the vendor folder, the cache or the network.
func (l *Loader) locked(ctx context.Context, a *address, e *Entry, vendor string) ([]File, error) {
	if vendor != "" {
		files, ok, err := readVendored(vendor, e, l.limits)
		if ok || err != nil {
			return files, err
		}
	}
	v, err := l.once(e.Source, func() (any, error) {
		if files, ok := l.cache.files(e); ok {
			return files, nil
		}
		if l.Offline {
			return nil, l.absent(a)
		}
		f, err := l.fetch(ctx, a, e.Revision)
		if err != nil {
			return nil, err
		}
		f.name(a)
		if err := e.check(f.files, f.dir); err != nil {
			return nil, err
		}
		l.cache.putFiles(f.files, f.dir)
		return f.files, nil
	})
	if err != nil {
		return nil, err
	}
	return v.([]File), nil
}

// once does the work for a source once at a time. A failure stays one: it was tried several times already.
func (l *Loader) once(key string, do func() (any, error)) (any, error) {
	v, err, _ := l.flights.Do(key, func() (any, error) {
		l.mu.Lock()
		err := l.failed[key]
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
		v, err := do()
		if err != nil && !errors.Is(err, context.Canceled) {
			l.mu.Lock()
			l.failed[key] = err
			l.mu.Unlock()
		}
		return v, err
	})
	return v, err
}

// pinned returns the files of a source that is in no lock file and carries a SHA-256.
func (l *Loader) pinned(ctx context.Context, a *address) (files []File, dir bool, err error) {
	v, err := l.once(a.key, func() (any, error) {
		if raw, ok := l.cache.get(a.pin); ok {
			return l.unpack(ctx, a, raw)
		}
		if l.Offline {
			return nil, l.absent(a)
		}
		f, err := l.fetch(ctx, a, "")
		if err != nil {
			return nil, err
		}
		f.name(a)
		l.cache.put(f.raw)
		return f, nil
	})
	if err != nil {
		return nil, false, err
	}
	f := v.(*fetched)
	return f.files, f.dir, nil
}

// unpack reads a downloaded file from the cache.
func (l *Loader) unpack(ctx context.Context, a *address, raw []byte) (*fetched, error) {
	dir, cleanUp, err := l.cache.tempDir()
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	dst := dir + "/cached"
	if err := os.WriteFile(dst, raw, 0o600); err != nil {
		return nil, err
	}
	f, err := l.openDownload(ctx, a, dst)
	if err != nil {
		return nil, a.failure(err, 1)
	}
	f.name(a)
	return f, nil
}

func (l *Loader) absent(a *address) error {
	return report.Hint(orDefault(l.Online, "run it once without --offline")+", or keep copies beside the specs with `kopshook vendor`",
		"source %q is neither vendored nor in the cache", a.key)
}

// name gives a single file the name that its source says, wherever it came from.
func (f *fetched) name(a *address) {
	if !f.dir && len(f.files) == 1 {
		f.files[0].Name = fileName(a.key)
	}
}

func notLocked(key, path string) error {
	return report.Hint("run `kopshook lock`", "source %q is not locked in %s", key, path)
}

func notOneFile(key string) error {
	return report.Hint("name one file: only a hook's source may be a folder of scripts", "source %q is a folder", key)
}
