package cloudinit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// files is what is known of the node's file system: the folders that every Linux has, and what write_files makes.
type files struct {
	folders map[string]bool
	written map[string]uint32 // mode of each
}

func newFiles() *files {
	f := &files{folders: map[string]bool{}, written: map[string]uint32{}}
	for _, d := range knownFolders {
		f.folders[d] = true
	}
	return f
}

var knownFolders = strings.Fields(`/ /bin /boot /dev /etc /etc/default /etc/profile.d /etc/ssl /etc/ssl/certs /etc/systemd
	/etc/systemd/system /etc/systemd/network /home /lib /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /usr/bin /usr/lib
	/usr/local /usr/local/bin /usr/local/sbin /usr/sbin /usr/share /var /var/cache /var/lib /var/log /var/spool /var/tmp`)

// parents makes the folders above a file and says whether it made any.
func (f *files) parents(p string) (made bool, err error) {
	p = path.Clean(p)
	if strings.Contains(p, "\x00") {
		return false, fmt.Errorf("its path holds a NUL")
	}
	var missing []string
	for d := path.Dir(p); !f.folders[d]; d = path.Dir(d) {
		if _, ok := f.written[d]; ok {
			return false, fmt.Errorf("%s is a file, so nothing can be below it", d)
		}
		if len(path.Base(d)) > 255 {
			return false, fmt.Errorf("the name of a folder has more than 255 characters")
		}
		missing = append(missing, d)
	}
	for _, d := range missing {
		f.folders[d] = true
	}
	return len(missing) > 0, nil
}

// write makes a file. A mode of zero is left to the umask by cloud-init, or to the file that is there.
func (f *files) write(p string, mode uint32) (uint32, error) {
	p = path.Clean(p)
	if f.folders[p] {
		return 0, fmt.Errorf("%s is a folder", p)
	}
	if len(path.Base(p)) > 255 {
		return 0, fmt.Errorf("its name has more than 255 characters")
	}
	if old, ok := f.written[p]; mode == 0 && ok {
		mode = old
	} else if mode == 0 {
		mode = 0o644
	}
	f.written[p] = mode
	return mode, nil
}

// Users and groups that Debian, Ubuntu and the images of the clouds have before cloud-init makes any.
var (
	knownUsers = strings.Fields(`root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc _apt nobody
		systemd-network systemd-timesync messagebus sshd polkitd _chrony`)
	knownGroups = strings.Fields(`root daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy
		tape sudo audio dip www-data backup operator list irc src shadow utmp video sasl plugdev staff games users nogroup
		systemd-journal systemd-network systemd-timesync input sgx kvm render crontab messagebus netdev polkitd _ssh`)
)

// owner says whether the owner of a file is somebody that exists.
func (r *reader) owner(f *File) error {
	if f.User != "" && !slices.Contains(knownUsers, f.User) && !slices.Contains(r.Users, f.User) && !r.made(f.User, "users") {
		return fmt.Errorf("its owner %q is no user that exists by then", f.User)
	}
	if f.Group != "" && !slices.Contains(knownGroups, f.Group) && !slices.Contains(r.Groups, f.Group) && !r.made(f.Group, "users", "groups") {
		return fmt.Errorf("its group %q is none that exists by then", f.Group)
	}
	return nil
}

// made says whether the configuration has made a user or group of that name by now, at one of keys. A user has a group of
// its name.
func (r *reader) made(name string, keys ...string) bool {
	if !r.usersMade {
		return false
	}
	for _, key := range keys {
		if slices.Contains(names(r.config(key), key == "groups"), name) {
			return true
		}
	}
	return false
}

// names are the users or groups that users: or groups: name (cloudinit/distros/ug_util.py).
func names(v *pyyaml.Value, groups bool) []string {
	var found []string
	add := func(s string) {
		for _, n := range strings.Split(s, ",") {
			found = append(found, pyyaml.Strip(n))
		}
	}
	switch {
	case v.IsString():
		add(v.Str)
	case v.IsDict():
		for _, e := range v.Entries {
			add(e.Key.String())
		}
	case v.IsSequence():
		for _, item := range v.Items {
			switch {
			case item.IsString():
				add(item.Str)
			case item.IsDict() && groups:
				found = append(found, names(item, true)...)
			case item.IsDict() && item.Get("name").IsString():
				add(item.Get("name").Str)
			}
		}
	}
	return found
}
