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
