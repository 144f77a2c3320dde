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
	// EndOfRange marks the oldest and the newest system that kops' nodes may have. Their archives move or stand still,
	// so tests may go on without them, and say so.
	EndOfRange bool
	options    []string // of mmdebstrap
	packages   []string // that cloud images have and the suite's smallest system no longer has
}

// Suites are the releases that can be booted. The first is the default.
var Suites = []Suite{
	{Name: "trixie", Title: "Debian 13", mirrorEnv: "KOPSHOOK_DEBIAN_MIRROR", components: "main", keyring: "/usr/share/keyrings/debian-archive-keyring.gpg"},
	{Name: "bookworm", Title: "Debian 12", mirrorEnv: "KOPSHOOK_DEBIAN_MIRROR", components: "main", keyring: "/usr/share/keyrings/debian-archive-keyring.gpg"},
	{Name: "bullseye", Title: "Debian 11", mirrorEnv: "KOPSHOOK_DEBIAN_MIRROR", components: "main", keyring: "/usr/share/keyrings/debian-archive-keyring.gpg", EndOfRange: true},
	// testing's lists expire after a week, also on a mirror that is a few weeks behind; they are signed all the same
	{Name: "testing", Title: "Debian testing", mirrorEnv: "KOPSHOOK_DEBIAN_MIRROR", components: "main", keyring: "/usr/share/keyrings/debian-archive-keyring.gpg", EndOfRange: true,
		options: []string{`--aptopt=Acquire::Check-Valid-Until "false"`}, packages: []string{"mount", "passwd"}},
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
