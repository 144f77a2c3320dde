package cloudinit_test

import (
	"testing"

	"kopshook.dev/kopshook/internal/cloudinit"
)

func TestHinders(t *testing.T) {
	config := func(name, body string) cloudinit.Part {
		return cloudinit.Part{Name: name, Type: cloudinit.TypeCloudConfig, Content: "#cloud-config\n" + body}
	}
	script := func(name string) cloudinit.Part {
		return cloudinit.Part{Name: name, Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\n:\n"}
	}
	merging := "merge_how: [{name: list, settings: [append]}, {name: dict, settings: [no_replace, recurse_list]}]\n"
	files := config("k.yaml", merging+"write_files: [{path: /etc/k, content: k}]\n")
	boot := config("k.yaml", merging+"bootcmd: [[echo, k]]\n")
	for name, c := range map[string]struct {
		theirs, ours cloudinit.Part
		blame        int // the part, or -2 when nothing hinders
	}{
		"a script of theirs":                      {script("a.sh"), files, -2},
		"a file of theirs that is written":        {config("a.yaml", "write_files: [{path: /etc/a, content: a}]\n"), files, -2},
		"an owner that no image has":              {config("a.yaml", "write_files: [{path: /etc/a, owner: 'app:app', content: a}]\n"), files, 0},
		"an owner of a file that comes later":     {config("a.yaml", "write_files: [{path: /etc/a, owner: 'app:app', content: a, defer: true}]\n"), files, -2},
		"bootcmd with an item that is no command": {config("a.yaml", "bootcmd: [{echo: a}]\n"), boot, 0},
		"the same, where ours have no bootcmd":    {config("a.yaml", "bootcmd: [{echo: a}]\n"), files, -2},
		"a part with the name of kops' own":       {script("nodeup.sh"), files, 0},
		"two scripts of theirs with one name":     {script("k.yaml"), files, -2},
		"an include":                              {cloudinit.Part{Name: "i", Type: cloudinit.TypeInclude, Content: "#include\nhttps://example.com/a\n"}, files, -2},
	} {
		t.Run(name, func(t *testing.T) {
			r := cloudinit.ReadParts(nil, "Node", []cloudinit.Part{c.theirs, c.ours}, cloudinit.Options{})
			got := -2
			l := r.Hinders(1)
			if l != nil {
				got = l.By.Part
			}
			if got != c.blame {
				t.Errorf("part %d is to blame, want %d: %+v, of %+v", got, c.blame, l, r.Lost)
			}
		})
	}
}
