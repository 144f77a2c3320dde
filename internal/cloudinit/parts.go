package cloudinit

import (
	"bytes"
	"errors"
	"strings"
)

// Parts takes user data apart again, as Message or TextMessage put it together. nodeup is nil for a bastion. Content that
// holds a boundary line cannot be told from two parts, by cloud-init neither.
func Parts(userData []byte) (nodeup []byte, parts []Part, err error) {
	if bytes.HasPrefix(userData, []byte("#!")) {
		return userData, nil, nil
	}
	eol := "\n"
	if line, _, _ := bytes.Cut(userData, []byte("\n")); bytes.HasSuffix(line, []byte("\r")) {
		eol = "\r\n"
	}
	head := "Content-Type: multipart/mixed; boundary=\"" + Boundary + "\"" + eol + "MIME-Version: 1.0" + eol + eol + "--" + Boundary + eol
	rest, ok := strings.CutPrefix(string(userData), head)
	if !ok {
		return nil, nil, errors.New("is not user data that kops wrote: neither a script nor a message of its own form")
	}
	rest, ok = strings.CutSuffix(rest, eol+"--"+Boundary+"--"+eol)
	if !ok {
		return nil, nil, errors.New("is not complete: its last boundary is missing")
	}
	for i, text := range strings.Split(rest, eol+"--"+Boundary+eol) {
		header, content, _ := strings.Cut(text, eol+eol)
		p := Part{Content: content}
		for line := range strings.SplitSeq(header, eol) {
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "Content-Disposition":
				p.Name = strings.TrimSuffix(strings.TrimPrefix(value, "attachment; filename=\""), "\"")
			case "Content-Type":
				p.Type = value
			}
		}
		if i == 0 && p.Name == NodeupName {
			nodeup = []byte(content)
			continue
		}
		parts = append(parts, p)
	}
	return nodeup, parts, nil
}

// IsNodeup says whether a script is kops' bootstrap script, by the line that starts nodeup (kops
// pkg/model/resources/nodeup.go:152).
func IsNodeup(script []byte) bool {
	return bytes.HasPrefix(script, []byte("#!")) && bytes.Contains(script, []byte("nodeup --install-systemd-unit"))
}

// IsUserData says whether cloud-init takes data for something: a message, or what begins like one of its types, also in
// gzip. A message has its version in its own header: cloud-init is content with finding it somewhere in the first 4096
// bytes (cloudinit/user_data.py:380), as it stands in many a manifest.
func IsUserData(data []byte) bool {
	text := string(data)
	if plain, err := Gunzip(text); err == nil {
		text = plain
	}
	if Sniff(text) != "" {
		return true
	}
	for line := range strings.Lines(text[:min(len(text), 4096)]) {
		if strings.TrimRight(line, "\r\n") == "" {
			break
		}
		if strings.HasPrefix(strings.ToLower(line), "mime-version:") {
			return true
		}
	}
	return false
}

// NodeupPlaceholder stands for kops' own script in messages that are made without it.
const NodeupPlaceholder = `#!/bin/sh
# kops puts its own nodeup.sh here. With --base FILE, a user-data file that kops wrote, it is the real one.
`

// Nodeup returns kops' bootstrap script of user data that kops wrote, not what stands for it.
func Nodeup(userData []byte) ([]byte, error) {
	nodeup, _, err := Parts(userData)
	if err == nil && nodeup == nil {
		err = errors.New("holds no " + NodeupName + ": it is that of a bastion")
	}
	if err == nil && string(nodeup) == NodeupPlaceholder {
		err = errors.New("kops did not write it: kopshook render made it without --base, with a placeholder for " + NodeupName)
	}
	return nodeup, err
}
