package cloudinit

import (
	"bytes"
	"fmt"
	"slices"
)

// Part is one item of an instance group's additionalUserData, as kops.UserData.
type Part struct {
	Name    string // file name
	Type    string // content type
	Content string
}

// Message returns the user data that kops makes of its bootstrap script nodeup and the parts of an instance group's
// additionalUserData, byte for byte (kops pkg/model/resources/nodeup.go:283, AWSMultipartMIME). role is the instance
// group's; a Bastion has no bootstrap script. Without parts the script is the whole user data.
func Message(nodeup []byte, role string, parts []Part) []byte {
	return frame(nodeup, role, parts, "\r\n")
}

// TextMessage is Message with plain line ends in its framing, for an EC2NodeClass, which people read: cloud-init takes both
// alike.
func TextMessage(nodeup []byte, role string, parts []Part) []byte {
	return frame(nodeup, role, parts, "\n")
}

func frame(nodeup []byte, role string, parts []Part, eol string) []byte {
	if len(parts) == 0 {
		return slices.Clone(nodeup)
	}
	if role != "Bastion" {
		parts = append([]Part{{Name: NodeupName, Type: TypeShellScript, Content: string(nodeup)}}, parts...)
	}
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+eol, args...) }
	line("Content-Type: multipart/mixed; boundary=\"%s\"", Boundary)
	line("MIME-Version: 1.0")
	line("")
	for i, p := range parts {
		if i > 0 {
			line("")
		}
		line("--%s", Boundary)
		line("Content-Disposition: attachment; filename=\"%s\"", p.Name)
		line("Content-Transfer-Encoding: 7bit")
		line("Content-Type: %s", p.Type)
		line("Mime-Version: 1.0")
		line("")
		b.WriteString(p.Content)
	}
	line("")
	line("--%s--", Boundary)
	return b.Bytes()
}
