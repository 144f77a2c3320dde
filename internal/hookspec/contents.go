package hookspec

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/strict"
)

// checkScript sees to it that the kernel can start a script: it begins with #! and an absolute path.
func checkScript(d *strict.Reader, p, label, s string) {
	first, _, _ := strings.Cut(s, "\n")
	interpreter, shebang := strings.CutPrefix(first, "#!")
	trimmed := strings.TrimLeft(s, " \t\r\n\ufeff")
	word, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	switch {
	case strings.HasPrefix(s, "\ufeff"):
		d.Errorf(p, "save it without a byte order mark", "`%s` begins with a byte order mark", label)
	case !shebang && strings.HasPrefix(trimmed, "#!"):
		d.Errorf(p, "move #! to the very beginning", "`%s` has white space before its #!", label)
	case !shebang && strings.HasPrefix(trimmed, "#cloud-config"):
		d.Errorf(p, "put the keys below `cloudConfig:`", "`%s` is cloud-config, not a script", label)
	case !shebang && word != "" && !strings.Contains(strings.TrimSpace(s), "\n") && !strings.ContainsAny(word, " \t;|&$") && path.Ext(word) != "":
		d.Errorf(p, fmt.Sprintf("did you mean `source: %s`?", strict.Shorten(word)), "`%s` does not begin with #!", label)
	case !shebang:
		d.Errorf(p, "begin it with a line #!/bin/sh, or #!/bin/bash if it needs that", "`%s` does not begin with #!", label)
	case strings.HasSuffix(first, "\r"):
		d.Errorf(p, "use line feeds only", "the first line of `%s` ends with a carriage return: no kernel finds that interpreter", label)
	case !strings.HasPrefix(strings.TrimLeft(interpreter, " \t"), "/"):
		d.Errorf(p, "write #!/bin/sh, #!/bin/bash or #!/usr/bin/env python3", "`%s` begins with %q, which names no interpreter by its full path", label, strict.Shorten(first))
	}
}

// checkBare is checkScript, but a script without #! is taken as it is, for /bin/sh: verify and undo.
func (d *decoder) checkBare(p, field, s string) {
	switch trimmed := strings.TrimLeft(s, " \t\r\n\ufeff"); {
	case trimmed == "":
		d.Errorf(p, "give it a command, or remove it", "`%s` is empty", field)
	case strings.HasPrefix(trimmed, "#!"):
		checkScript(d.Reader, p, field, s)
	}
}

// checkSource sees to it that a source may be one; whether it is there, internal/source finds out. inline is the
// field for what stands in the spec itself.
func checkSource(d *strict.Reader, p, s, inline string) {
	switch {
	case strings.TrimSpace(s) == "":
		d.Errorf(p, "", "`source` is empty")
	case strings.ContainsAny(s, "\n\r\x00"):
		d.Errorf(p, fmt.Sprintf("did you mean `%s`?", inline), "`source` is text of several lines, not the place of a file")
	}
}

func checkEnv(d *strict.Reader, p, name, value string) {
	if d.Bad(p) {
		return
	}
	legal := name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	switch {
	case !legal:
		d.KeyErrorf(p, "use letters, digits and underscores; no digit first", "%q cannot be the name of a variable", strict.Shorten(name))
	case strings.HasPrefix(name, "KOPSHOOK_"):
		d.KeyErrorf(p, "choose another name", "variable `%s`: names that begin with KOPSHOOK_ are kopshook's own", strict.Shorten(name))
	case strings.Contains(value, "\x00"):
		d.Errorf(p, "", "variable `%s` holds a NUL, which no environment can", name)
	}
}

func (d *decoder) checkBefore(p string, units []string) {
	seen := map[string]bool{}
	for i, unit := range units {
		at := strict.Item(p, i)
		if d.Bad(at) {
			continue
		}
		if wrong, remedy := beforeError(unit); wrong != "" {
			d.Errorf(at, remedy, "`before` names %q, which %s", strict.Shorten(unit), wrong)
		} else if seen[unit] {
			d.Errorf(at, "remove it", "`before` names %q twice", unit)
		}
		seen[unit] = true
	}
}

func (d *decoder) checkFiles(p string, files []File) {
	first := map[string]string{}  // where a path stands
	inside := map[string]string{} // the first path in each folder
	for i := range files {
		f, at := &files[i], strict.Item(p, i)
		if f.Path != "" && !d.Bad(at+".path") {
			if wrong, remedy := pathError(f.Path); wrong != "" {
				d.Errorf(at+".path", remedy, "`path` is %q, which %s", strict.Shorten(f.Path), wrong)
			} else if other, twice := first[f.Path]; twice {
				d.Errorf(at+".path", "remove one of them", "file %q is there twice, first in line %d", strict.Shorten(f.Path), d.doc.Pos(other).Line)
			} else if folder, in := underFile(f.Path, first, inside); folder != "" {
				d.Errorf(at+".path", "place one of them elsewhere", "%q cannot be a file and the folder of %q", strict.Shorten(folder), strict.Shorten(in))
			} else {
				first[f.Path] = at + ".path"
				for _, folder := range foldersOf(f.Path) {
					inside[folder] = cmp.Or(inside[folder], f.Path)
				}
			}
		} else if d.Given(at+".path") && !d.Bad(at+".path") {
			d.Errorf(at+".path", "", "`path` is empty")
		}
		d.checkFileContent(at, f)
	}
}

// underFile finds a file that lies below path, or that path lies below.
func underFile(path string, files, inside map[string]string) (folder, in string) {
	for _, folder := range foldersOf(path) {
		if files[folder] != "" {
			return folder, path
		}
	}
	if other := inside[path]; other != "" {
		return path, other
	}
	return "", ""
}

// foldersOf returns the folders that a path lies in, but for the root.
func foldersOf(path string) []string {
	var folders []string
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			folders = append(folders, path[:i])
		}
	}
	return folders
}

// checkFileContent sees to it that a file has exactly one content.
func (d *decoder) checkFileContent(at string, f *File) {
	var given []string
	for _, field := range []string{"content", "contentBase64", "source", "url", "secret"} {
		if d.Given(at + "." + field) {
			given = append(given, field)
		}
	}
	switch {
	case len(given) == 0 && !d.Bad(at):
		if !d.HasUnknown(at, &fileObject) {
			d.Errorf(at, "give it one of `content`, `contentBase64`, `source`, `url` and `secret`", "the file has no content")
		}
		return
	case len(given) > 1:
		d.KeyErrorf(at+"."+given[1], "keep one of them", "`%s` and `%s` are both given", given[0], given[1])
		return
	}
	if f.ContentBase64 != nil && !d.Bad(at+".contentBase64") {
		if _, err := base64.StdEncoding.DecodeString(*f.ContentBase64); err != nil {
			d.Errorf(at+".contentBase64", "make it with base64(1)", "`contentBase64` is not base64: %s", err)
		}
	}
	if f.Source != nil && !d.Bad(at+".source") {
		checkSource(d.Reader, at+".source", *f.Source, "content")
	}
	if f.Secret != nil && !d.Bad(at+".secret") {
		if wrong, remedy := generator.SecretError(*f.Secret); wrong != "" {
			d.Errorf(at+".secret", remedy, "`secret` %s", wrong) // without its text: it may be the secret itself
		}
	}
	if f.SHA256 != nil && f.URL == nil {
		d.KeyErrorf(at+".sha256", "remove it; a source carries its checksum in the lock file, or as ?checksum=", "`sha256` goes only with `url`")
	}
	if f.URL == nil {
		return
	}
	if f.SHA256 == nil && !d.HasUnknown(at, &fileObject) {
		d.KeyErrorf(at+".url", "add the checksum that sha256sum(1) prints", "`url` needs `sha256`")
	}
	for i, u := range f.URL {
		p := at + ".url"
		if d.Given(strict.Item(p, i)) {
			p = strict.Item(p, i)
		}
		if d.Bad(p) {
			continue
		}
		if wrong, remedy := generator.URLError(u); wrong != "" {
			if parsed, err := url.Parse(u); err == nil && (parsed.User != nil || parsed.Fragment != "") { // which is not for logs
				d.Errorf(p, remedy, "`url` of %q %s", strict.Shorten(parsed.Host), wrong)
				continue
			}
			d.Errorf(p, remedy, "`url` is %q, which %s", strict.Shorten(u), wrong)
		}
	}
}

// ownPlaces are kopshook's on a node.
var ownPlaces = []string{"/opt/kopshook", "/run/kopshook", "/var/lib/kopshook"}

// pathError says why a file cannot go to a path, "" when it can.
func pathError(p string) (wrong, remedy string) {
	switch {
	case !strings.HasPrefix(p, "/"):
		return "is not absolute", "begin it with /"
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "holds control characters", ""
	case strings.HasSuffix(p, "/"):
		return "is a folder", "end it with the name of the file"
	case len(p) > 4095 || slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return len(name) > 255 }):
		return "is longer than Linux takes", "" // NAME_MAX, PATH_MAX
	case path.Clean(p) != p:
		return "is not in its shortest form", fmt.Sprintf("write %q", path.Clean(p))
	case strings.HasPrefix(p, "/etc/systemd/system/kopshook-"), strings.HasPrefix(p, "/etc/systemd/system/") && strings.HasPrefix(path.Base(p), "kopshook-"):
		return "is kopshook's own", "use `dropIns` for drop-ins, or another name"
	}
	for _, own := range ownPlaces {
		if p == own || strings.HasPrefix(p, own+"/") {
			return "is kopshook's own", "choose another folder"
		}
	}
	return "", ""
}

func (d *decoder) checkDropIns(p string, dropIns []DropIn) {
	first := map[string]string{}
	for i, u := range dropIns {
		at := strict.Item(p, i)
		if d.Given(at+".unit") && !d.Bad(at+".unit") {
			if wrong, remedy := unitError(u.Unit); wrong != "" {
				d.Errorf(at+".unit", remedy, "`unit` is %q, which %s", strict.Shorten(u.Unit), wrong)
			} else if other, twice := first[u.Unit]; twice {
				d.Errorf(at+".unit", "put both contents into one drop-in", "a drop-in for %q is there twice, first in line %d", u.Unit, d.doc.Pos(other).Line)
			} else {
				first[u.Unit] = at + ".unit"
			}
		}
		if d.Given(at+".content") && !d.Bad(at+".content") {
			d.checkSection(at+".content", u.Content)
		}
	}
}

// checkSection sees to it that a drop-in begins with a section: systemd ignores assignments before one.
func (d *decoder) checkSection(p, content string) {
	if strings.Contains(content, "\x00") {
		d.Errorf(p, "", "`content` holds a NUL, with which systemd refuses the drop-in")
		return
	}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] != '[' || line[len(line)-1] != ']' {
			d.Errorf(p, "begin it with [Unit] or [Service]", "`content` does not begin with a section: systemd ignores what stands before one")
		}
		return
	}
	d.Errorf(p, "write [Unit] or [Service] and below it what changes", "`content` is empty")
}

// refusedCloudConfig are keys that kopshook writes itself, or that would change how its parts are merged.
var refusedCloudConfig = []struct{ key, why, remedy string }{
	{"bootcmd", "is what phase boot is made of", "use a hook with `phase: boot`"},
	{"runcmd", "runs after nodeup and beside the kubelet", "use `script`, with a phase"},
	{"write_files", "is what hooks are made of", "use `files`"},
	{"merge_how", "is set by kopshook", "remove it: lists are appended, and keys of earlier parts win"},
	{"merge_type", "is set by kopshook", "remove it: lists are appended, and keys of earlier parts win"},
}

func (d *decoder) checkCloudConfig(p string, n *yaml.Node) {
	if n == nil {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		at := strict.Join(p, key.Value)
		if key.ShortTag() != "!!str" {
			d.KeyErrorf(at, "", "key %s of cloudConfig must be a string, not %s", strict.QuoteKey(key.Value), strict.Describe(key))
		}
		for _, refused := range refusedCloudConfig {
			if key.Value == refused.key {
				d.KeyErrorf(at, refused.remedy, "`cloudConfig` cannot have the key `%s`: it %s", refused.key, refused.why)
			}
		}
		if val.ShortTag() == "!!null" {
			d.Errorf(at, "give it a value, or remove it", "key %s of cloudConfig has no value: cloud-init would drop what later parts say", strict.QuoteKey(key.Value))
		}
	}
}
