package generator

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Written is a hook as parts of user data hold it, those of an earlier release too.
type Written struct {
	Name string
	text string // all that is written of it
	part string // its own part, "" when there is none
	nnn  string // 500 + weight, "" when it is not known

	packed []File // its files in the archive
	hash   string // of what lies in a bucket, "" when it is written here
}

// Text is all that is written of the hook: hooks with the same text have the same fields.
func (w *Written) Text() string { return w.nnn + w.hash + w.text }

// FieldChange is a field of the spec that differs, with its values as text; "" stands for none.
type FieldChange struct {
	Field, Old, New string
}

// String is "timeout 2m0s -> 3m0s", or the field alone where the values are texts of several lines.
func (c FieldChange) String() string {
	const most = 40
	if strings.ContainsAny(c.Old+c.New, "\n") || len(c.Old) > most || len(c.New) > most {
		return c.Field
	}
	return fmt.Sprintf("%s %s -> %s", c.Field, cmp.Or(c.Old, "none"), cmp.Or(c.New, "none"))
}

// Read returns the hooks in parts that Generate made, in the order in which they run.
func Read(parts []UserData) []Written {
	var hooks []Written
	at := func(name string) *Written {
		i := slices.IndexFunc(hooks, func(w Written) bool { return w.Name == name })
		if i < 0 {
			i = len(hooks)
			hooks = append(hooks, Written{Name: name})
		}
		return &hooks[i]
	}
	for _, p := range parts {
		if p.Name == archiveName {
			files, _ := Archived(p.Content)
			for _, f := range files {
				if name := hookOf(f.Path); name != "" {
					w := at(name)
					w.packed = append(w.packed, f)
					w.text += f.Path + "\n" + string(f.Content)
				}
			}
		}
		if nnn, name, ok := HookOfPart(p.Name); ok {
			w := at(name)
			w.nnn, w.part, w.text = nnn, p.Content, w.text+p.Content
		}
	}
	for _, p := range parts {
		if p.Name != gateName {
			continue
		}
		for _, g := range GateHooks(p.Content) {
			if g.Hash == "" {
				if i := slices.IndexFunc(hooks, func(w Written) bool { return w.Name == g.Name && w.nnn == "" }); i >= 0 {
					hooks[i].nnn = g.Number
				}
				continue
			}
			w := at(g.Name)
			w.nnn = g.Number
			if w.part == "" { // else of another spec
				w.hash = g.Hash
			}
		}
	}
	return hooks
}

const gateName = "kopshook-000-gate.sh"

// HookOfPart returns the hook that a part is made of, and 500 + its weight: those parts are called kopshook-NNN-NAME.yaml.
func HookOfPart(part string) (nnn, hook string, ok bool) {
	name, ours := strings.CutPrefix(part, "kopshook-")
	name, yaml := strings.CutSuffix(name, ".yaml")
	nnn, hook, ok = strings.Cut(name, "-")
	if !ok || !ours || !yaml {
		return "", "", false
	}
	return nnn, hook, true
}

// hookOf returns the hook that a file on the node belongs to, "" when it is none's.
func hookOf(file string) string {
	if rest, ok := strings.CutPrefix(file, hookDir("")); ok {
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	if name, ok := strings.CutPrefix(file, "/etc/systemd/system/kopshook-"); ok {
		name, _ = strings.CutSuffix(name, ".service")
		return name
	}
	return ""
}

// Diff returns the fields in which a hook differs from w, in the order of the spec's table. What differs in no field that
// can be read is called unit.
func (w *Written) Diff(now *Written) []FieldChange {
	if w.Text() == now.Text() {
		return nil
	}
	if (w.hash == "") != (now.hash == "") {
		place := map[bool]string{true: "in user data", false: "in a bucket"}
		return []FieldChange{{"archiveURL", place[w.hash == ""], place[now.hash == ""]}}
	}
	old, is := w.fields(), now.fields()
	var changes []FieldChange
	if w.hash != now.hash {
		changes = append(changes, FieldChange{"contents", w.hash, now.hash})
	}
	for _, f := range fieldOrder {
		if old[f] != is[f] {
			changes = append(changes, FieldChange{f, old[f], is[f]})
		}
	}
	if len(changes) == 0 {
		return []FieldChange{{"unit", w.text, now.text}}
	}
	return changes
}

var fieldOrder = []string{"phase", "weight", "run", "script", "verify", "env", "timeout", "attempts", "retryDelay", "onFailure", "before",
	"rebootExitCodes", "compress", "archive", "cleanup", "files", "dropIns", "cloudConfig"}

// fields returns the values of the hook's fields, as far as they can be read.
func (w *Written) fields() map[string]string {
	f := map[string]string{"compress": "false", "archive": strconv.FormatBool(len(w.packed) > 0)}
	if n, err := strconv.Atoi(w.nnn); err == nil {
		f["weight"] = strconv.Itoa(n - 500)
	}
	files := slices.Clone(w.packed)
	if w.part != "" {
		files = append(files, readPart(w.part, f)...)
	}
	for _, file := range files {
		switch dir := hookDir(w.Name) + "/"; {
		case file.Path == "/etc/systemd/system/"+UnitName(w.Name):
			readUnit(string(file.Content), f)
		case file.Path == dir+"verify":
			f["verify"] = string(file.Content)
		case strings.HasPrefix(file.Path, dir+"files/"):
			f["files"] += string(file.Content)
		case path.Dir(file.Path)+"/" == dir:
			f["script"] += string(file.Content)
		}
	}
	return f
}

// readPart returns the files of a hook's own part, and notes what else there is.
func readPart(content string, fields map[string]string) []File {
	var part map[string]yaml.Node
	if yaml.Unmarshal([]byte(content), &part) != nil {
		return nil
	}
	var entries []struct{ Path, Encoding, Content string }
	var files []File
	node := part["write_files"]
	_ = node.Decode(&entries) // a part that somebody edited may hold anything
	for _, e := range entries {
		if hookOf(e.Path) == "" {
			fields["cloudConfig"] += e.Path + "\n" + e.Content
			continue
		}
		data := []byte(e.Content)
		switch e.Encoding {
		case "b64":
			data, _ = decodeBase64(e.Content)
		case "gz+b64":
			data, _ = decodeGzip(e.Content)
			fields["compress"] = "true"
		}
		files = append(files, File{Path: e.Path, Content: data})
	}
	var commands []yaml.Node
	node = part["bootcmd"]
	_ = node.Decode(&commands)
	for i, c := range commands {
		var words []string
		if c.Decode(&words) == nil && i == 0 && len(words) > 2 && words[2] == "KOPSHOOK_PHASE=boot" {
			fields["phase"] = "boot"
			readCommand(words[4:], fields)
			continue
		}
		text, _ := yaml.Marshal(&c)
		fields["cloudConfig"] += string(text)
	}
	for _, key := range []string{"write_files", "bootcmd", "merge_how"} {
		delete(part, key)
	}
	if len(part) > 0 {
		text, _ := yaml.Marshal(part)
		fields["cloudConfig"] += string(text)
	}
	return files
}

// readUnit reads what Hook.unit wrote.
func readUnit(text string, f map[string]string) {
	f["cleanup"] = "never"
	for _, line := range unitLines(text) {
		switch key, value, _ := strings.Cut(line, "="); {
		case key == "ExecStart" || key == "ExecStop":
			r, ok := startOf(value)
			if !ok {
				continue
			}
			f["phase"], f["run"], f["onFailure"] = string(r.Phase), r.Run, r.OnFailure
			f["attempts"], f["retryDelay"], f["timeout"] = strconv.Itoa(r.Attempts), span(r.RetryDelay), span(r.Timeout)
			f["rebootExitCodes"] = strings.Join(r.RebootExitCodes, ", ")
			readCommand(r.command, f)
		case key == "ExecStartPost" && strings.Contains(value, "is-enabled"):
			if _, units, ok := strings.Cut(value, "' - "); ok {
				f["before"] = strings.Join(splitArguments(units), ", ")
			}
		case key == "ExecStartPost" && strings.Contains(value, "rm -rf"):
			f["cleanup"] = "on-success"
		}
	}
}

// readCommand reads the variables that a command begins with, and what it places or runs.
func readCommand(words []string, f map[string]string) {
	var env []string
	for len(words) > 0 && isVariable(before(words[0], "=")) && strings.Contains(words[0], "=") {
		env, words = append(env, words[0]), words[1:]
	}
	f["env"] = strings.Join(env, ", ")
	var rest []string
	for _, w := range words {
		if strings.Contains(w, "\n") || f["phase"] == "boot" && strings.HasPrefix(w, "#!") {
			f["script"] += w
			continue
		}
		rest = append(rest, w)
	}
	placed := strings.Join(rest, "\n")
	switch {
	case strings.Contains(placed, "/90-kopshook-"):
		f["dropIns"] = placed
		fallthrough
	case strings.Contains(placed, "install -DT") || strings.Contains(placed, "/bin/fetch"):
		f["files"] += placed
	}
}

func before(s, sep string) string {
	s, _, _ = strings.Cut(s, sep)
	return s
}
