package explain

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/report"
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
	}
	class := "note"
	if s.High > s.Limit.Bytes {
		class = "failsbad"
	}
	p.text(class, panelX+pad, y+42, fmt.Sprintf("%s of %s bytes that %s takes: %d %%%s", report.Thousands(s.High), report.Thousands(s.Limit.Bytes), s.Limit.Cloud, s.Percent(), estimate))
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
	case it.Hook != "" || strings.HasPrefix(it.Name, instancegroups.Prefix):
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
