package explain

import (
	"fmt"
	"io"
	"strings"
)

// The picture has three lanes: what cloud-init does, hooks, and what kops does. Time goes down.
const (
	pageWidth = 1080.0
	margin    = 36.0

	laneA, widthA = margin, 356.0
	laneB, widthB = 424.0, 316.0
	laneC, widthC = 772.0, 272.0

	gap      = 9.0
	boxPad   = 14.0
	stageTop = 46.0 // above a stage's first box, for its title and note
)

// SVG draws the timeline of an instance group. It is light or dark as the reader is, and light in print.
func SVG(w io.Writer, t *Timeline) error {
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+drawing(t, ""))
	return err
}

// drawing returns the picture as an element; id makes it unique on a page.
func drawing(t *Timeline, id string) string {
	p := &painter{t: t, canvas: canvas{id: id}}
	p.draw()
	height := p.bottom + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="kh" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="timeline of %s">`+"\n",
		num(pageWidth), num(height), num(pageWidth), num(height), attribute(t.title()))
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", attribute("timeline of "+t.title()), attribute(strings.TrimSpace(t.headline()+" "+t.waitsFor())))
	fmt.Fprintf(&b, "<style>\n%s\n</style>\n", style)
	fmt.Fprintf(&b, `<defs><marker id="%sarrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0 0.6L8 4L0 7.4z"/></marker></defs>`+"\n", id)
	fmt.Fprintf(&b, `<rect class="page" width="%s" height="%s"/>`+"\n", num(pageWidth), num(height))
	b.WriteString(p.below.String())
	b.WriteString(p.above.String())
	b.WriteString("</svg>\n")
	return b.String()
}

func attribute(s string) string {
	return strings.NewReplacer(`&`, "&amp;", `<`, "&lt;", `"`, "&quot;").Replace(clean(s))
}

// painter draws one timeline.
type painter struct {
	canvas
	t *Timeline
}

func (p *painter) stage(id string) *Stage {
	for i := range p.t.Stages {
		if p.t.Stages[i].ID == id {
			return &p.t.Stages[i]
		}
	}
	return nil
}

func (p *painter) draw() {
	top := p.header()
	y := top + 4
	if p.t.runs() {
		p.text("lane", laneA, top, "cloud-init")
	}
	for _, id := range []string{StageInit, StageConfig} {
		if s := p.stage(id); s != nil {
			y, _, _ = p.column(*s, laneA, widthA, y)
		}
	}
	// beside them there is room: hooks and kops come later
	y = max(y, p.lost(p.time(p.size(top+12))))

	late := &Stage{}
	var nodeup box
	if s := p.stage(StageFinal); s != nil {
		y = p.marker(y, "sysinit.target · network-online.target · multi-user.target")
		if p.stage(StageNodeup) != nil {
			p.text("lane", laneB, y+26, "hooks")
			p.text("lane", laneC, y+26, "kops")
		}
		now := *s
		now.Steps, late.Steps = splitLate(s.Steps)
		y, _, nodeup = p.column(now, laneA, widthA, y+4)
	}
	if p.stage(StageNodeup) != nil {
		y = p.kops(nodeup, late, y)
	}
	if s := p.stage(StageNever); s != nil {
		p.column(*s, laneA, widthA, y)
	}
}

// splitLate takes the scripts that run beside nodeup out of the final stage.
func splitLate(steps []Step) (before, beside []Step) {
	for _, s := range steps {
		if s.Beside {
			beside = append(beside, s)
		} else {
			before = append(before, s)
		}
	}
	return before, beside
}

func (p *painter) header() float64 {
	p.text("title", margin, 52, titleFace.cut(p.t.title(), laneB-margin))
	sub := []string{}
	for _, s := range []string{p.t.Cluster, p.t.Role} {
		if s != "" {
			sub = append(sub, s)
		}
	}
	sub = append(sub, "cloud-init "+p.t.CloudInit)
	p.text("sub", margin, 75, subFace.cut(strings.Join(sub, "  ·  "), laneB+32-margin))
	x := laneB + 40.0
	for _, o := range []struct {
		owner Owner
		text  string
	}{{Yours, "yours"}, {Kopshook, "kopshook"}, {Kops, "kops"}} {
		p.rect(&p.above, "box"+string(o.owner), x, 40, 16, 14, 3)
		p.rect(&p.above, "bar"+string(o.owner), x, 40, 4, 14, 1.5)
		p.text("note", x+22, 51, o.text)
		x += 22 + noteFace.width(o.text) + 26
	}
	x = laneB + 40
	for _, o := range []struct{ class, text string }{{"everysoft", "on every boot"}, {"dotsoft", "on the first boot"}} {
		p.circle(o.class, x+8, 70.5)
		p.text("note", x+22, 75, o.text)
		x += 22 + noteFace.width(o.text) + 18
	}
	p.rect(&p.above, "barblock", x+4, 65, 4, 11, 1)
	p.text("note", x+16, 75, "if it fails, the node does not join")
	return p.verdict(92) + 30
}

// verdict is a banner across the page with what becomes of the machines, red where nobody wants that.
func (p *painter) verdict(y float64) (below float64) {
	const pad = 16.0
	lines := verdictFace.wrap(p.t.headline(), pageWidth-2*margin-2*pad)
	if len(lines) == 0 {
		return y - 10
	}
	class := ""
	switch {
	case p.t.Verdict.Bad():
		class = "bad"
	case p.t.late():
		class = "late"
	}
	h := 17 + 20*float64(len(lines))
	p.rect(&p.below, "banner"+class, margin, y, pageWidth-2*margin, h, 8)
	for i, l := range lines {
		p.text("verdict"+class, margin+pad, y+24+20*float64(i), l)
	}
	return y + h
}

// marker is a line across the page at which the machine has come further.
func (p *painter) marker(y float64, text string) float64 {
	y += 26
	right := pageWidth - margin
	width := markFace.width(text)
	p.path("mark", false, margin, y, right-width-10, y)
	p.text("marktext", right, y+4, text)
	return y
}
