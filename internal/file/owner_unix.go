//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

func ownerOf(info fs.FileInfo) owner {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}
	}
	return owner{int(st.Uid), int(st.Gid), true}
}
