// Package unitfile reads systemd's units and drop-ins, and finds those for kops' own units in user data.
package unitfile

import (
	"path"
	"strings"
)

// Setting is Key=Value in a section. Line counts from 1.
type Setting struct {
	Section, Key, Value string
	Line                int
}

// Parse reads a unit file (systemd.syntax(7)).
func Parse(text string) []Setting {
	var settings []Setting
	section, joined, first := "", "", 0
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimRight(l, "\r")
		trimmed := strings.TrimSpace(l)
		if joined == "" {
			first = i + 1
			if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
				continue
			}
		} else if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if rest, ok := strings.CutSuffix(l, "\\"); ok {
			joined += rest + " "
			continue
		}
		l = strings.TrimSpace(joined + l)
		joined = ""
		if strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]") {
			section = l[1 : len(l)-1]
			continue
		}
		if key, value, ok := strings.Cut(l, "="); ok {
			settings = append(settings, Setting{section, strings.TrimSpace(key), strings.TrimSpace(value), first})
		}
	}
	return settings
}

// Of says which unit a file is, or is a drop-in for, by its path; ok is false when it is neither.
func Of(file string) (name string, dropIn, ok bool) {
	if !strings.Contains(file, "/systemd/system/") {
		return "", false, false
	}
	name = path.Base(file)
	if dir := path.Base(path.Dir(file)); strings.HasSuffix(dir, ".d") && strings.HasSuffix(file, ".conf") {
		name, dropIn = strings.TrimSuffix(dir, ".d"), true
	}
	switch path.Ext(name) {
	case ".service", ".timer", ".socket", ".path", ".target", ".mount":
		return name, dropIn, true
	}
	return name, dropIn, false
}
