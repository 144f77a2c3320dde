package cloudinit

import (
	"bytes"
	"errors"
	"strings"
)

// Parts takes user data that kops wrote apart again, as Message put it together. nodeup is nil for a bastion. Content that holds a boundary line cannot be told from two parts, by cloud-init neither.
func Parts(userData []byte) (nodeup []byte, parts []Part, err error) {
	if bytes.HasPrefix(userData, []byte("#!")) {
		return userData, nil, nil
	}
	const head = "Content-Type: multipart/mixed; boundary=\"" + Boundary + "\"\r\nMIME-Version: 1.0\r\n\r\n--" + Boundary + "\r\n"
	rest, ok := strings.CutPrefix(string(userData), head)
	if !ok {
		return nil, nil, errors.New("is not user data that kops wrote: neither a script nor a message of its own form")
	}
	rest, ok = strings.CutSuffix(rest, "\r\n--"+Boundary+"--\r\n")
	if !ok {
		return nil, nil, errors.New("is not complete: its last boundary is missing")
	}
	for i, text := range strings.Split(rest, "\r\n--"+Boundary+"\r\n") {
		header, content, _ := strings.Cut(text, "\r\n\r\n")
		p := Part{Content: content}
		for line := range strings.SplitSeq(header, "\r\n") {
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

// Nodeup returns kops' bootstrap script of user data that kops wrote.
func Nodeup(userData []byte) ([]byte, error) {
	nodeup, _, err := Parts(userData)
	if err == nil && nodeup == nil {
		err = errors.New("holds no " + NodeupName + ": it is that of a bastion")
	}
	return nodeup, err
}
