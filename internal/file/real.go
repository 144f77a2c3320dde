package file

import (
	"os"
	"path/filepath"
)

// Real is where a file really lies, as an absolute path, or would lie when somebody wrote it: symbolic links are followed, also one
// that leads to nothing.
func Real(name string) string {
	path := name
	if !filepath.IsAbs(name) {
		dir, err := os.Getwd()
		if err != nil {
			return name
		}
		path = dir + string(filepath.Separator) + name // not cleaned: of LINK/.., the system goes up from where the link leads
	}
	for range 40 { // as many links as Linux follows
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		dir, base := filepath.Split(path)
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return path // nothing can be written there
		}
		path = filepath.Join(dir, base)
		link, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if path = link; !filepath.IsAbs(link) {
			path = dir + string(filepath.Separator) + link
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
