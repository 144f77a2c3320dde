package hookspec

import (
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// Doc is one hook spec document and where it stands.
type Doc struct {
	File string // as the user gave it; standard input is "-"
	Spec InstanceGroupHooks

	places map[string]place
}

// place is where a field stands: its key (of a list item: the item) and its value. Lines and columns count from 1.
type place struct {
	keyLine, keyCol int
	line, col       int
}

// Pos returns where the field at path stands, for instance "spec.hooks[1].files[0].mode": the value of a scalar, the
// key of a mapping or a list, the first character of a list item. A field that is not there is where its nearest
// parent is.
func (d *Doc) Pos(path string) report.Position {
	for ; path != ""; path = parent(path) {
		if p, ok := d.places[path]; ok {
			return report.Position{File: d.File, Line: p.line, Col: p.col}
		}
	}
	return report.Position{File: d.File, Line: 1, Col: 1}
}

// KeyPos is like Pos, but for the key of the field.
func (d *Doc) KeyPos(path string) report.Position {
	for ; path != ""; path = parent(path) {
		if p, ok := d.places[path]; ok {
			return report.Position{File: d.File, Line: p.keyLine, Col: p.keyCol}
		}
	}
	return report.Position{File: d.File, Line: 1, Col: 1}
}

// parent of "a.b[0]" is "a.b", of "a.b" it is "a".
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}
