package generator

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// Written is a hook as parts of user data hold it, those of an earlier release too.
type Written struct {
	Name string
	text string // all that is written of it
	part string // its own part, "" when there is none
	nnn  string // 500 + weight, "" when it is not known

	packed []File // its files in the archive
	hash   string // of what lies in a bucket, "" when it is written here
	phase  Phase  // as the gate tells it
	order  int    // in the gate, from 1; 0 where it is not there: boot hooks run before all others
	opened bool   // what lies there is known
}

// Text is all that is written of the hook: hooks with the same text have the same fields.
func (w *Written) Text() string { return w.nnn + w.hash + w.text }

// InBucket says whether the hook lies in a bucket that nobody has looked into: then only its name, its weight and its hash are known.
func (w *Written) InBucket() bool { return w.hash != "" && !w.opened }

// Open gives the hooks that lie in a bucket what is there: the files of their archive.
func Open(hooks []Written, files []File) {
	for _, f := range files {
		name := hookOf(f.Path)
		i := slices.IndexFunc(hooks, func(w Written) bool { return w.Name == name && w.hash != "" })
		if i >= 0 {
			w := &hooks[i]
			w.opened, w.packed, w.text = true, append(w.packed, f), w.text+f.Path+"\n"+string(f.Content)
		}
	}
}

// Field is the value of a field of the hook as text, "" where it cannot be read.
func (w *Written) Field(name string) string {
	_, fields := w.read()
	return fields[name]
}

// Phase is the hook's. Of a hook that lies in a bucket it is "" where the gate does not tell it.
func (w *Written) Phase() Phase { return cmp.Or(Phase(w.Field("phase")), w.phase) }

// FieldChange is a field of the spec that differs, with its values as text; "" stands for none.
type FieldChange struct {
	Field, Old, New string
}

// String is "timeout 2m0s -> 3m0s", or the field alone where the values are texts of several lines.
func (c FieldChange) String() string {
	const most = 40
	if c.Old == c.New { // what they are is not known
		return c.Field
	}
	if strings.Contains(c.Old+c.New, "\n") || max(len(c.Old), len(c.New)) > most {
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
		for n, g := range GateHooks(p.Content) {
			if g.Hash == "" && !slices.ContainsFunc(hooks, func(w Written) bool { return w.Name == g.Name }) {
				continue
			}
			w := at(g.Name)
			w.nnn, w.phase, w.order = g.Number, g.Phase, n+1
			if w.part == "" { // else of another spec
				w.hash = g.Hash
			}
		}
	}
	slices.SortStableFunc(hooks, func(a, b Written) int { return cmp.Compare(a.order, b.order) })
	return hooks
}

const gateName = "kopshook-000-gate.sh"

// IsGate says whether the part is the gate: the one that holds the names of the instance group and its cluster.
func IsGate(p UserData) bool { return p.Name == gateName }

// IsPart says whether a part has a name that Generate gives: another one that begins with kopshook- is somebody else's.
func IsPart(name string) bool {
	if _, ok := installed[name]; ok || name == gateName || name == archiveName {
		return true
	}
	return hookPart.MatchString(name)
}

// hookPart is a hook's part: 500 + its weight, of -400 to 499, and its name, which is a DNS label.
var hookPart = regexp.MustCompile(`^kopshook-[1-9][0-9]{2}-[a-z0-9]([-a-z0-9]*[a-z0-9])?\.yaml$`)

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
	sameThere := w.hash != "" && w.hash == now.hash
	if w.Text() == now.Text() || sameThere && w.nnn == now.nnn {
		return nil
	}
	closed := w.InBucket() || now.InBucket()
	var changes []FieldChange
	switch {
	case (w.hash == "") != (now.hash == ""):
		place := map[bool]string{true: "in user data", false: "in a bucket"}
		changes = append(changes, FieldChange{"archiveURL", place[w.hash == ""], place[now.hash == ""]})
	case closed && !sameThere:
		changes = append(changes, FieldChange{Field: "contents in the bucket"})
	}
	_, old := w.read()
	_, is := now.read()
	for _, f := range fieldOrder {
		if old[f] != is[f] && (!closed || f == "weight" && w.nnn != "" && now.nnn != "") {
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

// readUnit reads what Hook.unit wrote, and returns the files that the hook puts in place.
func readUnit(text string, f map[string]string) (placed []File) {
	f["cleanup"] = "never"
	for _, line := range unitLines(text) {
		switch key, value, _ := strings.Cut(line, "="); {
		case key == "ExecStart" || key == "ExecStop":
			r, ok := startOf(value)
			if !ok {
				continue
			}
			f["phase"], f["run"], f["onFailure"] = string(r.Phase), r.Run, r.OnFailure
			f["attempts"], f["retryDelay"], f["timeout"] = strconv.Itoa(r.Attempts), report.Duration(r.RetryDelay), report.Duration(r.scriptTimeout())
			f["rebootExitCodes"] = strings.Join(r.RebootExitCodes, ", ")
			placed = placedBy(readEnv(r.command, f))
		case key == "ExecStartPost" && strings.Contains(value, "is-enabled"):
			if _, units, ok := strings.Cut(value, "' - "); ok {
				f["before"] = strings.Join(splitArguments(units), ", ")
			}
		case key == "ExecStartPost" && strings.Contains(value, "rm -rf"):
			f["cleanup"] = "on-success"
		}
	}
	return placed
}
