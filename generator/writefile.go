package generator

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// writeFile returns an entry of cloud-init's write_files. Its permissions are cloud-init's 0644 unless mode says
// something else.
func writeFile(path string, mode uint32, content []byte, compress bool) string {
	var b strings.Builder
	b.WriteString("- path: " + scalar(path) + "\n")
	if mode != 0o644 {
		fmt.Fprintf(&b, "  permissions: '%04o'\n", mode)
	}
	encoding, text := encode(content, compress)
	if encoding != "" {
		b.WriteString("  encoding: " + encoding + "\n")
	}
	b.WriteString("  content:" + block(text, 2))
	return b.String()
}

// encode returns content as text, and the encoding of write_files that leads back to it. What it chooses depends on
// content alone.
func encode(content []byte, compress bool) (encoding, text string) {
	switch {
	case isText(content):
		text = string(content)
	default:
		encoding, text = "b64", base64Lines(content)
	}
	if compress {
		if z := base64Lines(gzipped(content)); len(z) < len(text) {
			return "gz+b64", z
		}
	}
	return encoding, text
}

// gzipped compresses with a pinned compressor and a header without name and time: the bytes must not change with Go.
func gzipped(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		w.ModTime = time.Unix(0, 0) // "no time stamp is available" (RFC 1952)
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is legal, and a bytes.Buffer takes all
	}
	return b.Bytes()
}

// deflated is gzipped with the shorter header of zlib.
func deflated(content []byte) []byte {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // as above
	}
	return b.Bytes()
}

// scalar returns text as a YAML scalar on one line, plain where no reader can take it for something else.
func scalar(text string) string {
	plain := text != "" && (text[0] == '/' || isLetter(text[0]))
	for i := 0; i < len(text); i++ {
		c := text[i]
		plain = plain && (isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("/._-", c) >= 0)
	}
	if plain && (text[0] == '/' || strings.IndexByte(text, '/') > 0) {
		return text
	}
	return quoted(text)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
