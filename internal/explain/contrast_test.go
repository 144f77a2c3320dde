package explain

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the Web Content Accessibility Guidelines 2.2 ask for at least, of small text (1.4.3) and of marks that mean something
// (1.4.11). Rules of tables, the borders of plain boxes and banners and the tints mean nothing that bars and words do not say.
const (
	ofText  = 4.5
	ofMarks = 3.0
)

func TestColorsHaveContrast(t *testing.T) {
	const boxes = ".boxyours .boxkopshook .boxkops"
	covered := map[string]bool{}
	for _, row := range []struct {
		css, element, selectors, property, on string
		least                                 float64
	}{
		{style, "text", ".title .sub .lane .stage .note .marktext .gatetext", "fill", ".page", ofText},
		{style, "text", ".name .detail .place .fails .failsblock", "fill", boxes, ofText},
		{style, "text", ".name .detail .place .stage .note .failsbad", "fill", ".band", ofText},
		{style, "text", ".name .detail .place .losttitle", "fill", ".lost", ofText},
		{style, "text", ".verdict", "fill", ".banner", ofText},
		{style, "text", ".verdictbad", "fill", ".bannerbad", ofText},
		{style, "text", ".verdictlate", "fill", ".bannerlate", ofText},

		{style, "", ".baryours .barblock", "fill", ".page .boxyours", ofMarks},
		{style, "", ".barkopshook .barblock", "fill", ".page .boxkopshook", ofMarks},
		{style, "", ".barkops .barblock", "fill", ".page .boxkops", ofMarks},
		{style, "circle", "circle.everyyours .dotyours", "stroke", ".boxyours", ofMarks},
		{style, "circle", "circle.everykopshook .dotkopshook", "stroke", ".boxkopshook", ofMarks},
		{style, "circle", "circle.everykops .dotkops", "stroke", ".boxkops", ofMarks},
		{style, "circle", "circle.everysoft circle.dotsoft", "stroke", ".page", ofMarks},
		{style, ".boxyours", ".beside", "stroke", ".page .boxyours", ofMarks}, // is dashed
		{style, ".boxkopshook", ".beside", "stroke", ".page .boxkopshook", ofMarks},
		{style, ".boxkops", ".beside", "stroke", ".page .boxkops", ofMarks},
		{style, "", ".baryours .barkopshook .barkops .barbad", "fill", ".band .track", ofMarks},
		{style, "", ".track .wait", "stroke", ".band", ofMarks},
		{style, "", ".barkopshook .limitbar", "fill", ".wait", ofMarks},
		{style, "", ".limitbar", "fill", ".band", ofMarks},
		{style, "path", "path path.then path.dash path.mark path.gate", "stroke", ".page", ofMarks},
		{style, "path", "path.head", "fill", ".page", ofMarks},
		{style, "", ".bannerbad .bannerlate", "stroke", ".page", ofMarks},

		{pageStyle, "", "body th .soft .yours .kopshook .kops .bad .late", "color", "body", ofText},
		{pageStyle, "", "nav__a nav__.bad nav__.late", "color", "nav", ofText},
	} {
		rules := rulesOf(row.css)
		for scheme, colors := range colorsOf(t, row.css) {
			for selector := range strings.FieldsSeq(row.selectors) {
				covered[strings.TrimPrefix(selector, ".")] = true
				for on := range strings.FieldsSeq(row.on) {
					ground := rgbOf(t, colors, cmp.Or(rules[on]["fill"], rules[on]["background"]))
					value := func(property string) string {
						return cmp.Or(rules[strings.ReplaceAll(selector, "__", " ")][property], rules[row.element][property])
					}
					color := rgbOf(t, colors, value(row.property))
					if o := value(row.property + "-opacity"); o != "" {
						share, err := strconv.ParseFloat(o, 64)
						if err != nil {
							t.Fatal(err)
						}
						for i := range color {
							color[i] = share*color[i] + (1-share)*ground[i]
						}
					}
					if got := contrast(color, ground); got < row.least {
						t.Errorf("%s, %s of %s %s on %s: contrast %.2f, want %v", scheme, row.property, row.element, selector, on, got, row.least)
					}
				}
			}
		}
	}
	for class := range faces {
		if !covered[class] {
			t.Errorf("no row for text of class %s", class)
		}
	}
}

var (
	cssRule     = regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	cssVariable = regexp.MustCompile(`--(\w+):(#[0-9a-f]{6})`)
)

// rulesOf returns the properties of each selector, without what is only for some media.
func rulesOf(css string) map[string]map[string]string {
	rules := map[string]map[string]string{}
	for line := range strings.Lines(css) {
		if strings.HasPrefix(line, "@media") {
			continue
		}
		for _, rule := range cssRule.FindAllStringSubmatch(line, -1) {
			for selector := range strings.SplitSeq(rule[1], ",") {
				selector = strings.TrimPrefix(strings.TrimSpace(selector), ".kh ")
				if rules[selector] == nil {
					rules[selector] = map[string]string{}
				}
				for declaration := range strings.SplitSeq(rule[2], ";") {
					property, value, _ := strings.Cut(declaration, ":")
					rules[selector][property] = value
				}
			}
		}
	}
	return rules
}

// colorsOf returns the colors by name, light and dark: a style begins with these two lines.
func colorsOf(t *testing.T, css string) map[string]map[string]string {
	lines := strings.SplitN(css, "\n", 3)
	if !strings.Contains(lines[1], "prefers-color-scheme:dark") {
		t.Fatalf("the second line does not have the dark colors: %s", lines[1])
	}
	schemes := map[string]map[string]string{"light": {}, "dark": {}}
	for i, scheme := range []string{"light", "dark"} {
		for _, v := range cssVariable.FindAllStringSubmatch(lines[i], -1) {
			schemes[scheme][v[1]] = v[2]
		}
	}
	return schemes
}

// rgbOf returns red, green and blue, from 0 to 1, of var(--name).
func rgbOf(t *testing.T, colors map[string]string, value string) (rgb [3]float64) {
	t.Helper()
	name, _ := strings.CutPrefix(strings.TrimSuffix(value, ")"), "var(--")
	n, err := strconv.ParseUint(strings.TrimPrefix(colors[name], "#"), 16, 24)
	if err != nil {
		t.Fatalf("no color %q: %v", value, err)
	}
	for i := range rgb {
		rgb[i] = float64(n>>(16-8*i)&0xff) / 255
	}
	return rgb
}

// contrast is that of the guidelines, from 1 to 21.
func contrast(a, b [3]float64) float64 {
	luminance := func(rgb [3]float64) float64 {
		for i, v := range rgb {
			if v <= 0.04045 {
				rgb[i] = v / 12.92
			} else {
				rgb[i] = math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2]
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
