package generator

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// Plain returns the content of a part that Generate made with its encoded files as plain text, for people to read and
// compare. It is no cloud-config any more. What is not text stays encoded, and other parts stay as they are.
func Plain(p UserData) string {
	if p.Name == archiveName {
		if text, ok := plainArchive(p.Content); ok {
			return text
		}
		if text, ok := plainReader(p.Content); ok {
			return text
		}
	}
	if p.Name == cloudName {
		if text, ok := plainHere(p.Content); ok {
			return text
		}
	}
	if p.Type != cloudConfig {
		return p.Content
	}
	var b strings.Builder
	lines := strings.SplitAfter(p.Content, "\n")
	for i := 0; i < len(lines); i++ {
		b.WriteString(lines[i])
		encoding, ok := strings.CutPrefix(strings.TrimSuffix(lines[i], "\n"), "  encoding: ")
		if !ok || i+1 == len(lines) || lines[i+1] != "  content: |\n" {
			continue
		}
		end := i + 2
		for end < len(lines) && strings.HasPrefix(lines[end], "    ") {
			end++
		}
		text, ok := decode(encoding, strings.Join(lines[i+2:end], ""))
		if !ok {
			continue
		}
		b.WriteString("  content:" + block(text, 2))
		i = end - 1
	}
	return b.String()
}

// decode returns the text that an encoding of write_files stands for, if it is text.
func decode(encoding, encoded string) (string, bool) {
	var content []byte
	var err error
	switch encoding {
	case "b64":
		content, err = decodeBase64(encoded)
	case "gz+b64":
		content, err = decodeGzip(encoded)
	default:
		return "", false
	}
	return string(content), err == nil && isText(content)
}

func decodeBase64(encoded string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
}

func decodeGzip(encoded string) ([]byte, error) {
	content, err := decodeBase64(encoded)
	if err != nil {
		return nil, err
	}
	return gunzip(content, 64<<20)
}

// gunzip returns at most limit bytes.
func gunzip(compressed []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit))
}

func inflated(compressed []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, 1<<20))
}
