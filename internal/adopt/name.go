package adopt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
)

// wanted is what a hook of parts would best be called: as the part, without its ending and the number that ordered it.
func (a *Adopted) wanted(from source, parts []int) string {
	if len(parts) != 1 {
		return string(from)
	}
	name := label(a.Parts[parts[0]].Name)
	switch from {
	case fromBoot, fromRun, fromAppend, fromBefore, fromAfter:
		return strings.Trim(name+"-"+string(from), "-")
	}
	return name
}

// label makes a DNS label of a part's name.
func label(name string) string {
	const most = 50 // leaves room for what tells hooks apart
	switch ext := path.Ext(name); strings.ToLower(ext) {
	case ".sh", ".bash", ".py", ".pl", ".yaml", ".yml", ".json", ".txt", ".cfg", ".conf", ".config":
		name = strings.TrimSuffix(name, ext)
	}
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := strings.Trim(b.String(), "-")
	if number, rest, ok := strings.Cut(s, "-"); ok && strings.Trim(number, "0123456789") == "" {
		s = rest
	}
	s = strings.Trim(s[:min(len(s), most)], "-")
	if s == "" || slices.Contains(hookspec.ReservedNames, s) || strings.Trim(s, "0123456789-") == "" {
		s = strings.Trim("hook-"+s, "-")
	}
	return s
}

// nameHooks takes the ending off names that need none, and sees to it that names are unique within the group.
func (a *Adopted) nameHooks() {
	made := map[int]int{} // hooks by part
	for _, h := range a.hooks {
		for _, p := range h.parts {
			made[p]++
		}
	}
	for _, h := range a.hooks {
		if len(h.parts) == 1 && made[h.parts[0]] == 1 {
			h.want = label(a.Parts[h.parts[0]].Name)
		}
	}
	taken := slices.Clone(a.Reserved)
	for _, h := range a.hooks {
		h.name = free(h.want, taken)
		taken = append(taken, h.name)
	}
}

// free returns a name that is not taken yet.
func free(want string, taken []string) string {
	name := want
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s-%d", want, n)
	}
	return name
}
