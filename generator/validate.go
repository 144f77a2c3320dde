package generator

import (
	"errors"
	"fmt"
	"net/url"
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

func (h *Hook) problems() (list []string) {
	complain := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }

	if !isDNSLabel(h.Name) {
		complain("its name is no DNS label")
	}
	if phaseIndex(h.Phase) < 0 {
		complain("phase %q is none of %v", h.Phase, phases)
	}
	if h.Weight < -400 || h.Weight > 499 {
		complain("weight %d is not within -400..499", h.Weight)
	}
	for name, value := range h.Env {
		if !isVariable(name) || strings.HasPrefix(name, "KOPSHOOK_") {
			complain("environment variable %q: not a name that a hook may set", name)
		}
		if strings.Contains(value, "\x00") || !utf8.ValidString(value) {
			complain("environment variable %q: its value holds a NUL, or is not UTF-8", name)
		}
	}
	slices.Sort(list) // Env is a map
	if err := checkCloudConfig(h.CloudConfig); err != nil {
		complain("%v", err)
	}
	names := map[string]bool{}
	for _, s := range h.Scripts {
		switch {
		case !isFileName(s.Name):
			complain("script %q: not a file name", s.Name)
		case names[s.Name] || s.Name == "verify" && h.Verify != nil || s.Name == "files" && len(h.Files)+len(h.DropIns) > 0:
			complain("script %q: another file of the hook has that name, rename it", s.Name)
		}
		names[s.Name] = true
	}
	if h.OncePerImage && (h.EveryBoot || h.CloudConfig != nil || h.Phase != PreNodeup && h.Phase != PreKubelet) {
		complain("once per image goes with phases pre-nodeup and pre-kubelet only, and without cloudConfig")
	}
	if h.Phase == Boot {
		return append(list, h.bootProblems()...)
	}
	if h.Attempts < 1 {
		complain("attempts is %d, at least 1 is needed", h.Attempts)
	}
	if h.Timeout <= 0 || h.RetryDelay < 0 {
		complain("timeout %v and retryDelay %v: one of them is too small", h.Timeout, h.RetryDelay)
	}
	for _, u := range h.Before {
		if !isUnitName(u) || u == kubelet {
			complain("before: %q: not a unit that can wait for a hook", u)
		}
	}
	for _, code := range h.RebootExitCodes {
		if code < 1 || code > 255 {
			complain("rebootExitCodes: %d is not within 1..255", code)
		}
	}
	paths := map[string]bool{}
	for _, f := range h.Files {
		if paths[f.Path] {
			complain("file %q is there twice", f.Path)
		}
		paths[f.Path] = true
		for _, problem := range f.problems() {
			complain("file %q: %s", f.Path, problem)
		}
	}
	units := map[string]bool{}
	for _, d := range h.DropIns {
		if !isUnitName(d.Unit) || !utf8.ValidString(d.Content) {
			complain("drop-in for %q: not the name of a unit, or not text", d.Unit)
		}
		if units[d.Unit] {
			complain("drop-in for %q is there twice: make them one", d.Unit)
		}
		units[d.Unit] = true
	}
	return list
}

// bootProblems returns what does not go with a hook that is a bootcmd.
func (h *Hook) bootProblems() (list []string) {
	if len(h.Scripts) != 1 {
		list = append(list, fmt.Sprintf("it has %d scripts: one of phase boot has one", len(h.Scripts)))
	}
	for _, s := range h.Scripts {
		if !utf8.Valid(s.Content) || strings.Contains(string(s.Content), "\x00") {
			list = append(list, "its script is not text: a bootcmd carries nothing else")
		}
	}
	if len(h.Files)+len(h.DropIns)+len(h.Before)+len(h.RebootExitCodes) > 0 || h.Verify != nil || h.Compress || h.CleanUp {
		list = append(list, "phase boot takes a script, env and weight only: it runs before files are written, without the runner")
	}
	return list
}

func (f *File) problems() (list []string) {
	complain := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }

	if !strings.HasPrefix(f.Path, "/") || strings.HasSuffix(f.Path, "/") || hasControl(f.Path) {
		complain("its path is not absolute, or ends with a slash, or holds control characters")
	}
	if f.Mode > 0o7777 {
		complain("mode %o is above 7777", f.Mode)
	}
	user, group, _ := strings.Cut(f.Owner, ":")
	if !isSafeName(user) || !isSafeName(group) || user[0] == '-' || group[0] == '-' {
		complain("owner %q is not USER:GROUP", f.Owner)
	}
	if len(f.URLs) == 0 {
		return list
	}
	if len(f.SHA256) != 64 || strings.Trim(strings.ToLower(f.SHA256), "0123456789abcdef") != "" {
		complain("sha256 %q is not 64 hexadecimal digits", f.SHA256)
	}
	for _, s := range f.URLs {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || hasControl(s) {
			complain("url %q is no http or https URL", s)
		} else if u.User != nil {
			complain("url of %q holds a user or password", u.Host)
		}
	}
	return list
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
