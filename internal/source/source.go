// Package source reads what a spec's source: names: files and folders beside the spec, and remote sources that a lock
// file or a checksum pins.
//
// Nothing is believed: local paths go through os.Root, fetched archives and repositories are walked by this package
// itself, only regular files are read, and sizes, counts and times are limited. A remote source is used only with the
// bytes that were locked, from the vendor folder, the cache or the network; resolving it anew is the business of
// Lock alone.
package source

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/kops/util/pkg/vfs"
)

// Ref is one source as it stands in a spec.
type Ref struct {
	SpecFile string // the file's name as the user gave it; "-" or "" is standard input: relative to the current folder
	Source   string // a local path or a remote source
	Dir      bool   // a folder is allowed (of scripts); else it must be one file
}

// File is one file of a source.
type File struct {
	Name    string // base name
	Content []byte
}

// Limits bound what a source may be. A zero field means its default.
type Limits struct {
	Bytes    int64         // of the files that are used, together; default 1 MiB: user data takes far less
	Files    int           // that are used; default 256
	Download int64         // bytes that come over the network; default 64 MiB
	Unpacked int64         // bytes that an archive unpacks to; default 512 MiB
	Entries  int           // files, folders and links of an archive or of a commit; default 100,000
	Time     time.Duration // for one source, retries included; default 10m
	Stall    time.Duration // without a byte from the server; default 30s
	Attempts int           // at a server that fails in a way that may pass; default 4
	Backoff  time.Duration // before the second attempt, doubled for each further one; default 1s
	Parallel int           // sources fetched at once; default 4
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes:    orDefault(l.Bytes, 1<<20),
		Files:    orDefault(l.Files, 256),
		Download: orDefault(l.Download, 64<<20),
		Unpacked: orDefault(l.Unpacked, 512<<20),
		Entries:  orDefault(l.Entries, 100_000),
		Time:     orDefault(l.Time, 10*time.Minute),
		Stall:    orDefault(l.Stall, 30*time.Second),
		Attempts: orDefault(l.Attempts, 4),
		Backoff:  orDefault(l.Backoff, time.Second),
		Parallel: orDefault(l.Parallel, 4),
	}
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Loader reads sources. Its exported fields are options, not to be changed after the first call; its methods may be
// called from several goroutines at once.
type Loader struct {
	AllowPaths []string     // folders outside a spec's own that local sources may lie in
	CacheDir   string       // default: the folder kopshook in os.UserCacheDir; without either nothing is cached
	Offline    bool         // fetch nothing: vendor folder and cache only
	Online     string       // how the user lifts Offline; default "run it once without --offline"
	Key        string       // what Lock wants sources of registries to be signed with: of ReadKey, or NoKey; "" is what the lock file has
	Progress   io.Writer    // a terminal on which long fetches are shown; nil shows nothing
	Warn       func(string) // told what is odd but no error; nil drops it
	Limits     Limits

	init     sync.Once
	limits   Limits
	cache    cache
	slots    chan struct{}
	progress *progress
	flights  singleflight.Group

	mu    sync.Mutex
	locks map[string]*lockState // by path of the lock file
	used  map[string]use        // by key of the source
	// failed are sources that could not be had, by key
	failed map[string]error

	// for tests
	transport http.RoundTripper // nil is http.DefaultTransport
	vfs       *vfs.VFSContext
}

// Load returns the files of a source, sorted by the bytes of their names, as Python's sorted() and systemd order them:
// one for a file; for a folder each regular file in it. Subfolders and names that begin with a dot are left out.
//
// Errors carry their remedy (report.Remedy) and, when it is the lock file that is wrong, its position.
func (l *Loader) Load(ctx context.Context, ref Ref) ([]File, error) {
	l.setUp()
	if !IsRemote(ref.Source) {
		return l.local(ref)
	}
	return l.remote(ctx, ref)
}

// Prefetch brings the remote sources among refs that are neither vendored nor cached into the cache, several at once.
// Their errors are those that Load returns later.
func (l *Loader) Prefetch(ctx context.Context, refs []Ref) {
	var wg sync.WaitGroup
	for _, ref := range refs {
		if IsRemote(ref.Source) {
			wg.Go(func() { l.Load(ctx, ref) })
		}
	}
	wg.Wait()
}

func (l *Loader) setUp() {
	l.init.Do(func() {
		l.limits = l.Limits.withDefaults()
		l.cache = cache{dir: l.CacheDir, limit: l.limits.Download, warn: l.warn}
		if l.cache.dir == "" {
			l.cache.dir = defaultCacheDir()
		}
		l.slots = make(chan struct{}, l.limits.Parallel)
		l.progress = newProgress(l.Progress)
		l.locks = map[string]*lockState{}
		l.used = map[string]use{}
		l.failed = map[string]error{}
		if l.vfs == nil {
			l.vfs = vfs.NewVFSContext()
		}
	})
}

func (l *Loader) warn(msg string) {
	if l.Warn != nil {
		l.Warn(msg)
	}
}
