package generator

import (
	"slices"
	"strings"
	"testing"
)

// The helper comes with hooks that name one of its variables, wherever they do, and with no other.
func TestFactsComeWithHooksThatAsk(t *testing.T) {
	plain := Script{Name: "script", Content: []byte("#!/bin/sh\ntrue\n")}
	asking := func(name string) Script {
		return Script{Name: "script", Content: []byte("#!/bin/sh\necho $" + name + "\n")}
	}
	for name, c := range map[string]struct {
		hook Hook
		want bool
	}{
		"no":           {Hook{Scripts: []Script{plain}}, false},
		"a script":     {Hook{Scripts: []Script{plain, asking("KOPSHOOK_API_ENDPOINT")}}, true},
		"an operation": {Hook{Scripts: []Script{asking("KOPSHOOK_OPERATION")}}, true},
		"verify":       {Hook{Scripts: []Script{plain}, Verify: asking("KOPSHOOK_SHUTDOWN").Content}, true},
		"a file":       {Hook{Scripts: []Script{plain}, Files: []File{{Path: "/a", Owner: "root:root", Content: asking("KOPSHOOK_SHUTDOWN").Content}}}, true},
		"after all":    {Hook{Phase: PostKubelet, Scripts: []Script{asking("KOPSHOOK_API_ENDPOINT")}}, true},
		"boot":         {Hook{Phase: Boot, Scripts: []Script{asking("KOPSHOOK_OPERATION")}}, false},
		"another":      {Hook{Scripts: []Script{asking("KOPSHOOK_NODE_NAME")}}, false},
	} {
		c.hook.Name, c.hook.Attempts, c.hook.Timeout = "h", 1, 1e9
		if c.hook.Phase == "" {
			c.hook.Phase = PreNodeup
		}
		for i := range c.hook.Scripts[1:] {
			c.hook.Scripts[i].Name = "a"
		}
		parts, err := Generate(InstanceGroup{Name: "nodes", Role: "Node"}, "v1", []Hook{c.hook})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		has := slices.ContainsFunc(parts, func(p UserData) bool { return p.Name == "kopshook-004-facts.sh" })
		uses := strings.Contains(parts[len(parts)-1].Content, " /bin/sh /opt/kopshook/bin/facts ")
		if has != c.want || uses != c.want {
			t.Errorf("%s: the helper is there: %t, and used: %t; want %t", name, has, uses, c.want)
		}
		if c.hook.Phase == PostKubelet && !strings.Contains(parts[len(parts)-1].Content, "/bin/up /bin/sh /opt/kopshook/bin/facts ") {
			t.Errorf("%s: it does not wait for the kubelet first", name)
		}
	}
}

// While an image is made there is no node: the variables are there, and empty.
func TestFactsAreEmptyInAnImage(t *testing.T) {
	script := Script{Name: "script", Content: []byte("#!/bin/sh\nset -u\necho $KOPSHOOK_API_ENDPOINT\n")}
	text, err := Bake(InstanceGroup{Name: "nodes", Role: "Node"}, "v1", []Hook{{Name: "h", Phase: PreNodeup, OncePerImage: true, Scripts: []Script{script}, Attempts: 1, Timeout: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "env 'KOPSHOOK_API_ENDPOINT=' 'KOPSHOOK_OPERATION=' 'KOPSHOOK_SHUTDOWN=' /bin/sh ") || strings.Contains(text, "bin/facts") {
		t.Errorf("the script has neither:\n%s", text[max(0, len(text)-800):])
	}
}

// A script of a folder has the time that the spec says; an attempt has that of all. What reads a unit again finds both.
func TestScriptsOfAFolderHaveATimeEach(t *testing.T) {
	folder := Hook{Name: "h", Phase: PreNodeup, OncePerImage: true, Attempts: 1, Timeout: 60e9,
		Scripts: []Script{{Name: "a", Content: []byte("#!/bin/sh\n")}, {Name: "b", Content: []byte("#!/bin/sh\n")}, {Name: "c", Content: []byte("#!/bin/sh\n")}}}
	files, err := Files(InstanceGroup{Name: "nodes", Role: "Node"}, "v1", []Hook{folder})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f File) bool { return strings.HasSuffix(f.Path, "kopshook-h.service") })
	s, ok := StartOf(string(files[i].Content))
	if !ok || s.Timeout != 180e9 || s.scriptTimeout() != 60e9 {
		t.Errorf("the unit gives an attempt %s and a script %s", s.Timeout, s.scriptTimeout())
	}
	text, err := Bake(InstanceGroup{Name: "nodes", Role: "Node"}, "v1", []Hook{folder})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, " 180 ") || !strings.Contains(text, "timeout -vk 9 60 ") {
		t.Errorf("the image gives other times:\n%s", text[max(0, len(text)-1200):])
	}
}
