package cloudinit

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartsIsTheInverseOfMessage(t *testing.T) {
	const nodeup = "#!/bin/bash\necho nodeup\n"
	tests := map[string][]Part{
		"no parts":             nil,
		"one":                  {{"a.sh", TypeShellScript, "#!/bin/sh\n"}},
		"several":              {{"a.sh", TypeShellScript, "#!/bin/sh\n"}, {"b", TypeCloudConfig, "#cloud-config\na: b"}, {"a.sh", TypeShellScript, "x"}},
		"empty, and odd names": {{"a b \"c\".sh", TypeShellScript, ""}, {"", TypeBoothook, "\n"}},
		"headers as content":   {{"a", TypeShellScript, "Content-Type: text/plain\r\n\r\nx\r\n"}, {"b", TypeShellScript, "--MIMEBOUNDARY\n"}},
		"one like nodeup":      {{"nodeup.sh", TypeShellScript, "theirs"}},
	}
	for name, parts := range tests {
		t.Run(name, func(t *testing.T) {
			script, got, err := Parts(Message([]byte(nodeup), "Node", parts))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parts, got); diff != "" || string(script) != nodeup {
				t.Errorf("nodeup %q, parts -want +got:\n%s", script, diff)
			}
			if name == "headers as content" {
				return // with plain line ends its second part is a boundary, as it is for cloud-init in any message
			}
			script, got, err = Parts(TextMessage([]byte(nodeup), "Node", parts))
			if diff := cmp.Diff(parts, got); diff != "" || string(script) != nodeup || err != nil {
				t.Errorf("with plain line ends: nodeup %q, error %v, parts -want +got:\n%s", script, err, diff)
			}
		})
	}
	t.Run("a bastion", func(t *testing.T) {
		parts := tests["several"]
		script, got, err := Parts(Message([]byte(nodeup), "Bastion", parts))
		if diff := cmp.Diff(parts, got); diff != "" || script != nil || err != nil {
			t.Errorf("nodeup %q, error %v, parts -want +got:\n%s", script, err, diff)
		}
	})
}

func TestPartsSaysWhatIsNotOfKops(t *testing.T) {
	whole := string(Message([]byte("#!"), "Node", []Part{{"a", TypeShellScript, "b"}}))
	tests := map[string]string{
		"":                                      "is not user data that kops wrote",
		"#cloud-config\n":                       "is not user data that kops wrote",
		whole[:len(whole)-10]:                   "is not complete",
		whole + "x":                             "is not complete",
		" " + whole:                             "is not user data that kops wrote",
		whole[:len(whole)-200]:                  "is not complete",
		strings.Replace(whole, "\r\n", "\n", 1): "is not user data that kops wrote",
	}
	for in, want := range tests {
		if _, _, err := Parts([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", in, err, want)
		}
	}
	if _, err := Nodeup(Message(nil, "Bastion", []Part{{"a", TypeShellScript, "b"}})); err == nil {
		t.Error("found nodeup.sh in the user data of a bastion")
	}
}

func FuzzParts(f *testing.F) {
	f.Add("#!/bin/sh\n", "a.sh", TypeShellScript, "#!/bin/sh\n")
	f.Add("", "nodeup.sh", "a: b", "\r\n--MIMEBOUNDARY\r\n")
	f.Fuzz(func(t *testing.T, nodeup, name, typ, content string) {
		if strings.ContainsAny(name+typ, "\r\n") || strings.Contains("\n"+nodeup+"\n"+content+"\r\n", "\n--"+Boundary) {
			return // kops writes no such message, or cloud-init takes it for more parts
		}
		if strings.HasSuffix(name, `"`) || strings.HasPrefix(typ, " ") {
			return
		}
		want := []Part{{name, typ, content}}
		got, parts, err := Parts(Message([]byte(nodeup), "Node", want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, parts); diff != "" || string(got) != nodeup {
			t.Fatalf("nodeup %q, parts -want +got:\n%s", got, diff)
		}
	})
}

func TestIsUserData(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("#!/bin/sh\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]bool{
		string(Message([]byte("#!"), "Node", []Part{{"a", TypeShellScript, "b"}})): true,
		"Content-Type: text/plain\r\nMime-Version: 1.0\r\n\r\n":                    true,
		"#!/bin/sh\n":           true,
		"\n#Cloud-Config\n":     true,
		"#include\nhttp://x\n":  true,
		packed.String():         true,
		"":                      false,
		"\x00\xff":              false,
		"kind: InstanceGroup\n": false,
		"spec:\n  additionalUserData:\n  - content: |\n      MIME-Version: 1.0\n": false,
		"kind: a\n\nMIME-Version: 1.0\n":                                          false,
	} {
		if got := IsUserData([]byte(in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
