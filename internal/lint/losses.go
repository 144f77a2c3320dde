package lint

import (
	"bytes"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// checkLosses says what the model of cloud-init says is lost.
func (p *pass) checkLosses() {
	for _, l := range p.result.Lost {
		first := len(p.found)
		switch l.Kind {
		case cloudinit.LostAll:
			p.add("KH027", p.place(l.At), "none of the user data takes effect, not even nodeup.sh: "+l.Why, wholePart(l.At.Part))
		case cloudinit.LostInit:
			p.add("KH025", p.place(l.At), l.Why+": "+l.What+" does not run")
		case cloudinit.LostPart:
			p.lostPart(l)
		case cloudinit.LostMerge:
			p.lostMerge(l)
		case cloudinit.LostKey:
			p.add("KH024", p.place(l.At), fmt.Sprintf("%s is written twice in one mapping, and this one is lost", l.Path),
				remedy("keep the one that counts%s", p.by(l.By, "; the other stands in")))
		case cloudinit.LostEntry:
			p.lostEntry(l)
		case cloudinit.LostCommands:
			p.lostCommands(l)
		case cloudinit.Overwritten:
			p.overwritten(l)
		case cloudinit.CannotRun:
			p.cannotRun(l)
		case cloudinit.Cut:
			p.add("KH010", p.place(l.At), "this line is the boundary that kops puts between parts: the part ends before it")
		case cloudinit.Changed:
			p.changed(l)
		case cloudinit.Unpredictable:
			p.add("KH016", p.place(l.At), fmt.Sprintf("what becomes of part %q cannot be told: %s", l.Name, l.Why), wholePart(l.At.Part))
		}
		p.lost(l, first)
	}
}

// by names the place that is to blame.
func (p *pass) by(at cloudinit.At, words string) string {
	if at.Part < 0 || !p.theirs(at.Part) {
		return ""
	}
	pos := p.place(at)
	if pos.Line == 0 {
		return ""
	}
	return words + " " + pos.String()
}

func (p *pass) lostPart(l cloudinit.Loss) {
	pos := p.place(l.At)
	content := ""
	if l.At.Part >= 0 {
		content = p.g.Parts[l.At.Part].Content
	}
	say := func(code, format string, args ...any) {
		p.add(code, pos, fmt.Sprintf(format, args...), wholePart(l.At.Part))
	}
	switch why := l.Why; {
	case strings.HasPrefix(content, "\ufeff"):
		say("KH009", "part %q is lost: it begins with a byte order mark, which arrives as text", l.Name)
		p.found[len(p.found)-1].Fix = p.edit(l.At.Part, 0, len("\ufeff"), "")
	case strings.Contains(why, "below U+0100"):
		at := firstNotASCII(content, l.At)
		pos = p.place(at)
		say("KH007", "part %q is lost for the character %s: kops declares 7bit, so it arrives as a byte that is no UTF-8", l.Name, charAt(content, at))
	case strings.Contains(why, "found tab"):
		say("KH006", "part %q is lost: a tab stands where YAML wants spaces", l.Name)
	case strings.HasPrefix(why, "it is no YAML"):
		say("KH005", "part %q is lost: %s", l.Name, why)
	case strings.HasPrefix(why, "it is empty"), strings.HasSuffix(why, "no mapping"), strings.HasPrefix(why, "it cannot be read"), strings.HasSuffix(why, "no list"):
		if s := cloudinit.Sniff(content); s != "" && l.At.Part >= 0 && s != p.g.Parts[l.At.Part].Type {
			p.add("KH003", pos, fmt.Sprintf("part %q is lost: it is declared as %s, but begins like %s", l.Name, p.g.Parts[l.At.Part].Type, s), wholePart(l.At.Part), declare(s))
			return
		}
		say("KH004", "part %q is lost: %s", l.Name, why)
	case strings.Contains(why, "has no handler"):
		say("KH002", "part %q is lost: %s", l.Name, why)
	case strings.Contains(why, "merger"), strings.Contains(why, "merge_how"):
		say("KH023", "part %q is lost: %s", l.Name, why)
	case strings.Contains(why, "left of its name"), strings.Contains(why, "its name has"):
		pos = p.field(l.At.Part, "name")
		say("KH013", "part %q is lost: %s", l.Name, why)
	default:
		say("KH005", "part %q is lost: %s", l.Name, why)
	}
}

// firstNotASCII finds the first character below U+0100 that is not ASCII, in content.
func firstNotASCII(content string, fallback cloudinit.At) cloudinit.At {
	for i, c := range content {
		if c >= 0x80 && c < 0x100 {
			line, col := sourcemap.New([]byte(content)).Place(i)
			return at(fallback.Part, line, col)
		}
	}
	return fallback
}

func charAt(content string, place cloudinit.At) string {
	for _, c := range content[sourcemap.New([]byte(content)).Offset(place.Line, place.Col):] {
		return fmt.Sprintf("%q", c)
	}
	return ""
}

func (p *pass) lostMerge(l cloudinit.Loss) {
	pos := p.place(l.At)
	switch {
	case l.At.Part < 0 && l.Name == "": // the image's own
		p.add("KH026", p.place(l.By), fmt.Sprintf("%s is replaced: %s", l.What, l.Why))
	case strings.Contains(l.Why, "names no merger of dicts"):
		p.add("KH022", pos, fmt.Sprintf("part %q is lost: %s", l.Name, l.Why), wholePart(l.At.Part))
	case strings.Contains(l.Why, "without a value"):
		p.add("KH021", pos, fmt.Sprintf("%s of part %q is lost: %s%s", l.What, l.Name, l.Why, p.by(l.By, "; the one that stays is at")))
	default:
		var opts []option
		if !strings.Contains(l.What, "item") {
			opts = append(opts, severity(report.Warning))
		}
		p.add("KH020", pos, fmt.Sprintf("%s of part %q is lost: %s%s", l.What, l.Name, l.Why, p.by(l.By, "; the one that stays is at")), opts...)
	}
}

func (p *pass) lostEntry(l cloudinit.Loss) {
	pos := p.place(l.At)
	switch {
	case strings.Contains(l.Why, "exists by then"):
		p.add("KH041", pos, fmt.Sprintf("%s stops write_files: %s", l.What, l.Why))
	default:
		p.add("KH042", pos, fmt.Sprintf("%s is not written: %s", l.What, l.Why))
	}
}

func (p *pass) lostCommands(l cloudinit.Loss) {
	f := fmt.Sprintf("none of %s runs: %s", l.Path, l.Why)
	if strings.Contains(l.Why, "a mapping") && strings.HasPrefix(l.Why, "item") {
		f += "; a colon followed by a space makes one"
	}
	p.add("KH030", p.place(l.At), f, fix(p.quoteItem(l.At)...))
}

// quoteItem is the edit that puts a list item into quotes, if it stands on one line.
func (p *pass) quoteItem(place cloudinit.At) []Edit {
	if place.Part < 0 || place.Line == 0 {
		return nil
	}
	content := p.g.Parts[place.Part].Content
	start := p.text(place.Part).Offset(place.Line, place.Col)
	text, _, _ := strings.Cut(content[start:], "\n")
	if text == "" || strings.ContainsAny(text[:1], "{[&*!|>'\"") || strings.Contains(text, " #") || strings.HasSuffix(text, ":") {
		return nil
	}
	end := start + len(strings.TrimRight(text, " \r"))
	return p.edit(place.Part, start, end, "'"+strings.ReplaceAll(content[start:end], "'", "''")+"'")
}

func (p *pass) overwritten(l cloudinit.Loss) {
	if l.At.Part < 0 || !p.theirs(l.At.Part) && p.theirs(l.By.Part) {
		p.add("KH012", p.field(l.By.Part, "name"), fmt.Sprintf("part %q replaces kops' own nodeup.sh: the node never joins", p.g.Parts[l.By.Part].Name), wholePart(l.By.Part))
		return
	}
	p.add("KH011", p.field(l.At.Part, "name"), fmt.Sprintf("part %q does not run: %s", l.Name, l.Why), wholePart(l.At.Part))
}

func (p *pass) cannotRun(l cloudinit.Loss) {
	content := ""
	if l.At.Part >= 0 {
		content = p.g.Parts[l.At.Part].Content
	}
	if strings.Contains(l.Why, "carriage return") {
		return // KH008 says so
	}
	opts := []option{wholePart(l.At.Part)}
	if blank := len(content) - len(strings.TrimLeft(content, " \t\r\n")); blank > 0 && strings.HasPrefix(content[blank:], "#!") {
		opts = append(opts, fix(p.dropLines(l.At.Part, blank)...), remedy("take away what stands before #!"))
	}
	p.add("KH015", p.place(l.At), fmt.Sprintf("part %q is not run: %s", l.Name, l.Why), opts...)
}

// dropLines is the edit that takes away the lines before an offset of a part.
func (p *pass) dropLines(part, end int) []Edit {
	edits := p.edit(part, 0, end, "")
	if strings.Trim(p.g.Parts[part].Content[:end], "\n") != "" {
		return nil
	}
	for i := range edits {
		e, data := &edits[i], p.g.Source.Bytes()
		if data[e.Start] == '\n' { // a block: whole lines
			e.Start = bytes.LastIndexByte(data[:e.Start], '\n') + 1
			e.End = bytes.LastIndexByte(data[:e.End], '\n') + 1
		}
	}
	return edits
}

func (p *pass) changed(l cloudinit.Loss) {
	pos := p.place(l.At)
	if strings.Contains(l.Why, "after its mode") {
		p.add("KH045", pos, fmt.Sprintf("%s loses its setuid bit: %s", strings.TrimPrefix(l.What, "the mode of "), l.Why))
		return
	}
	if l.What == `the character '\ufeff'` {
		return // KH009 says so
	}
	p.add("KH007", pos, fmt.Sprintf("%s of part %q changes: %s", l.What, l.Name, l.Why), severity(report.Warning))
}
