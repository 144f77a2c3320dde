package explain

// box is where a step was drawn.
type box struct{ x, y, w, h float64 }

func (b box) middle() float64 { return b.y + b.h/2 }
func (b box) bottom() float64 { return b.y + b.h }
func (b box) right() float64  { return b.x + b.w }

// column draws a stage's title and its steps below each other. It returns the y below them, and the first and last box.
func (p *painter) column(s Stage, x, w, y float64) (below float64, first, last box) {
	if s.Title != "" {
		p.text("stage", x, y+21, s.Title)
		p.text("note", x, y+37, noteFace.cut(s.Note, w))
		y += stageTop
	}
	for i, st := range s.Steps {
		b := p.step(st, x, w, y)
		if i > 0 && !st.Never {
			p.path("then", false, x+18, last.bottom(), x+18, b.y)
		} else if i == 0 {
			first = b
		}
		last = b
		y = b.bottom() + gap
	}
	return y, first, last
}

// step draws one box: its name and place, details, and what happens when it fails.
func (p *painter) step(s Step, x, w, y float64) box {
	inner := w - (boxPad + 16) - 10
	detail := s.detail()
	fails := failsFace.wrap("if it fails: "+s.Fails, inner)
	if s.Fails == "" {
		fails = nil
	}
	also := failsFace.wrap(s.Also, inner)
	h := 46.0 + float64(len(fails)+len(also))*15
	if detail == "" {
		h -= 17
	}
	class := "box" + string(s.Owner)
	if s.Beside || s.Never {
		class += " beside"
	}
	p.rect(&p.above, class, x, y, w, h, 6)
	p.rect(&p.above, "bar"+string(s.Owner), x, y+3, 4, h-6, 2)
	dot := "dot"
	if s.EveryBoot {
		dot = "every"
	}
	if !s.Never {
		p.circle(dot+string(s.Owner), x+boxPad+4, y+16)
	}
	place := base(s.Place)
	if s.Place == "" {
		place = ""
	}
	nameRoom := inner
	if place != "" {
		place = placeFace.cut(place, inner*0.45)
		nameRoom -= placeFace.width(place) + 10
		p.text("place", x+w-boxPad, y+20, place)
	}
	tx := x + boxPad + 16
	p.text("name", tx, y+20, nameFace.cut(s.Name, nameRoom))
	line := y + 37
	if detail != "" {
		class := "detail"
		if s.Ends {
			class = "failsbad"
		}
		p.text(class, tx, line, detailFace.cut(detail, inner))
		line += 16
	}
	for _, l := range also {
		p.text("fails", tx, line, l)
		line += 15
	}
	failClass := "fails"
	if s.Blocks {
		failClass = "failsblock"
		p.rect(&p.above, "barblock", x+w-4, y+3, 4, h-6, 2)
	}
	for _, l := range fails {
		p.text(failClass, tx, line, l)
		line += 15
	}
	return box{x, y, w, h}
}
