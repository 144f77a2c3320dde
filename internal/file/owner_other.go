//go:build !unix

package file

import "io/fs"

func ownerOf(fs.FileInfo) owner { return owner{} }
