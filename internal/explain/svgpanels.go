package explain

import (
	"fmt"
	"time"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/waits"
)

// Where the panels are, beside cloud-init's first stages.
const (
	panelX     = laneB
	panelWidth = laneC + widthC - laneB
)

// lost lists what does not arrive.
func (p *painter) lost(y float64) float64 {
	if len(p.t.Lost) == 0 {
		return y
	}
	const width = panelWidth - 2*16
	h := 34.0
	for _, l := range p.t.Lost {
		h += 21 + float64(len(detailFace.wrap(l.Why, width)))*16
	}
	p.rect(&p.above, "lost", panelX, y, panelWidth, h, 8)
	p.text("losttitle", panelX+16, y+24, "lost or changed on the way to the node")
	line := y + 46
	for _, l := range p.t.Lost {
		place := ""
		if l.Place != "" {
			place = placeFace.cut(base(l.Place), width/3)
		}
		p.text("name", panelX+16, line, nameFace.cut(l.What, width-placeFace.width(place)-10))
		p.text("place", panelX+panelWidth-16, line, place)
		line += 16
		for _, s := range detailFace.wrap(l.Why, width) {
			p.text("detail", panelX+16, line, s)
			line += 16
		}
		line += 5
	}
	return y + h + 14
}

// size draws what the user data takes of what the cloud takes.
func (p *painter) size(y float64) float64 {
	s := p.t.Size
	if s == nil || s.Limit.Bytes == 0 {
		return y
	}
	const pad = 16.0
	width := panelWidth - 2*pad
	items := []string{}
	for _, it := range s.Items {
		items = append(items, fmt.Sprintf("%s %s", itemName(it), report.Thousands(it.Bytes)))
	}
	legend := wrapItems(items, width)
	h := 96 + float64(len(legend))*16
	p.rect(&p.below, "band", panelX, y, panelWidth, h, 8)
	p.text("stage", panelX+pad, y+24, "size of the user data")
	estimate := ""
	if !s.Exact {
		estimate = " (kops' script at its largest)"
		if s.Told() < s.High {
			estimate = " (kops' script at its smallest)"
		}
	}
	if !s.Known {
		estimate += ", the cloud is not known"
	}
	class := "note"
	if s.High > s.Limit.Bytes {
		class = "failsbad"
	}
	p.text(class, panelX+pad, y+42, fmt.Sprintf("%s of %s bytes that %s takes: %d %%%s", report.Thousands(s.Told()), report.Thousands(s.Limit.Bytes), s.Limit.Cloud, s.Percent(), estimate))
	x, bar := panelX+pad, y+54
	whole := float64(max(s.High, s.Limit.Bytes))
	p.rect(&p.above, "track", x, bar, width*float64(s.Limit.Bytes)/whole, 16, 3)
	for _, it := range s.Items {
		w := width * float64(it.Bytes) / whole
		p.rect(&p.above, "bar"+string(itemOwner(it)), x, bar, max(w-1, 0.5), 16, 2)
		x += w
	}
	if s.High > s.Limit.Bytes {
		p.rect(&p.above, "barbad", panelX+pad+width*float64(s.Limit.Bytes)/whole-1, bar-4, 2.5, 24, 0)
	}
	for i, l := range legend {
		p.text("detail", panelX+pad, bar+36+float64(i)*16, l)
	}
	return y + h + 14
}

// time draws how long the kubelet may wait for each hook, and when kops gives up.
func (p *painter) time(y float64) float64 {
	t := p.t
	if len(t.Waits) == 0 {
		return y
	}
	const pad, row, name, number = 16.0, 19.0, 160.0, 132.0
	lines := noteFace.wrap(t.waitsFor(), panelWidth-2*pad)
	top := y + 42 + 16*float64(len(lines))
	h := top - y + 12 + row*float64(len(t.Waits)) + 10
	p.rect(&p.below, "band", panelX, y, panelWidth, h, 8)
	p.text("stage", panelX+pad, y+24, "time")
	for i, l := range lines {
		p.text("note", panelX+pad, y+42+16*float64(i), l)
	}
	x, full := panelX+pad+name+number, panelWidth-2*pad-name-number
	at := func(d time.Duration) float64 { return full * float64(d) / float64(t.scale()) }
	p.rect(&p.above, "limitbar", x+at(waits.KopsGivesUp)-0.75, top+8, 1.5, row*float64(len(t.Waits))+4, 0)
	p.text("place", x+at(waits.KopsGivesUp)+8, top+5, report.Duration(waits.KopsGivesUp))
	for i, w := range t.Waits {
		line := top + 12 + row*float64(i)
		number := report.Duration(w.Worst)
		if w.Took > 0 {
			number = seconds(w.Took) + " of " + number
		}
		p.text("name", panelX+pad, line+12, nameFace.cut(w.Hook, name-8))
		p.text("detail", panelX+pad+name, line+12, number)
		p.rect(&p.above, "wait", x+at(w.Start), line+2, max(at(w.Worst)-1, 1), 11, 2)
		if w.Took > 0 {
			p.rect(&p.above, "barkopshook", x+at(w.Start), line+2, max(at(w.Took), 1), 11, 2)
		}
	}
	return y + h + 14
}

// itemName is what people call a part.
func itemName(it budget.Item) string {
	if it.Hook != "" {
		return it.Hook
	}
	return it.Name
}

func itemOwner(it budget.Item) Owner {
	switch {
	case it.Name == "nodeup.sh" && it.Hook == "":
		return Kops
	case it.Hook != "" || generator.IsPart(it.Name):
		return Kopshook
	}
	return Yours
}

// wrapItems joins items with dots into lines of at most a width.
func wrapItems(items []string, width float64) []string {
	var lines []string
	for _, it := range items {
		if last := len(lines) - 1; last >= 0 && detailFace.width(lines[last]+"  ·  "+it) <= width {
			lines[last] += "  ·  " + it
			continue
		}
		lines = append(lines, detailFace.cut(it, width))
	}
	return lines
}
