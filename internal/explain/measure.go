package explain

import "strings"

// face is how a class of text is set. Sizes are those of style.
type face struct {
	size       float64
	mono, bold bool
}

var (
	titleFace    = face{size: 26, bold: true}
	subFace      = face{size: 13.5}
	stageFace    = face{size: 13, bold: true}
	noteFace     = face{size: 12}
	nameFace     = face{size: 13, mono: true, bold: true}
	detailFace   = face{size: 12}
	failsFace    = face{size: 11.5}
	placeFace    = face{size: 11}
	markFace     = face{size: 11.5}
	gateTextFace = face{size: 12, bold: true}
	verdictFace  = face{size: 15, bold: true}
)

// width of a text, in pixels, in DejaVu Sans: of the fonts that style names it is the widest, so what fits in it fits in all.
func (f face) width(s string) float64 {
	w := 0.0
	for _, c := range s {
		w += f.advance(c)
	}
	return w * f.size
}

// advance is the width of a character, as a part of the size.
func (f face) advance(c rune) float64 {
	if f.mono {
		if c >= 0x1100 {
			return 1 // perhaps wide
		}
		return 0.603
	}
	w := 1.0
	switch {
	case strings.ContainsRune("ijl'", c):
		w = 0.28
	case strings.ContainsRune(" ,.·IJ", c):
		w = 0.32
	case strings.ContainsRune(`-/:;\f|`, c):
		w = 0.37
	case strings.ContainsRune("!()[]rt", c):
		w = 0.42
	case strings.ContainsRune(`"*_szcL?`, c):
		w = 0.56
	case strings.ContainsRune("aeokvxyFPTY", c):
		w = 0.62
	case strings.ContainsRune("bdghnpqu0123456789${}EKS", c):
		w = 0.65
	case strings.ContainsRune("ABCRVXZ", c):
		w = 0.7
	case strings.ContainsRune("DGHNOQU&", c):
		w = 0.79
	case strings.ContainsRune("w#+<=>M^~×●", c):
		w = 0.86
	}
	switch {
	case f.bold && w < 0.5:
		w *= 1.24
	case f.bold:
		w *= 1.14
	}
	return w
}

// cut shortens a text to a width.
func (f face) cut(s string, width float64) string {
	if f.width(s) <= width {
		return s
	}
	width -= f.advance('…') * f.size
	for i, c := range s {
		if width -= f.advance(c) * f.size; width < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks a text into lines of at most a width.
func (f face) wrap(s string, width float64) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		word = f.cut(word, width)
		last := len(lines) - 1
		if last >= 0 && f.width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
