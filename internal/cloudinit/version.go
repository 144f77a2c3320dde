package cloudinit

import "strings"

// VersionOf returns the version of cloud-init on an image, as far as its name tells: that of Debian 12 for images that
// have an old one, else that of Debian 13.
func VersionOf(image string) Version {
	image = strings.ToLower(image)
	for _, old := range []string{"debian-12", "debian12", "bookworm", "debian-11", "debian11", "bullseye", "al2023", "amzn2", "rhel-8", "rocky-8"} {
		if strings.Contains(image, old) {
			return Debian12
		}
	}
	return Debian13
}
