package source

import (
	"regexp"
)

// IsRemote says whether a source is fetched: it names a scheme or a getter, or a host that go-getter knows.
func IsRemote(src string) bool {
	return remote().MatchString(src)
}

func remote() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9+]+::|[a-z0-9+.-]+://|git@|github\.com/|gitlab\.com/|bitbucket\.org/)`)
}
