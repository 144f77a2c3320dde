package file

import (
	"os"
	"path/filepath"
)

// Real is where a file really lies, as an absolute path, or would lie when somebody wrote it: symbolic links are followed, also one
// that leads to nothing.
func Real(name string) string {
	path, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	for range 40 { // as many links as Linux follows
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return path // nothing can be written there
		}
		path = filepath.Join(dir, filepath.Base(path))
		link, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if path = link; !filepath.IsAbs(link) {
			path = filepath.Join(dir, link)
		}
	}
	return path
}

// Same says whether two names are of one file, by links too, or would be.
func Same(a, b string) bool {
	if x, err := os.Stat(a); err == nil {
		y, err := os.Stat(b)
		return err == nil && os.SameFile(x, y)
	}
	return Real(a) == Real(b)
}
