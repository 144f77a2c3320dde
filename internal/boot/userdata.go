package boot

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"strings"

	"kopshook.dev/kopshook/generator"
)

// NodeupScript stands for kops' nodeup.sh where that is not at hand: it does what the node notices of it
// (k8s.io/kops/pkg/model/resources/nodeup.go:45), without sysctls, proxies and downloads.
//
//go:embed standin/nodeup.sh
var NodeupScript string

// Frame is the user data kops sends: nodeup, then the parts, in kops' MIME framing
// (k8s.io/kops/pkg/model/resources/nodeup.go:283). Without parts it is nodeup alone; a bastion has no nodeup.
func Frame(nodeup string, parts []generator.UserData) []byte {
	if len(parts) == 0 {
		return []byte(nodeup)
	}
	const boundary = "MIMEBOUNDARY"
	var b strings.Builder
	b.WriteString("Content-Type: multipart/mixed; boundary=\"" + boundary + "\"\r\nMIME-Version: 1.0\r\n\r\n")
	if nodeup != "" {
		parts = append([]generator.UserData{{Name: "nodeup.sh", Type: "text/x-shellscript", Content: nodeup}}, parts...)
	}
	for i, p := range parts {
		if i > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: 7bit\r\n"+
			"Content-Type: %s\r\nMime-Version: 1.0\r\n\r\n%s", boundary, p.Name, p.Type, p.Content)
	}
	b.WriteString("\r\n--" + boundary + "--\r\n")
	return []byte(b.String())
}

// FindNodeup returns kops' nodeup.sh out of user data as kops makes it: the part called nodeup.sh, or all of it when
// it is a plain script. The data may be compressed.
func FindNodeup(data []byte) (string, error) {
	data, err := gunzip(data)
	if err != nil {
		return "", err
	}
	if bytes.HasPrefix(data, []byte("#!")) {
		return string(data), nil
	}
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return "", fmt.Errorf("is neither a script nor a MIME message")
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return "", fmt.Errorf("is neither a script nor a multipart MIME message")
	}
	for parts := multipart.NewReader(message.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return "", fmt.Errorf("has no part called nodeup.sh")
		}
		if err != nil {
			return "", fmt.Errorf("is a broken MIME message: %w", err)
		}
		if part.FileName() == "nodeup.sh" {
			script, err := io.ReadAll(part)
			return string(script), err
		}
	}
}

func gunzip(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// trustStandIn makes kops' nodeup.sh find nodeup downloaded already: the hash it compares is the stand-in's. Nothing
// else of the user data changes.
func trustStandIn(data []byte) []byte {
	sum := sha256.Sum256(standIns["nodeup"])
	hash := regexp.MustCompile(`(?m)^(\s*NODEUP_HASH_(?:AMD64|ARM64)=)[0-9a-fA-F]*`)
	return hash.ReplaceAll(data, []byte("${1}"+hex.EncodeToString(sum[:])))
}
