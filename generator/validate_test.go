package generator

import (
	"regexp"
	"strings"
	"testing"
)

func TestGenerateRefuses(t *testing.T) {
	const script = "#!/bin/sh\n"
	for name, c := range map[string]struct {
		ig     InstanceGroup
		change func(h *Hook)
		want   string
	}{
		"a name that is not a DNS label": {change: func(h *Hook) { h.Name = "X;y" }, want: `hook "X;y": its name is not a DNS label`},
		"an unknown phase":               {change: func(h *Hook) { h.Phase = "never" }, want: `phase "never" is none of [boot `},
		"a weight beyond its limits":     {change: func(h *Hook) { h.Weight = 500 }, want: "weight 500 is not within -400..499"},
		"no attempts":                    {change: func(h *Hook) { h.Attempts = 0 }, want: "attempts is 0"},
		"no timeout":                     {change: func(h *Hook) { h.Timeout = 0 }, want: "timeout 0s must be positive"},
		"our variables":                  {change: func(h *Hook) { h.Env = map[string]string{"KOPSHOOK_X": ""} }, want: `"KOPSHOOK_X": not a name that a hook may set`},
		"a variable with a NUL":          {change: func(h *Hook) { h.Env = map[string]string{"X": "\x00"} }, want: "holds a NUL"},
		"a script that is a path":        {change: func(h *Hook) { h.Scripts[0].Name = "../x" }, want: `script "../x": not a file name`},
		"two scripts of one name":        {change: func(h *Hook) { h.Scripts = append(h.Scripts, h.Scripts[0]) }, want: "another file of the hook has that name"},
		"a script in place of verify":    {change: func(h *Hook) { h.Verify = []byte("x"); h.Scripts[0].Name = "verify" }, want: "another file of the hook has that name"},
		"before: a unit that is none":    {change: func(h *Hook) { h.Before = []string{"a b.service"} }, want: `before: "a b.service": not a unit`},
		"a weight below its limits":      {change: func(h *Hook) { h.Weight = -401 }, want: "weight -401 is not within -400..499"},
		"a negative delay":               {change: func(h *Hook) { h.RetryDelay = -1 }, want: "retryDelay -1ns must not be negative"},
		"an impossible exit code":        {change: func(h *Hook) { h.RebootExitCodes = []int{256} }, want: "256 is not within 1..255"},
		"success as an exit code":        {change: func(h *Hook) { h.RebootExitCodes = []int{0} }, want: "0 is not within 1..255"},
		"a relative path":                {change: func(h *Hook) { h.Files = []File{{Path: "x", Owner: "a:b"}} }, want: `file "x": its path is not absolute`},
		"a path with a line feed":        {change: func(h *Hook) { h.Files = []File{{Path: "/x\n", Owner: "a:b"}} }, want: "holds control characters"},
		"a file twice":                   {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b"}, {Path: "/x", Owner: "a:b"}} }, want: `file "/x" is there twice`},
		"an owner with a shell in it":    {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:$(b)"}} }, want: `owner "a:$(b)" is not USER:GROUP`},
		"no owner":                       {change: func(h *Hook) { h.Files = []File{{Path: "/x"}} }, want: `owner "" is not USER:GROUP`},
		"a mode of five digits":          {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", Mode: 0o10000}} }, want: "mode 10000 is above 7777"},
		"a download without checksum":    {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", URLs: []string{"https://a/b"}}} }, want: "is not 64 hexadecimal digits"},
		"a download with a password":     {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", URLs: []string{"https://u:p@a/b"}}} }, want: "url 1 holds a user or password"},
		"a download with a fragment":     {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", URLs: []string{"https://a/b#c"}}} }, want: "url 1 holds a #fragment"},
		"a download of a local file":     {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", URLs: []string{"file:///etc/shadow"}}} }, want: "url 1 has a scheme that nodes cannot download from"},
		"a bucket without an object":     {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", URLs: []string{"s3://bucket"}}} }, want: "url 1 is not the address of an object"},
		"a secret of no store":           {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", Secret: "vault:x"}} }, want: "does not begin with a store that nodes can ask"},
		"a secret with content":          {change: func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", Secret: "aws-ssm:x", Content: []byte("y")}} }, want: "a secret has no other content"},
		"a secret in an image": {change: func(h *Hook) {
			h.OncePerImage = true
			h.Files = []File{{Path: "/x", Owner: "a:b", Secret: "aws-ssm:x"}}
		}, want: "a secret does not belong into an image"},
		"a drop-in for a path":           {change: func(h *Hook) { h.DropIns = []DropIn{{Unit: "../x.service"}} }, want: "not the name of a unit"},
		"cloudConfig that merges":        {change: func(h *Hook) { h.CloudConfig = yamlNode(t, "merge_how: x") }, want: "cloudConfig says merge_how"},
		"cloudConfig that is a list":     {change: func(h *Hook) { h.CloudConfig = yamlNode(t, "[x]") }, want: "cloudConfig is not a mapping"},
		"write_files that is no list":    {change: func(h *Hook) { h.CloudConfig = yamlNode(t, "write_files: {}") }, want: "write_files in cloudConfig is not a list"},
		"an alias of itself":             {change: func(h *Hook) { h.CloudConfig = yamlNode(t, "a: &x [*x]") }, want: "an alias is part of what it stands for"},
		"a bomb of aliases":              {change: func(h *Hook) { h.CloudConfig = yamlNode(t, aliasBomb()) }, want: "its aliases expand to too much"},
		"a hook of a bastion":            {ig: InstanceGroup{Role: "Bastion"}, want: "a bastion has no kubelet"},
		"an instance group like a shell": {ig: InstanceGroup{Name: "$(x)"}, want: `instance group "$(x)" has characters other than`},
		"files of phase boot":            {change: func(h *Hook) { h.Phase = Boot; h.Files = []File{{Path: "/x"}} }, want: "phase boot takes a script, env and weight only"},
		"drop-ins of phase boot":         {change: func(h *Hook) { h.Phase = Boot; h.DropIns = []DropIn{{Unit: "a.service"}} }, want: "phase boot takes a script, env and weight only"},
		"before of phase boot":           {change: func(h *Hook) { h.Phase = Boot; h.Before = []string{"a.service"} }, want: "phase boot takes a script, env and weight only"},
		"exit codes of phase boot":       {change: func(h *Hook) { h.Phase = Boot; h.RebootExitCodes = []int{1} }, want: "phase boot takes a script, env and weight only"},
		"once per image on every boot":   {change: func(h *Hook) { h.OncePerImage, h.EveryBoot = true, true }, want: "once per image goes with"},
		"once per image at shutdown":     {change: func(h *Hook) { h.OncePerImage, h.Phase = true, PostKubelet }, want: "once per image goes with"},
		"cloudConfig once per image": {change: func(h *Hook) {
			h.OncePerImage = true
			h.CloudConfig = yamlNode(t, "a: b")
		}, want: "once per image goes with"},
		"a script in place of files": {change: func(h *Hook) {
			h.Scripts[0].Name = "files"
			h.Files = []File{{Path: "/x", Owner: "a:b"}}
		}, want: "another file of the hook has that name"},
		"a script in place of drop-ins": {change: func(h *Hook) {
			h.Scripts[0].Name = "files"
			h.DropIns = []DropIn{{Unit: "a.service"}}
		}, want: "another file of the hook has that name"},
		"a program of phase boot": {change: func(h *Hook) { h.Phase = Boot; h.Scripts[0].Content = []byte("\x7fELF\xff") }, want: "its script is not text"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHook("x", PreNodeup, script)
			if c.change != nil {
				c.change(&h)
			}
			parts, err := Generate(c.ig, "v1", []Hook{h})
			if err == nil || parts != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Run("several at once", func(t *testing.T) {
		h := newHook("x", PreNodeup, script)
		h.Weight, h.Attempts = 1000, 0
		_, err := Generate(InstanceGroup{Name: "a b"}, "v1", []Hook{h, h})
		if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
			t.Errorf("%d problems: %v", n, err)
		}
	})
	t.Run("an unknown runtime", func(t *testing.T) {
		if _, err := Generate(gpuGroup, "v0", nil); err == nil || !strings.Contains(err.Error(), `no runtime "v0": choose one of v1`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestGenerateTakesWhatIsExactlyAtTheLimits(t *testing.T) {
	for name, change := range map[string]func(h *Hook){
		"weight":             func(h *Hook) { h.Weight = 499 },
		"negative weight":    func(h *Hook) { h.Weight = -400 },
		"one attempt, soon":  func(h *Hook) { h.Attempts, h.RetryDelay = 1, 0 },
		"exit codes":         func(h *Hook) { h.RebootExitCodes = []int{1, 255} },
		"a mode of all bits": func(h *Hook) { h.Files = []File{{Path: "/x", Owner: "a:b", Mode: 0o7777}} },
		"a long name":        func(h *Hook) { h.Name = strings.Repeat("a", 63) },
		"a long unit":        func(h *Hook) { h.Before = []string{strings.Repeat("a", 255-len(".service")) + ".service"} },
		"a long script":      func(h *Hook) { h.Scripts[0].Name = strings.Repeat("a", 255) },
		"scripts of our names, which are not taken": func(h *Hook) {
			h.Scripts = []Script{{"files", []byte("#!/bin/sh\n")}, {"verify", []byte("#!/bin/sh\n")}}
		},
		"once per image, before the kubelet": func(h *Hook) { h.OncePerImage, h.Phase = true, PreKubelet },
	} {
		h := newHook("x", PreNodeup, "#!/bin/sh\n")
		change(&h)
		if _, err := Generate(gpuGroup, "v1", []Hook{h}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// aliasBomb expands to a billion values.
func aliasBomb() string {
	b := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		one := "*a" + string(rune('0'+i-1))
		b += "a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(one+", ", 9) + one + "]\n"
	}
	return b
}

func TestNamesOfFiles(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "...": true, "a b": true, "\u00e9": true, "": false, ".": false, "..": false, "a/b": false, "/": false,
		"a\n": false, "\x7f": false, "\xff": false, strings.Repeat("a", 255): true, strings.Repeat("a", 256): false} {
		if got := isFileName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	if name := strings.Repeat("a", 248) + ".service"; isUnitName(name) {
		t.Errorf("a unit may have %d characters", len(name))
	}
}

// Each character, at the begin and in the middle of a name, is taken or refused as the pattern says.
func TestCharactersOfNames(t *testing.T) {
	for _, test := range []struct {
		name    string
		valid   func(string) bool
		pattern string
	}{
		{"safe name", isSafeName, `[A-Za-z0-9._-]+`},
		{"variable", isVariable, `[A-Za-z_][A-Za-z0-9_]*`},
		{"DNS label", isDNSLabel, `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`},
		{"unit", isUnitName, `([A-Za-z0-9:_\\-]|\.[A-Za-z0-9:_.\\@-])[A-Za-z0-9:_.\\@-]*\.service`},
	} {
		pattern := regexp.MustCompile(`\A(?:` + test.pattern + `)\z`)
		for r := rune(0); r <= 0x250; r++ {
			for _, s := range []string{string(r), string(r) + "a", "a" + string(r) + "a", "a" + string(r)} {
				if test.name == "unit" {
					s += ".service"
				}
				if got, want := test.valid(s), pattern.MatchString(s); got != want {
					t.Errorf("%s %q: %t", test.name, s, got)
				}
			}
		}
		if test.valid("") {
			t.Errorf("%s: an empty one is taken", test.name)
		}
	}
}
