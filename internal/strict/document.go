package strict

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// Document is where the values of a document stand in its file.
type Document struct {
	File string // as the user gave it; standard input is "-"

	places map[string]place // by path
}

// place is where a value stands. Lines and columns count from 1.
type place struct {
	keyLine, keyCol int    // its key; of a list item: its first character
	line, col       int    // a scalar: its first character; a mapping or list: its key
	scalar          string // what it says, if it is a scalar
}

// Pos returns where the value at path stands, for instance "spec.hooks[1].files[0].mode": the first character of a
// scalar or of a list item, the key of a mapping or a list. A field that is not there is where its nearest parent is.
func (d *Document) Pos(path string) report.Position {
	p := d.nearest(path)
	return report.Position{File: d.File, Line: p.line, Col: p.col}
}

// KeyPos is like Pos, but always for the key.
func (d *Document) KeyPos(path string) report.Position {
	p := d.nearest(path)
	return report.Position{File: d.File, Line: p.keyLine, Col: p.keyCol}
}

func (d *Document) nearest(path string) place {
	for ; path != ""; path = Parent(path) {
		if p, ok := d.places[path]; ok {
			return p
		}
	}
	if p, ok := d.places[""]; ok {
		return p
	}
	return place{keyLine: 1, keyCol: 1, line: 1, col: 1}
}

// Given says whether the document has a value at path.
func (d *Document) Given(path string) bool {
	_, ok := d.places[path]
	return ok
}

// Scalar returns what the scalar at path says, "" where there is none.
func (d *Document) Scalar(path string) string { return d.places[path].scalar }

// Join appends a key to a path: "a.key", or `a["k.e.y"]` where the key is no plain word.
func Join(path, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	switch {
	case !plain:
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}

// Item appends an index to a path: "a[0]".
func Item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Parent of "a.b[0]" is "a.b", of "a.b" it is "a". Of a key with dots in it, it may be no path at all.
func Parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}
