package lint

import (
	"bytes"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// ignoreMark switches rules off: "# kopshook: ignore=KH012,KH014" on the line of a finding, on the line before it, or
// anywhere in the part that a finding is about.
const ignoreMark = "kopshook: ignore="

// ignored says whether a comment switches a finding off.
func (p *pass) ignored(f Finding) bool {
	if p.g.Source == nil || f.Effect == TooLarge { // no comment makes it smaller: kops or the cloud refuses it
		return false
	}
	if f.whole && p.theirs(f.part) {
		for _, l := range strings.Split(p.g.Parts[f.part].Content, "\n") {
			if ignores(l, f.Code) {
				return true
			}
		}
	}
	return lineIgnores(p.g.Source, f.Line, f.Code)
}

// lineIgnores says whether a comment on a line, or on the one before, switches a rule off.
func lineIgnores(t *sourcemap.Text, line int, code string) bool {
	return ignores(t.Line(line), code) || ignores(t.Line(line-1), code)
}

// Comments returns the lines of a text with comments that switch rules off, in order.
func Comments(t *sourcemap.Text) (lines []int) {
	if t == nil {
		return nil
	}
	for i := 0; ; i++ {
		n := bytes.Index(t.Bytes()[i:], []byte(ignoreMark))
		if n < 0 {
			return lines
		}
		i += n
		line, _ := t.Place(i)
		lines = append(lines, line)
	}
}

func ignores(line, code string) bool {
	_, list, ok := strings.Cut(line, ignoreMark)
	if !ok {
		return false
	}
	list, _, _ = strings.Cut(list, " ")
	for _, c := range strings.Split(list, ",") {
		if strings.EqualFold(strings.TrimRight(c, "\"'\r"), code) {
			return true
		}
	}
	return false
}

// at is a place in a part.
func at(part, line, col int) cloudinit.At { return cloudinit.At{Part: part, Line: line, Col: col} }
