package cloudinit

import (
	"bytes"
	"errors"
)

// Nodeup returns kops' bootstrap script of user data that kops wrote: the first part of a message, or the whole when
// the instance group had no additionalUserData (kops pkg/model/resources/nodeup.go:283).
func Nodeup(userData []byte) ([]byte, error) {
	if bytes.HasPrefix(userData, []byte("#!")) {
		return userData, nil
	}
	_, rest, found := bytes.Cut(userData, []byte("--"+Boundary+"\r\n"))
	head, body, more := bytes.Cut(rest, []byte("\r\n\r\n"))
	if !found || !more || !bytes.HasPrefix(userData, []byte("Content-Type: multipart/mixed; boundary=\""+Boundary+"\"")) {
		return nil, errors.New("is not user data that kops wrote: neither a script nor a message of its own form")
	}
	if !bytes.Contains(head, []byte("filename=\""+NodeupName+"\"")) {
		return nil, errors.New("holds no " + NodeupName + ": it is that of a bastion")
	}
	body, _, found = bytes.Cut(body, []byte("\r\n--"+Boundary))
	if !found {
		return nil, errors.New("ends in the middle of " + NodeupName)
	}
	return body, nil
}
