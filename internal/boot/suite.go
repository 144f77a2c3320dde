package boot

import (
	"fmt"
	"os"
	"strings"
)

// Suite is a release of a distribution that nodes are made of.
type Suite struct {
	Name  string // "trixie"
	Title string // "Debian 13"

	mirrorEnv  string // names a mirror to use; empty means mmdebstrap's own choice
	needMirror bool
	components string
	keyring    string
}

// Suites are the releases that can be booted. The first is the default.
var Suites = []Suite{
	{Name: "trixie", Title: "Debian 13", mirrorEnv: "KOPSHOOK_DEBIAN_MIRROR", components: "main", keyring: "/usr/share/keyrings/debian-archive-keyring.gpg"},
	{Name: "bookworm", Title: "Debian 12", mirrorEnv: "KOPSHOOK_DEBIAN_MIRROR", components: "main", keyring: "/usr/share/keyrings/debian-archive-keyring.gpg"},
	{Name: "noble", Title: "Ubuntu 24.04", mirrorEnv: "KOPSHOOK_UBUNTU_MIRROR", needMirror: true, components: "main,universe", keyring: "/usr/share/keyrings/ubuntu-archive-keyring.gpg"},
}

// FindSuite returns the suite called name.
func FindSuite(name string) (Suite, error) {
	var names []string
	for _, s := range Suites {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Suite{}, fmt.Errorf("suite %q is not known; there are %s", name, strings.Join(names, ", "))
}

// Missing says what keeps this suite from being built here, or "".
func (s Suite) Missing() string {
	if s.needMirror && os.Getenv(s.mirrorEnv) == "" {
		return fmt.Sprintf("%s (%s) needs a mirror: set %s to its address", s.Name, s.Title, s.mirrorEnv)
	}
	if _, err := os.Stat(s.keyring); err != nil {
		return fmt.Sprintf("%s (%s) needs %s: install its archive keyring package", s.Name, s.Title, s.keyring)
	}
	return ""
}
