// Package source reads what a spec's source: names: files and folders beside the spec, and remote sources that a lock
// file or a checksum pins.
//
// Nothing is believed: local paths go through os.Root, fetched trees are walked by this package itself, only regular
// files are read, and sizes, counts and times are limited. A remote source is used only with the bytes that were
// locked, from the cache or from the network; resolving it anew is the business of Lock alone.
package source

import (
	"context"
	"io"
	"time"
)

// Ref is one source: as it stands in a spec.
type Ref struct {
	SpecFile string // the file's name as the user gave it; "-" or "" is standard input: relative to the current folder
	Source   string // a local path or a remote source
	Dir      bool   // a folder is allowed (of scripts); else it must be one file
}

// File is one file of a source.
type File struct {
	Name       string // base name
	Content    []byte
	Executable bool
}

// Limits bound what a source may be. The zero value of a field means its default.
type Limits struct {
	Bytes    int64         // of the files that are used, together; default 1 MiB: user data takes far less
	Files    int           // that are used; default 256
	Download int64         // bytes that come over the network, and bytes of what an archive or repository unpacks to; default 256 MiB
	Entries  int           // files, folders and links of an archive or of a repository's commit; default 100,000
	Time     time.Duration // for one source, retries included; default 10m
	Stall    time.Duration // without a byte from the server; default 30s
	Attempts int           // at a source whose server fails in a way that may pass; default 4
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if l.Bytes == 0 {
		l.Bytes = 1 << 20
	}
	if l.Download == 0 {
		l.Download = 256 << 20
	}
	if l.Time == 0 {
		l.Time = 10 * time.Minute
	}
	if l.Stall == 0 {
		l.Stall = 30 * time.Second
	}
	set(&l.Files, 256)
	set(&l.Entries, 100_000)
	set(&l.Attempts, 4)
	return l
}

// Loader reads sources. Its fields are options and not changed after the first call; its methods may be called from
// several goroutines at once.
type Loader struct {
	AllowPaths []string  // folders outside a spec's own that local sources may lie in
	CacheDir   string    // "" is DefaultCacheDir()
	Offline    bool      // fetch nothing: cache and vendor folder only
	Progress   io.Writer // where long fetches are shown; nil shows nothing
	Limits     Limits
}

// Load returns the files of a source, sorted by name as Python's sorted() and systemd order them (by bytes): one for a
// file; for a folder each regular file in it, subfolders and names that begin with a dot left out.
//
// Its errors are *Error.
func (l *Loader) Load(ctx context.Context, ref Ref) ([]File, error) {
	if IsRemote(ref.Source) {
		return nil, &Error{Msg: "remote sources are not built yet"}
	}
	return l.local(ref)
}

// Error is what is wrong with a source, and the remedy, "" when the message says it.
type Error struct {
	Msg    string
	Remedy string
	Err    error // the cause, or nil
}

func (e *Error) Error() string { return e.Msg }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the remedy.
func (e *Error) Hint() string { return e.Remedy }
