package generator

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
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

// fromBucket returns the part that reads the archive from the bucket, and the archive: the runtime and the hooks' files.
func (m *model) fromBucket(url string) (part UserData, object *Object, err error) {
	listing, _ := m.listing(m.runtimeParts()[1:])
	object = &Object{URL: url, Content: gzipped(listing)}
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
		"@reader@", base64.StdEncoding.EncodeToString(gzipped([]byte(reader))),
		"@url@", url,
		"@sum@", object.SHA256,
	).Replace(m.runtime.FromBucket)
	return UserData{archiveName, boothook, script}, object, nil
}

// Files returns what the object puts on nodes, in the order in which it does.
func (o *Object) Files() ([]File, error) {
	listing, err := gunzip(o.Content, 1<<30)
	if err != nil {
		return nil, err
	}
	files, ok := listed(listing)
	if !ok {
		return nil, fmt.Errorf("%s: its content is no archive of kopshook", o.Address())
	}
	return files, nil
}

// InBucket returns the URL and the SHA-256 of the archive that an archive part names; ok says whether it names one.
func InBucket(content string) (url, sum string, ok bool) {
	_, last, found := strings.Cut(content, "\n.\n) && exec sh -c \"$s\" - ")
	words := strings.Fields(last)
	if !found || len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

// plainReader returns the content of a part that reads from a bucket with the reader as plain text.
func plainReader(content string) (string, bool) {
	if _, _, ok := InBucket(content); !ok {
		return "", false
	}
	return plainHere(content)
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
