package cloudinit

import (
	"fmt"
	"path"
	"slices"
	"strings"
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

// parents makes the folders above a file, from the top to the first that cannot be made, and says whether it made any.
func (f *files) parents(p string) (made bool, err error) {
	var missing []string
	for d := path.Dir(path.Clean(p)); !f.folders[d]; d = path.Dir(d) {
		if _, ok := f.written[d]; ok {
			return false, fmt.Errorf("%s is a file, so nothing can be below it", d)
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := checkName(path.Base(d)); err != nil {
			return made, err
		}
		f.folders[d] = true
		made = true
	}
	return made, nil
}

// checkName says what Python and the kernel have against a name.
func checkName(s string) error {
	switch {
	case strings.Contains(s, "\x00"):
		return fmt.Errorf("its path holds a NUL")
	case len(s) > 255:
		return fmt.Errorf("its path holds a name of more than 255 characters")
	}
	return nil
}

// write makes a file. A mode of zero is left to the umask by cloud-init, or to the file that is there.
func (f *files) write(p string, mode uint32) (uint32, error) {
	p = path.Clean(p)
	if f.folders[p] {
		return 0, fmt.Errorf("%s is a folder", p)
	}
	if err := checkName(path.Base(p)); err != nil {
		return 0, err
	}
	if old, ok := f.written[p]; mode == 0 && ok {
		mode = old
	} else if mode == 0 {
		mode = 0o644
	}
	f.written[p] = mode
	return mode, nil
}
