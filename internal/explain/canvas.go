package explain

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// canvas collects the elements of a picture. It keeps the order in which they are drawn in two layers: what lies below
// (bands, lines), and what lies above (boxes, text).
type canvas struct {
	below, above strings.Builder
	id           string // makes ids unique on a page with several pictures
	bottom       float64
}

func (c *canvas) reach(y float64) { c.bottom = max(c.bottom, y) }

func (c *canvas) rect(layer *strings.Builder, class string, x, y, w, h, r float64) {
	fmt.Fprintf(layer, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`+"\n", class, num(x), num(y), num(w), num(h), num(r))
	c.reach(y + h)
}

func (c *canvas) text(class string, x, y float64, s string) {
	if s == "" {
		return
	}
	fmt.Fprintf(&c.above, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, num(x), num(y), html.EscapeString(clean(s)))
	c.reach(y)
}

// circle is filled for every boot, hollow for the first.
func (c *canvas) circle(class string, x, y float64) {
	fmt.Fprintf(&c.above, `<circle class="%s" cx="%s" cy="%s" r="4.5"/>`+"\n", class, num(x), num(y))
}

// path draws a line through points, with rounded corners, below everything.
func (c *canvas) path(class string, arrow bool, points ...float64) {
	var d strings.Builder
	const r = 8
	for i := 0; i+1 < len(points); i += 2 {
		x, y := points[i], points[i+1]
		switch {
		case i == 0:
			fmt.Fprintf(&d, "M%s %s", num(x), num(y))
		case i+3 >= len(points):
			fmt.Fprintf(&d, "L%s %s", num(x), num(y))
		default:
			bx, by := towards(x, y, points[i-2], points[i-1], r)
			ax, ay := towards(x, y, points[i+2], points[i+3], r)
			fmt.Fprintf(&d, "L%s %sQ%s %s %s %s", num(bx), num(by), num(x), num(y), num(ax), num(ay))
		}
		c.reach(y)
	}
	end := ""
	if arrow {
		end = fmt.Sprintf(` marker-end="url(#%sarrow)"`, c.id)
	}
	fmt.Fprintf(&c.below, `<path class="%s" d="%s"%s/>`+"\n", class, d.String(), end)
}

// towards returns the point r away from (x,y) in the direction of (tx,ty).
func towards(x, y, tx, ty, r float64) (float64, float64) {
	dx, dy := tx-x, ty-y
	length := max(abs(dx), abs(dy))
	if length == 0 {
		return x, y
	}
	r = min(r, length/2)
	return x + dx/length*r, y + dy/length*r
}

func abs(f float64) float64 { return max(f, -f) }

// num prints a coordinate without needless digits.
func num(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", f), "0"), ".")
}

// clean takes out what XML does not allow.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' || r == utf8.RuneError || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, s)
}

// style is that of all pictures. Names begin with kh, since a page may hold others.
const style = `.kh{--ink:#1c2430;--soft:#566171;--faint:#646e7d;--page:#ffffff;--band:#f4f6f9;--line:#d5dbe4;--box:#ffffff;--wait:#7d8898;--yours:#a05f00;--yoursbg:#fff7e8;--kopshook:#0b7f74;--kopshookbg:#e9f7f5;--kops:#3a5fcd;--kopsbg:#edf1fd;--bad:#c0281e;--badbg:#fdeeec}
@media screen and (prefers-color-scheme:dark){.kh{--ink:#e6ebf2;--soft:#a3aebd;--faint:#94a0b0;--page:#12161d;--band:#191f29;--line:#2e3744;--box:#1d2430;--wait:#8591a3;--yours:#f0b354;--yoursbg:#2b2416;--kopshook:#4fd1c1;--kopshookbg:#13292a;--kops:#8ea8ff;--kopsbg:#1b2340;--bad:#ff8b80;--badbg:#331b1b}}
.kh text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:var(--ink)}
.kh .page{fill:var(--page)}.kh .band{fill:var(--band)}
.kh .title{font-size:26px;font-weight:650}.kh .sub{font-size:13.5px;fill:var(--soft)}
.kh .lane{font-size:12px;font-weight:650;letter-spacing:.06em;fill:var(--soft);text-transform:uppercase}
.kh .stage{font-size:13px;font-weight:600;fill:var(--ink)}.kh .note{font-size:12px;fill:var(--soft)}
.kh .name{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:13px;font-weight:600}
.kh .detail{font-size:12px;fill:var(--soft)}.kh .place{font-size:11px;fill:var(--faint);text-anchor:end}
.kh .fails{font-size:11.5px;fill:var(--soft)}.kh .failsblock{font-size:11.5px;fill:var(--ink)}.kh .failsbad{font-size:11.5px;fill:var(--bad)}
.kh .boxyours{fill:var(--yoursbg);stroke:var(--yours)}.kh .boxkopshook{fill:var(--kopshookbg);stroke:var(--kopshook)}.kh .boxkops{fill:var(--kopsbg);stroke:var(--kops)}
.kh .boxyours,.kh .boxkopshook,.kh .boxkops{stroke-width:1;stroke-opacity:.55}.kh .beside{stroke-dasharray:5 3;stroke-opacity:.8}
.kh .baryours{fill:var(--yours)}.kh .barkopshook{fill:var(--kopshook)}.kh .barkops{fill:var(--kops)}.kh .barbad{fill:var(--bad)}.kh .barblock{fill:var(--ink)}
.kh .dotyours{stroke:var(--yours)}.kh .dotkopshook{stroke:var(--kopshook)}.kh .dotkops{stroke:var(--kops)}
.kh circle{stroke-width:1.6;fill:none}.kh circle.everyyours{fill:var(--yours);stroke:var(--yours)}.kh circle.everykopshook{fill:var(--kopshook);stroke:var(--kopshook)}.kh circle.everykops{fill:var(--kops);stroke:var(--kops)}
.kh circle.everysoft{fill:var(--soft);stroke:var(--soft)}.kh circle.dotsoft{stroke:var(--soft)}
.kh path{fill:none;stroke:var(--wait);stroke-width:1.5}.kh path.then{stroke-width:2}.kh path.dash{stroke-dasharray:4 4}.kh path.head{fill:var(--wait);stroke:none}
.kh path.gate{stroke:var(--ink);stroke-width:2.5}.kh .gatetext{font-size:12px;font-weight:600;fill:var(--ink)}
.kh path.mark{stroke-width:1.2;stroke-dasharray:2 4}.kh .marktext{font-size:11.5px;text-anchor:end;fill:var(--faint)}
.kh .banner{fill:var(--band);stroke:var(--line)}.kh .bannerbad{fill:var(--badbg);stroke:var(--bad)}.kh .bannerlate{fill:var(--yoursbg);stroke:var(--yours)}.kh .verdict{font-size:15px;font-weight:650}.kh .verdictbad{font-size:15px;font-weight:650;fill:var(--bad)}.kh .verdictlate{font-size:15px;font-weight:650;fill:var(--yours)}
.kh .losttitle{font-size:13px;font-weight:650;fill:var(--bad)}.kh .lost{fill:var(--badbg);stroke:var(--bad);stroke-opacity:.5}
@media print{:root.kh{width:100vw;height:100vh;print-color-adjust:exact;-webkit-print-color-adjust:exact}}
.kh .wait{fill:var(--kopshookbg);stroke:var(--kopshook)}.kh .limitbar{fill:var(--ink)}.kh .track{fill:var(--line);stroke:var(--wait)}.kh .limit{stroke:var(--ink)}`
