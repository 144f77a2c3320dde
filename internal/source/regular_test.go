//go:build unix

package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What lies where a lock file, a cached file or a copy should, and would be read for ever.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	srv := serve(t, map[string]string{"/x.sh": "#!/bin/sh\n"})
	src := srv.URL + "/x.sh"
	const content = "x.sh: \"#!/bin/sh\\n\"\n"
	places := map[string]func(t *testing.T, put func(path string)) string{
		"the lock file": func(t *testing.T, put func(string)) string {
			spec := specIn(t, nil)
			put(lockPath(spec))
			return got(testLoader(t).Load(t.Context(), Ref{SpecFile: spec, Source: src}))
		},
		"a cached file": func(t *testing.T, put func(string)) string {
			spec, l := specIn(t, nil), testLoader(t)
			if err := lockAll(t, l, spec, src); err != nil {
				t.Fatal(err)
			}
			put(l.cache.path(hashOf([]byte("#!/bin/sh\n"))))
			return got(again(l).Load(t.Context(), Ref{SpecFile: spec, Source: src}))
		},
		"a copy": func(t *testing.T, put func(string)) string {
			spec, l := specIn(t, nil), testLoader(t)
			if err := lockAll(t, l, spec, src); err != nil {
				t.Fatal(err)
			}
			vendorAll(t, l, spec, src)
			put(filepath.Join(filepath.Dir(spec), "vendor", vendorName(src), "x.sh"))
			return got(again(l).Load(t.Context(), Ref{SpecFile: spec, Source: src}))
		},
		"the list of copies": func(t *testing.T, put func(string)) string {
			spec, l := specIn(t, nil), testLoader(t)
			if err := lockAll(t, l, spec, src); err != nil {
				t.Fatal(err)
			}
			vendorAll(t, l, spec, src)
			put(filepath.Join(filepath.Dir(spec), "vendor", sumsName))
			_, err := again(l).Vendor(t.Context(), refsOf(spec, src), filepath.Join(filepath.Dir(spec), "vendor"))
			return got(nil, err)
		},
	}
	want := map[string]string{
		"the lock file FIFO": "is a FIFO", "the lock file /dev/zero": "is a device",
		"a cached file FIFO": content, "a cached file /dev/zero": content,
		"a copy FIFO": "is not a regular file", "a copy /dev/zero": "is not a regular file",
		"the list of copies FIFO": "it is not a regular file", "the list of copies /dev/zero": "",
	}
	for place, read := range places {
		for kind, put := range map[string]func(path string) error{
			"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"/dev/zero": func(path string) error { return os.Symlink("/dev/zero", path) },
		} {
			t.Run(place+" is "+kind, func(t *testing.T) {
				done := make(chan string, 1)
				go func() {
					done <- read(t, func(path string) {
						os.Remove(path)
						if err := put(path); err != nil {
							t.Error(err)
						}
					})
				}()
				select {
				case said := <-done:
					if !strings.Contains(said, want[place+" "+kind]) {
						t.Errorf("%q, want %q", said, want[place+" "+kind])
					}
				case <-time.After(time.Minute):
					t.Fatal("it is still being read")
				}
			})
		}
	}
}

func vendorAll(t *testing.T, l *Loader, spec string, sources ...string) {
	t.Helper()
	changes, err := again(l).Vendor(context.Background(), refsOf(spec, sources...), filepath.Join(filepath.Dir(spec), "vendor"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if err := c.Write(); err != nil {
			t.Fatal(err)
		}
	}
}
