package generator

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxArchive bounds what lies in a bucket, in bytes; the nodes' reader knows it too (templates/v1/bucket/get.py).
const maxArchive = 64 << 20

// archiveHook is what reads an archive from a bucket. On the node it is a unit like that of a hook, and all hooks wait
// for it.
var archiveHook = gateEntry{dropIn: "000-archive", hook: "archive"}

// archiveURL returns where the archive of the hooks lies, "" when there is none or it is in the user data.
func archiveURL(hooks []*hook) string {
	for _, h := range hooks {
		if h.packed() && h.ArchiveURL != "" {
			return h.ArchiveURL
		}
	}
	return ""
}

// Object is what lies in a bucket, at URL/SHA256.
type Object struct {
	URL     string // as the hooks have it
	SHA256  string // hex, of Content
	Content []byte
}

// Address is where the object lies.
func (o *Object) Address() string { return o.URL + "/" + o.SHA256 }

// Archive returns the object that the parts of Generate name, nil when they name none.
func Archive(ig InstanceGroup, runtime string, hooks []Hook) (*Object, error) {
	m, err := newModel(ig, runtime, hooks)
	if err != nil {
		return nil, err
	}
	url := archiveURL(m.hooks)
	if url == "" {
		return nil, nil
	}
	_, object, err := m.fromBucket(url)
	return object, err
}

// fromBucket returns the part that reads the archive from the bucket, and the archive: the runtime and the hooks' files, as
// a tar file, which Python unpacks.
func (m *model) fromBucket(url string) (part UserData, object *Object, err error) {
	files, _ := m.packed(m.runtimeParts()[1:])
	object = &Object{URL: url, Content: gzipped(tarred(files))}
	if n := len(object.Content); n > maxArchive {
		return part, nil, fmt.Errorf("the archive of the hooks takes %d bytes, and nodes read %d: give large files as url: with sha256", n, maxArchive)
	}
	sum := sha256.Sum256(object.Content)
	object.SHA256 = hex.EncodeToString(sum[:])
	scheme, _, _ := strings.Cut(url, "://")
	reader, err := m.runtime.Bucket(scheme)
	if err != nil {
		return part, nil, err
	}
	script := strings.NewReplacer(
		"@reader@", packedReader(reader),
		"@url@", url,
		"@sum@", object.SHA256,
	).Replace(m.runtime.FromBucket)
	return UserData{archiveName, boothook, script}, object, nil
}

// tarred returns a tar file with the files, in this order.
func tarred(files []nodeFile) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var err error
	for _, f := range files {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path[1:], Mode: int64(f.mode), Size: int64(len(f.content))}))
		_, e := w.Write(f.content)
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // no name holds a NUL, and a bytes.Buffer takes all
	}
	return b.Bytes()
}

// Files returns what the object puts on nodes, in the order in which it does.
func (o *Object) Files() (files []File, err error) {
	content, err := gunzip(o.Content, 1<<30)
	if err != nil {
		return nil, err
	}
	r := tar.NewReader(bytes.NewReader(content))
	total := int64(0)
	for {
		h, err := r.Next()
		if err == io.EOF && len(files) > 0 {
			return files, nil
		}
		var data []byte
		if err == nil {
			if total += h.Size; total > int64(len(content)) { // a sparse file is as large as it says
				err = tar.ErrHeader
			} else {
				data, err = io.ReadAll(r)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: its content is no archive of kopshook", o.Address())
		}
		files = append(files, File{Path: "/" + h.Name, Mode: uint32(h.Mode), Owner: "root:root", Content: data})
	}
}

// What stands around the reader in the part (templates/v1/bucket.sh).
const beginReader, endReader = " << '.'\n", "\n.\n"

// packedReader returns the reader as one line. Ascii85 takes 6 % less than base64.
func packedReader(python string) string {
	z := deflated([]byte(python))
	text := make([]byte, ascii85.MaxEncodedLen(len(z)))
	return string(text[:ascii85.Encode(text, z)])
}

// InBucket returns the URL and the SHA-256 of the archive that an archive part names; ok says whether it names one.
func InBucket(content string) (url, sum string, ok bool) {
	head, _, found := strings.Cut(content, beginReader)
	_, arguments, found2 := strings.Cut(head, "\nexec(source)' ")
	words := strings.Fields(arguments)
	if !found || !found2 || len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

// plainReader returns the content of a part that reads from a bucket with the reader as plain text.
func plainReader(content string) (string, bool) {
	if _, _, ok := InBucket(content); !ok {
		return "", false
	}
	head, rest, _ := strings.Cut(content, beginReader)
	encoded, tail, found := strings.Cut(rest, endReader)
	if !found {
		return "", false
	}
	z := make([]byte, 4*len(encoded))
	n, _, err := ascii85.Decode(z, []byte(encoded), true)
	if err != nil {
		return "", false
	}
	reader, err := inflated(z[:n])
	return head + beginReader + string(reader) + endReader[1:] + tail, err == nil && isText(reader)
}

// plainHere returns a script with its compressed here-document as plain text.
func plainHere(content string) (string, bool) {
	const begin, end = " << . | gzip -dc\n", "\n.\n"
	head, rest, found := strings.Cut(content, begin)
	encoded, tail, found2 := strings.Cut(rest, end)
	if !found || !found2 {
		return "", false
	}
	reader, err := decodeGzip(encoded)
	return head + begin + string(reader) + "." + end[2:] + tail, err == nil && isText(reader)
}

// tabled returns the gate's lines where the hooks lie in a bucket. Those of phase pre-nodeup, which are most, are rows
// of a table: NNN-NAME, the beginning of the hash in the hook's unit, further units that wait for it. That they wait for each other
// follows from their order.
func tabled(entries []gateEntry) []string {
	rows := []string{}
	last := 0 // of the chain's entries in the table
	for i, e := range entries[1:] {
		if !e.holdsNodeup() {
			break
		}
		last = i + 1
		units := e.units[2:]
		if chainedTo(e, entries[last+1:]) {
			units = units[:len(units)-1]
		}
		rows = append(rows, strings.Join(append([]string{e.dropIn, e.hash()[:8]}, units...), " "))
	}
	if last == 0 {
		return append([]string{entries[0].line()}, rest(entries[1:])...)
	}
	lines := []string{
		"q=" + archiveHook.dropIn + " o=",
		`nodeup() { hook Wants= $q kops-configuration.service kubelet.service $o "$@"; }`,
		"while read -r n hash more; do",
		`  nodeup kopshook-${n#*-}.service`,
		"  q=$n o=$more",
		"done << .",
	}
	lines = append(append(lines, rows...), ".")
	final := "nodeup"
	if next := entries[last+1:]; chainedTo(entries[last], next) {
		final += " " + UnitName(next[0].hook)
	}
	return append(append(lines, final), rest(entries[last+1:])...)
}

// chainedTo says whether the first of the entries that follow waits for e.
func chainedTo(e gateEntry, following []gateEntry) bool {
	return len(following) > 0 && slices.Contains(e.units, UnitName(following[0].hook))
}

// rest returns the lines of hooks that are not in the table, with their hashes.
func rest(entries []gateEntry) []string {
	var lines []string
	for _, e := range entries {
		lines = append(lines, e.line()+" # "+e.hash()[:8])
	}
	return lines
}
