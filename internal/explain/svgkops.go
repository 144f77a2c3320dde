package explain

// Where arrows go down: beside the boxes of the hooks, and behind the titles of kops' units.
const (
	channelB = laneB - 20
	channelC = laneC + widthC - 22
	turn     = laneC - 16 // from kops' units back to the hooks
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
	nodeupY, gateY := start, nodeup.middle()
	if s := p.stage(StagePreNodeup); s != nil {
		hooks, first, _ := p.column(*s, laneB, widthB, start)
		nodeupY = hooks + 8
		p.path("", true, nodeup.right(), nodeup.middle(), channelB, nodeup.middle(), channelB, first.middle(), laneB-2, first.middle())
		p.path("dash", false, nodeup.right(), nodeup.middle(), channelC, nodeup.middle(), channelC, nodeupY-2)
		p.text("stage", laneC, start+21, "kops-configuration.service")
		p.text("note", laneC, start+37, "is started, and waits")
		gateY = nodeupY
		nodeupY = p.gate(gateY, "nodeup waits for all pre-nodeup hooks", false)
	} else {
		p.path("", true, nodeup.right(), nodeup.middle(), channelC, nodeup.middle(), channelC, nodeupY+stageTop-2)
	}

	// nodeup, and beside it the hooks that only the kubelet waits for
	below, _, nodeupBox := p.column(*p.stage(StageNodeup), laneC, widthC, nodeupY)
	kubeletY := below + 4
	if s := p.stage(StagePreKubelet); s != nil {
		hooks, first, _ := p.column(*s, laneB, widthB, nodeupY)
		kubeletY = max(kubeletY, hooks) + 6
		if !s.Steps[0].Never { // nothing leads to what never runs
			p.path("", true, channelB, gateY, channelB, first.middle(), laneB-2, first.middle())
		}
		p.path("dash", false, channelC, nodeupBox.bottom(), channelC, kubeletY-2)
		kubeletY = p.gate(kubeletY, "the kubelet waits for all pre-kubelet hooks", p.stage(StagePostNodeup) != nil)
	} else if !p.stage(StageKubelet).Steps[0].Never {
		p.path("", true, channelC, nodeupBox.bottom(), channelC, kubeletY+stageTop-2)
	}
	right := kubeletY
	if s := p.stage(StagePostNodeup); s != nil {
		var first box
		right, first, _ = p.column(*s, laneB, widthB, kubeletY)
		if !s.Steps[0].Never {
			p.path("", true, nodeupBox.x, nodeupBox.middle(), turn, nodeupBox.middle(), turn, first.middle(), first.right()+2, first.middle())
		}
	}
	below, _, kubelet := p.column(*p.stage(StageKubelet), laneC, widthC, kubeletY)
	if s := p.stage(StagePostKubelet); s != nil {
		var first box
		right, first, _ = p.column(*s, laneB, widthB, max(right, kubelet.y-stageTop))
		if !s.Steps[0].Never {
			p.path("", true, kubelet.x, kubelet.middle(), turn+7, kubelet.middle(), turn+7, first.middle(), first.right()+2, first.middle())
		}
	}
	y = max(below, right, left, y)
	if s := p.stage(StageShutdown); s != nil {
		if s.Steps[0].Never {
			below, _, _ = p.column(*s, laneB, widthB, y)
			return below
		}
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
		"cloud-init repeats what is marked ●, not nodeup.sh.",
		"systemd starts nodeup and the kubelet at once.",
	}
	if p.t.Hooks > 0 {
		lines = append(lines, "Both wait for their hooks again: those marked ● run, the others are through at once.")
	}
	var wrapped []string
	for _, l := range lines {
		wrapped = append(wrapped, detailFace.wrap(l, widthA-2*boxPad)...)
	}
	h := 34 + float64(len(wrapped))*15
	p.rect(&p.below, "band", laneA, y, widthA, h, 8)
	p.text("stage", laneA+boxPad, y+22, "after a reboot")
	for i, l := range wrapped {
		p.text("detail", laneA+boxPad, y+40+float64(i)*15, l)
	}
	return y + h
}

// gate is what keeps nodeup or the kubelet from starting. It is open for the arrow to hooks that do not wait for it.
func (p *painter) gate(y float64, text string, open bool) (below float64) {
	if open {
		p.path("gate", false, channelB, y, turn-8, y)
		p.path("gate", false, turn+8, y, laneC+widthC, y)
	} else {
		p.path("gate", false, channelB, y, laneC+widthC, y)
	}
	p.text("gatetext", laneB, y+17, text)
	return y + 24
}
