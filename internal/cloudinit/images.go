package cloudinit

import (
	"regexp"
	"strings"
)

// The versions of Debian, with which the model is tested.
var (
	Debian11 = Version{20, 4, 9}
	Debian12 = Version{22, 4, 11}
	Debian13 = Version{25, 1, 13}
)

// images are the distributions that kops 1.36 runs on (kops docs/operations/images.md), by parts of the names that their
// images have in the clouds, with "-" for what else stands between words. The first one counts.
var images = []struct {
	version Version
	names   string
}{
	{Debian11, "bullseye debian-11 debian11"},
	{Debian12, "bookworm debian-12 debian12"},
	{Debian13, "trixie debian-13 debian13"},
	{Version{26, 2, 14}, "forky debian-14 debian14 debian-sid debian-testing"},
	{Version{22, 2, 9}, "al2023 amazon-linux-2023"},
	{Version{23, 4, 9}, "rhel-9-4 rhel-9-5 rocky-9-ec2-base-9-4 rocky-9-ec2-base-9-5"},
	{Version{24, 4, 9}, "rhel-9 rocky-9 rocky-linux-9 centos-stream-9 almalinux-9"},
	{Version{24, 4, 12}, "rhel-10 rocky-10 rocky-linux-10 centos-stream-10 almalinux-10"},
	{Version{23, 4, 6}, "rhel-8 rocky-8 rocky-linux-8 almalinux-8"},
	{Version{20, 1, 8}, "focal ubuntu-20-04 ubuntu-2004 ubuntu-server-20-04"},
	{Version{22, 1, 10}, "jammy ubuntu-22-04 ubuntu-2204 ubuntu-server-22-04"},
	{Version{24, 1, 12}, "noble ubuntu-24-04 ubuntu-2404 ubuntu-server-24-04"},
	{Version{26, 1, 14}, "resolute ubuntu-26-04 ubuntu-2604 ubuntu-server-26-04"},
}

// ubuntuUpdates are the days from which on the images of all Ubuntu releases have a newer cloud-init, a month after it was
// uploaded (tags ubuntu/VERSION in cloud-init's repository): those with which something changes, and the last one.
var ubuntuUpdates = []struct {
	day          string
	major, minor int
}{
	{"20211215", 21, 4}, {"20220701", 22, 2}, {"20230101", 22, 4}, {"20230415", 23, 1}, {"20231015", 23, 3},
	{"20241015", 24, 3}, {"20260115", 25, 3}, {"20260501", 26, 1},
}

// imageDay finds the day that an image was made in its name.
var imageDay = regexp.MustCompile(`(?:^|[^0-9])(20[0-9]{6})`)

// VersionOf returns the version of cloud-init on an image, as far as its name tells; else that of Debian 13. An image of
// Ubuntu whose name has no day is taken for one of today.
func VersionOf(image string) Version {
	image = strings.NewReplacer(".", "-", "_", "-", " ", "-", ":", "-", "/", "-").Replace(strings.ToLower(image))
	for _, i := range images {
		for name := range strings.FieldsSeq(i.names) {
			if !strings.Contains(image, name) {
				continue
			}
			if strings.Contains(i.names, "ubuntu") {
				return updated(i.version, image)
			}
			return i.version
		}
	}
	return Debian13
}

// updated is the version that a release of Ubuntu began with, after the updates up to the day of an image.
func updated(v Version, image string) Version {
	day := ""
	if found := imageDay.FindStringSubmatch(image); found != nil {
		day = found[1]
	}
	for _, u := range ubuntuUpdates {
		if day == "" || u.day <= day {
			if newer := (change{major: u.major, minor: u.minor}); !v.has(newer) {
				v.Major, v.Minor = u.major, u.minor
			}
		}
	}
	return v
}
