package generator

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

const archiveName = "kopshook-005-archive.sh"

// packed says whether the hook's files come in the archive. A bootcmd has no files.
func (h *hook) packed() bool { return h.Archive && h.Phase != Boot }

// archive packs the runtime, all parts but the gate, and the files of the hooks that want it into one part. Together
// they compress to about a third, in base64 to under half; alone, small files hardly do.
//
// The gate stays as it is, plain and by itself: when the archive cannot be unpacked, hooks have no units, their markers
// never come, and what waits for them stays down. Nothing of a damaged archive is put in place. Units come last, so
// that none is there before its scripts are.
func (m *model) archive(runtime []UserData) (part UserData, ok bool) {
	files, ok := m.packed(runtime)
	if !ok {
		return UserData{}, false
	}
	content := listing(files)
	sum := sha256.Sum256(content)
	script := strings.NewReplacer(
		"@hash@", hex.EncodeToString(sum[:6]),
		"@archive@", base64.StdEncoding.EncodeToString(gzipped(content)),
	).Replace(m.runtime.Archive)
	return UserData{archiveName, boothook, script}, true
}

// packed returns the runtime and the files of the hooks that are packed; ok says whether there are any such hooks.
func (m *model) packed(runtime []UserData) (files []nodeFile, ok bool) {
	var units []nodeFile
	for _, p := range runtime {
		files = append(files, nodeFile{path: "/opt/kopshook/bin/" + installed[p.Name], mode: 0o755, content: []byte(p.Content)})
	}
	for _, h := range m.hooks {
		if h.packed() {
			ok = true
			all := h.nodeFiles(h.hash())
			units = append(units, all[0])
			files = append(files, all[1:]...)
		}
	}
	return append(files, units...), ok
}

// listing is MODE SIZE LF PATH LF CONTENT of files, one after the other.
func listing(files []nodeFile) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%o %d\n%s\n", f.mode, len(f.content), f.path)
		b.Write(f.content)
	}
	return b.Bytes()
}

// rest returns what of a packed hook's part is left: the user's own cloud-config.
func (h *hook) rest() (part UserData, ok bool) {
	theirs := newMapping(h.CloudConfig)
	if len(theirs.content) == 0 {
		return UserData{}, false
	}
	return UserData{"kopshook-" + dropInName(h) + ".yaml", cloudConfig, "#cloud-config\n" + mergeHow + theirs.rest()}, true
}

// Archived returns the files in the content of an archive part, in the order in which they are put in place; ok says
// whether it is one.
func Archived(content string) (files []File, ok bool) {
	_, rest, _ := strings.Cut(content, "<< .\n")
	encoded, _, whole := strings.Cut(rest, "\n.\n")
	if !whole {
		return nil, false
	}
	archive, err := decodeGzip(encoded)
	if err != nil {
		return nil, false
	}
	return listed(archive)
}

// listed reads a listing.
func listed(archive []byte) (files []File, ok bool) {
	for len(archive) > 0 {
		line, rest, _ := bytes.Cut(archive, []byte("\n"))
		path, rest, _ := bytes.Cut(rest, []byte("\n"))
		var mode uint32
		var size int
		if _, err := fmt.Sscanf(string(line), "%o %d", &mode, &size); err != nil || size < 0 || size > len(rest) {
			return nil, false
		}
		files = append(files, File{Path: string(path), Mode: mode, Owner: "root:root", Content: rest[:size]})
		archive = rest[size:]
	}
	return files, true
}

// plainArchive returns the content of an archive part with the archive as plain text.
func plainArchive(content string) (string, bool) {
	files, ok := Archived(content)
	if !ok {
		return "", false
	}
	head, rest, _ := strings.Cut(content, "<< .\n")
	_, tail, _ := strings.Cut(rest, "\n.\n")
	var b strings.Builder
	b.WriteString(head + "<< .\n")
	for _, f := range files {
		fmt.Fprintf(&b, "---- %s %s\n", f.Path, f.ModeString())
		if !isText(f.Content) {
			fmt.Fprintf(&b, "(%d bytes, sha256 %x)\n", len(f.Content), sha256.Sum256(f.Content))
			continue
		}
		b.Write(f.Content)
		if !bytes.HasSuffix(f.Content, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	b.WriteString(".\n" + tail)
	return b.String(), true
}
