package generator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// validate returns all that keeps the hooks from being generated. hookspec says most of it better, with the place in
// the spec; here is what no caller may get past.
func validate(ig InstanceGroup, hooks []Hook) error {
	var problems []error
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	for _, v := range []struct{ what, value string }{{"cluster", ig.Cluster}, {"instance group", ig.Name}, {"role", ig.Role}} {
		if v.value != "" && !isSafeName(v.value) {
			complain("%s %q has characters other than letters, digits, dots, dashes and underscores", v.what, v.value)
		}
	}
	seen := map[string]bool{}
	for i := range hooks {
		h := &hooks[i]
		if seen[h.Name] {
			complain("hook %q is there twice", h.Name)
		}
		seen[h.Name] = true
		if ig.Role == "Bastion" && h.Phase != Boot {
			complain("hook %q: a bastion has no kubelet: it takes hooks of phase boot only", h.Name)
		}
		for _, problem := range h.problems() {
			complain("hook %q: %s", h.Name, problem)
		}
	}
	return errors.Join(problems...)
}

// complaints are what is wrong with a hook.
type complaints []string

func (c *complaints) add(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

func (h *Hook) problems() []string {
	var c complaints
	if !isDNSLabel(h.Name) {
		c.add("its name is not a DNS label")
	}
	if phaseIndex(h.Phase) < 0 {
		c.add("phase %q is none of %v", h.Phase, phases)
	}
	if h.Weight < -400 || h.Weight > 499 {
		c.add("weight %d is not within -400..499", h.Weight)
	}
	h.checkEnv(&c)
	if err := checkCloudConfig(h.CloudConfig); err != nil {
		c.add("%v", err)
	}
	h.checkScriptNames(&c)
	if h.OncePerImage && (h.EveryBoot || h.CloudConfig != nil || !h.Phase.Holds()) {
		c.add("once per image goes with phases pre-nodeup and pre-kubelet only, and without cloudConfig")
	}
	if h.Phase == Boot {
		return append(c, h.bootProblems()...)
	}
	h.checkAttempts(&c)
	for _, u := range h.Before {
		if !isUnitName(u) || u == kubelet {
			c.add("before: %q: not a unit that can wait for a hook", u)
		}
	}
	h.checkFiles(&c)
	return c
}

func (h *Hook) checkEnv(c *complaints) {
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		if !isVariable(name) || strings.HasPrefix(name, "KOPSHOOK_") {
			c.add("environment variable %q: not a name that a hook may set", name)
		}
		if value := h.Env[name]; strings.Contains(value, "\x00") || !utf8.ValidString(value) {
			c.add("environment variable %q: its value holds a NUL, or is not UTF-8", name)
		}
	}
}

func (h *Hook) checkScriptNames(c *complaints) {
	names := map[string]bool{"verify": h.Verify != nil, "files": len(h.Files)+len(h.DropIns) > 0}
	for _, s := range h.Scripts {
		switch {
		case !isFileName(s.Name):
			c.add("script %q: not a file name", s.Name)
		case names[s.Name]:
			c.add("script %q: another file of the hook has that name, rename it", s.Name)
		}
		names[s.Name] = true
	}
}

func (h *Hook) checkAttempts(c *complaints) {
	if h.Attempts < 1 {
		c.add("attempts is %d, at least 1 is needed", h.Attempts)
	}
	if h.Timeout <= 0 {
		c.add("timeout %v must be positive", h.Timeout)
	}
	if h.RetryDelay < 0 {
		c.add("retryDelay %v must not be negative", h.RetryDelay)
	}
	for _, code := range h.RebootExitCodes {
		if code < 1 || code > 255 {
			c.add("rebootExitCodes: %d is not within 1..255", code)
		}
	}
}

func (h *Hook) checkFiles(c *complaints) {
	paths := map[string]bool{}
	for _, f := range h.Files {
		if paths[f.Path] {
			c.add("file %q is there twice", f.Path)
		}
		paths[f.Path] = true
		if f.Secret != "" && h.OncePerImage {
			c.add("file %q: a secret does not belong into an image", f.Path)
		}
		for _, problem := range f.problems() {
			c.add("file %q: %s", f.Path, problem)
		}
	}
	units := map[string]bool{}
	for _, d := range h.DropIns {
		if !isUnitName(d.Unit) || !utf8.ValidString(d.Content) {
			c.add("drop-in for %q: not the name of a unit, or not text", d.Unit)
		}
		if units[d.Unit] {
			c.add("drop-in for %q is there twice: make them one", d.Unit)
		}
		units[d.Unit] = true
	}
}

// bootProblems returns what does not go with a hook that is a bootcmd.
func (h *Hook) bootProblems() (c complaints) {
	if len(h.Scripts) != 1 {
		c.add("it has %d scripts: one of phase boot has one", len(h.Scripts))
	}
	for _, s := range h.Scripts {
		if !utf8.Valid(s.Content) || strings.Contains(string(s.Content), "\x00") {
			c.add("its script is not text: a bootcmd carries nothing else")
		}
	}
	if max(len(h.Files), len(h.DropIns), len(h.Before), len(h.RebootExitCodes)) > 0 || h.Verify != nil || h.Compress || h.CleanUp {
		c.add("phase boot takes a script, env and weight only: it runs before files are written, without the runner")
	}
	return c
}

func (f *File) problems() (c complaints) {
	if !strings.HasPrefix(f.Path, "/") || strings.HasSuffix(f.Path, "/") || hasControl(f.Path) {
		c.add("its path is not absolute, or ends with a slash, or holds control characters")
	}
	if f.Mode > 0o7777 {
		c.add("mode %o is above 7777", f.Mode)
	}
	user, group, _ := strings.Cut(f.Owner, ":")
	if !isSafeName(user) || !isSafeName(group) || user[0] == '-' || group[0] == '-' {
		c.add("owner %q is not USER:GROUP", f.Owner)
	}
	if f.Secret != "" {
		if wrong, _ := SecretError(f.Secret); wrong != "" {
			c.add("a secret that %s", wrong)
		}
		if len(f.URLs) > 0 || len(f.Content) > 0 {
			c.add("a secret has no other content")
		}
	}
	if len(f.URLs) == 0 {
		return c
	}
	if len(f.SHA256) != 64 || strings.Trim(strings.ToLower(f.SHA256), "0123456789abcdef") != "" {
		c.add("sha256 %q is not 64 hexadecimal digits", f.SHA256)
	}
	for i, s := range f.URLs {
		if wrong, _ := URLError(s); wrong != "" {
			c.add("url %d %s", i+1, wrong) // it may hold a password
		}
	}
	return c
}

func isDNSLabel(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

// isSafeName says whether s means itself to a shell, to systemd and in JSON.
func isSafeName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
}

func isVariable(s string) bool {
	return s != "" && !(s[0] >= '0' && s[0] <= '9') && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
	})
}

// isUnitName is systemd's unit_name_is_valid, but for the types of units (src/basic/unit-name.c).
func isUnitName(s string) bool {
	return strings.Contains(strings.Trim(s, "."), ".") && len(s) <= 255 && s[0] != '@' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`:-_.\@`, r))
	})
}

func isFileName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 255 && !strings.Contains(s, "/") && !hasControl(s)
}

// hasControl says whether s holds control characters or is not UTF-8.
func hasControl(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
