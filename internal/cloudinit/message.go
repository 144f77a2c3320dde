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
	if len(parts) == 0 {
		return slices.Clone(nodeup)
	}
	if role != "Bastion" {
		parts = append([]Part{{Name: NodeupName, Type: TypeShellScript, Content: string(nodeup)}}, parts...)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=\"%s\"\r\nMIME-Version: 1.0\r\n\r\n", Boundary)
	for i, p := range parts {
		if i > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "--%s\r\n", Boundary)
		fmt.Fprintf(&b, "Content-Disposition: attachment; filename=\"%s\"\r\n", p.Name)
		b.WriteString("Content-Transfer-Encoding: 7bit\r\n")
		fmt.Fprintf(&b, "Content-Type: %s\r\n", p.Type)
		b.WriteString("Mime-Version: 1.0\r\n\r\n")
		b.WriteString(p.Content)
	}
	fmt.Fprintf(&b, "\r\n--%s--\r\n", Boundary)
	return b.Bytes()
}
