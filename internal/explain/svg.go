package explain

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
)

// The picture has three lanes: what cloud-init does, hooks, and what kops does. Time goes down.
const (
	pageWidth = 1060.0
	margin    = 36.0

	laneA, widthA = margin, 356.0
	laneB, widthB = 424.0, 316.0
	laneC, widthC = 772.0, 252.0

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
	p.text("lane", laneA, top, "cloud-init")
	y := top + 4
	for _, id := range []string{StageInit, StageConfig} {
		if s := p.stage(id); s != nil {
			y, _, _ = p.column(*s, laneA, widthA, y)
		}
	}
	// beside them there is room: hooks and kops come later
	y = max(y, p.lost(p.size(top+12)))

	late := &Stage{}
	var nodeup box
	if s := p.stage(StageFinal); s != nil {
		y = p.marker(y, "sysinit.target · network-online.target · multi-user.target")
		if p.t.Role != "Bastion" {
			p.text("lane", laneB, y+26, "hooks")
			p.text("lane", laneC, y+26, "kops")
		}
		now := *s
		now.Steps, late.Steps = splitLate(s.Steps)
		y, _, nodeup = p.column(now, laneA, widthA, y+4)
	}
	if p.t.Role != "Bastion" && p.stage(StageNodeup) != nil {
		p.kops(nodeup, late, y)
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
	p.text("title", margin, 52, p.t.title())
	sub := []string{}
	for _, s := range []string{p.t.Cluster, p.t.Role} {
		if s != "" {
			sub = append(sub, s)
		}
	}
	sub = append(sub, "cloud-init "+p.t.CloudInit)
	p.text("sub", margin, 74, strings.Join(sub, "  ·  "))
	x := laneB + 40
	for _, o := range []struct {
		owner Owner
		text  string
	}{{Yours, "yours"}, {Kopshook, "kopshook"}, {Kops, "kops"}} {
		p.rect(&p.above, "box"+string(o.owner), x, 40, 16, 14, 3)
		p.rect(&p.above, "bar"+string(o.owner), x, 40, 4, 14, 1.5)
		p.text("note", x+22, 51, o.text)
		x += 96
	}
	x = laneB + 40
	p.circle("everysoft", x+8, 70)
	p.text("note", x+22, 74, "on every boot")
	p.circle("dotsoft", x+8+118, 70)
	p.text("note", x+22+118, 74, "on the first boot")
	p.rect(&p.above, "barbad", x+258, 65, 4, 11, 1)
	p.text("note", x+270, 74, "if it fails, the node does not join")

	return 112
}

// marker is a line across the page at which the machine has come further.
func (p *painter) marker(y float64, text string) float64 {
	y += 26
	right := pageWidth - margin
	textWidth := float64(utf8.RuneCountInString(text)) * 5.7
	p.path("mark", false, margin, y, right, y)
	p.rect(&p.below, "page", right-textWidth-12, y-7, textWidth+12, 14, 0)
	p.text("marktext", right-textWidth-4, y+4, text)
	return y
}

// box is where a step was drawn.
type box struct{ x, y, w, h float64 }

func (b box) middle() float64 { return b.y + b.h/2 }
func (b box) bottom() float64 { return b.y + b.h }
func (b box) right() float64  { return b.x + b.w }

// column draws a stage's title and its steps below each other. It returns the y below them, and the first and last box.
func (p *painter) column(s Stage, x, w, y float64) (below float64, first, last box) {
	if s.Title != "" {
		p.text("stage", x, y+21, s.Title)
		p.text("note", x, y+37, cut(s.Note, int(w/5.6)))
		y += stageTop
	}
	for i, st := range s.Steps {
		b := p.step(st, x, w, y)
		if i > 0 {
			p.path("then", false, x+18, last.bottom(), x+18, b.y)
		} else {
			first = b
		}
		last = b
		y = b.bottom() + gap
	}
	return y, first, last
}

// step draws one box: its name and place, details, and what happens when it fails.
func (p *painter) step(s Step, x, w, y float64) box {
	chars := func(width, per float64) int { return int(width / per) }
	inner := w - 2*boxPad - 18
	detail := s.Detail
	if detail == "" && s.What != "kops" {
		detail = s.What
	}
	fails := wrap("fails: "+s.Fails, chars(inner, 5.45))
	if s.Fails == "" {
		fails = nil
	}
	h := 28.0 + 16 + float64(len(fails))*14
	if detail == "" {
		h -= 16
	}
	class := "box" + string(s.Owner)
	if s.Beside {
		class += " beside"
	}
	p.rect(&p.above, class, x, y, w, h, 6)
	p.rect(&p.above, "bar"+string(s.Owner), x, y+3, 4, h-6, 2)
	dot := "dot"
	if s.EveryBoot {
		dot = "every"
	}
	p.circle(dot+string(s.Owner), x+boxPad+4, y+16)
	place := base(s.Place)
	if s.Place == "" {
		place = ""
	}
	nameRoom := inner
	if place != "" {
		place = cut(place, chars(inner*0.45, 5.6))
		nameRoom -= float64(utf8.RuneCountInString(place))*5.6 + 10
		p.text("place", x+w-boxPad, y+20, place)
	}
	tx := x + boxPad + 16
	p.text("name", tx, y+20, cut(s.Name, chars(nameRoom, 7.55)))
	line := y + 36
	if detail != "" {
		p.text("detail", tx, line, cut(detail, chars(inner, 5.6)))
		line += 15
	}
	failClass := "fails"
	if s.Blocks {
		failClass = "failsbad"
		p.rect(&p.above, "barbad", x+w-4, y+3, 4, h-6, 2)
	}
	for _, l := range fails {
		p.text(failClass, tx, line, l)
		line += 14
	}
	return box{x, y, w, h}
}

// Where arrows go down: beside the boxes of the hooks, and behind the titles of kops' units.
const (
	channelB = laneB - 20
	channelC = laneC + widthC - 22
)

// kops draws everything that follows nodeup.sh.
func (p *painter) kops(nodeup box, late *Stage, y float64) float64 {
	start := nodeup.bottom() + 14
	left := start
	if len(late.Steps) > 0 {
		late.Title, late.Note = "cloud-init, final stage, goes on", "beside nodeup; nothing waits for these"
		p.path("then dash", false, laneA+18, nodeup.bottom(), laneA+18, start+4)
		left, _, _ = p.column(*late, laneA, widthA, start)
	}
	left = p.reboot(left + 16)

	// nodeup waits for its hooks
	nodeupY := start
	if s := p.stage(StagePreNodeup); s != nil {
		hooks, first, _ := p.column(*s, laneB, widthB, start)
		nodeupY = hooks + 8
		p.path("", true, nodeup.right(), nodeup.middle(), channelB, nodeup.middle(), channelB, first.middle(), laneB-2, first.middle())
		p.path("dash", false, nodeup.right(), nodeup.middle(), channelC, nodeup.middle(), channelC, nodeupY-2)
		p.text("stage", laneC, start+21, "kops-configuration.service")
		p.text("note", laneC, start+37, "is started, and waits")
		nodeupY = p.gate(nodeupY, "nodeup waits for all pre-nodeup hooks")
	} else {
		p.path("", true, nodeup.right(), nodeup.middle(), channelC, nodeup.middle(), channelC, nodeupY+stageTop-2)
	}

	// nodeup, and beside it the hooks that only the kubelet waits for
	below, _, nodeupBox := p.column(*p.stage(StageNodeup), laneC, widthC, nodeupY)
	kubeletY := below + 4
	if s := p.stage(StagePreKubelet); s != nil {
		hooks, first, _ := p.column(*s, laneB, widthB, nodeupY)
		kubeletY = max(kubeletY, hooks) + 6
		p.path("", true, channelB, nodeupY, channelB, first.middle(), laneB-2, first.middle())
		p.path("dash", false, channelC, nodeupBox.bottom(), channelC, kubeletY-2)
		kubeletY = p.gate(kubeletY, "the kubelet waits for all pre-kubelet hooks")
	} else {
		p.path("", true, channelC, nodeupBox.bottom(), channelC, kubeletY+stageTop-2)
	}
	right := kubeletY
	if s := p.stage(StagePostNodeup); s != nil {
		var first box
		right, first, _ = p.column(*s, laneB, widthB, kubeletY)
		turn := laneC - 16
		p.path("", true, nodeupBox.x, nodeupBox.middle(), turn, nodeupBox.middle(), turn, first.middle(), first.right()+2, first.middle())
	}
	below, _, kubelet := p.column(*p.stage(StageKubelet), laneC, widthC, kubeletY)
	if s := p.stage(StagePostKubelet); s != nil {
		var first box
		right, first, _ = p.column(*s, laneB, widthB, max(right, kubelet.y-stageTop))
		turn := laneC - 9
		p.path("", true, kubelet.x, kubelet.middle(), turn, kubelet.middle(), turn, first.middle(), first.right()+2, first.middle())
	}
	y = max(below, right, left, y)
	if s := p.stage(StageShutdown); s != nil {
		y = p.marker(y, "the node runs, until it is shut down")
		hooks, _, last := p.column(*s, laneB, widthB, y)
		stop := Step{Name: "kubelet", Owner: Kops, What: "kops", EveryBoot: true, Detail: "is stopped then"}
		b := p.step(stop, laneC, widthC, last.y)
		p.path("", true, last.right(), b.middle(), b.x-2, b.middle())
		y = max(hooks, b.bottom()+gap)
	}
	return y
}

// reboot says what is different when the machine boots again.
func (p *painter) reboot(y float64) float64 {
	lines := []string{
		"cloud-init does what is marked ● again, nodeup.sh not.",
		"systemd starts nodeup and the kubelet at the same time.",
	}
	if p.t.Hooks > 0 {
		lines = append(lines, "Both wait for their hooks again: those marked ● run, the others are through at once.")
	}
	var wrapped []string
	for _, l := range lines {
		wrapped = append(wrapped, wrap(l, 56)...)
	}
	h := 34 + float64(len(wrapped))*15
	p.rect(&p.below, "band", laneA, y, widthA, h, 8)
	p.text("stage", laneA+boxPad, y+22, "after a reboot")
	for i, l := range wrapped {
		p.text("detail", laneA+boxPad, y+40+float64(i)*15, l)
	}
	return y + h
}

// gate is what keeps nodeup or the kubelet from starting.
func (p *painter) gate(y float64, text string) (below float64) {
	p.path("gate", false, channelB, y, laneC+widthC, y)
	p.text("gatetext", laneB, y+17, text)
	return y + 24
}

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
	const chars = int(panelWidth-2*16) / 6
	h := 34.0
	for _, l := range p.t.Lost {
		h += 20 + float64(len(wrap(l.Why, chars+6)))*15
	}
	p.rect(&p.above, "lost", panelX, y, panelWidth, h, 8)
	p.text("losttitle", panelX+16, y+24, "lost or changed on the way to the node")
	line := y + 46
	for _, l := range p.t.Lost {
		place := ""
		if l.Place != "" {
			place = base(l.Place)
		}
		p.text("name", panelX+16, line, cut(l.What, 60))
		p.text("place", panelX+panelWidth-16, line, cut(place, 24))
		line += 15
		for _, s := range wrap(l.Why, chars+6) {
			p.text("detail", panelX+16, line, s)
			line += 15
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
		items = append(items, fmt.Sprintf("%s %s", itemName(it), thousands(it.Bytes)))
	}
	legend := wrapItems(items, 95)
	h := 96 + float64(len(legend))*15
	p.rect(&p.below, "band", panelX, y, panelWidth, h, 8)
	p.text("stage", panelX+pad, y+24, "size of the user data")
	estimate := ""
	if !s.Exact {
		estimate = " (kops' script at its largest)"
	}
	p.text("note", panelX+pad, y+42, fmt.Sprintf("%s of %s bytes that %s takes: %d %%%s", thousands(s.High), thousands(s.Limit.Bytes), s.Limit.Cloud, s.High*100/s.Limit.Bytes, estimate))
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
		p.text("detail", panelX+pad, bar+36+float64(i)*15, l)
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

// wrapItems joins items with dots into lines of at most n characters.
func wrapItems(items []string, n int) []string {
	var lines []string
	for _, it := range items {
		if last := len(lines) - 1; last >= 0 && utf8.RuneCountInString(lines[last])+utf8.RuneCountInString(it)+5 <= n {
			lines[last] += "  ·  " + it
			continue
		}
		lines = append(lines, it)
	}
	return lines
}
