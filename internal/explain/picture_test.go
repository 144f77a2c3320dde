package explain

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
)

// faces of the classes, with the way they are anchored.
var faces = map[string]struct {
	face
	end bool
}{
	"title": {titleFace, false}, "sub": {subFace, false}, "lane": {stageFace, false}, "stage": {stageFace, false}, "note": {noteFace, false},
	"name": {nameFace, false}, "detail": {detailFace, false}, "fails": {failsFace, false}, "failsbad": {failsFace, false}, "failsblock": {failsFace, false}, "verdict": {verdictFace, false}, "verdictbad": {verdictFace, false}, "verdictlate": {verdictFace, false},
	"place": {placeFace, true}, "marktext": {markFace, true}, "gatetext": {gateTextFace, false}, "losttitle": {stageFace, false},
}

func TestSizesOfTextAreThoseOfTheStyle(t *testing.T) {
	for class, f := range faces {
		_, rule, ok := strings.Cut(style, "."+class+"{")
		rule, _, _ = strings.Cut(rule, "}")
		want := "font-size:" + strconv.FormatFloat(f.size, 'f', -1, 64) + "px"
		if class == "lane" { // smaller, but spaced and in capitals
			want = "font-size:12px"
		}
		if !ok || !strings.Contains(rule, want) || strings.Contains(rule, "text-anchor:end") != f.end || strings.Contains(rule, "font-weight") != f.bold && !f.mono {
			t.Errorf(".%s{%s}: want %s, as in measure.go", class, rule, want)
		}
	}
}

func TestPicturesHaveNoTextUponText(t *testing.T) {
	long := strings.Repeat("w", 70)
	for name, in := range map[string]Input{
		"every phase": everyPhase(t, "gce"),
		"broken":      brokenByOthers(t),
		"plain":       example(t, nil),
		"pre-kubelet alone": example(t, theirs[:2],
			hook("agent", generator.PreKubelet)),
		"post-nodeup alone": example(t, nil, hook("register", generator.PostNodeup), hook("drain", generator.PreShutdown)),
		"long names": example(t, []cloudinit.Part{
			{Name: long + ".sh", Type: cloudinit.TypeShellScript, Content: "#!/bin/sh\n"},
			{Name: "a.yaml", Type: cloudinit.TypeCloudConfig, Content: "bootcmd: [" + long + "]\nwrite_files: [{path: /" + long + "}]\npackages: [" + long + "]\n"},
			{Name: "b.yaml", Type: cloudinit.TypeCloudConfig, Content: "bootcmd: [" + long + "]\nntp: " + long + "\n"}},
			hook(strings.Repeat("m", 40), generator.PreNodeup), hook(strings.Repeat("w", 40), generator.PreKubelet)),
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := SVG(&b, Make(in)); err != nil {
				t.Fatal(err)
			}
			texts := drawn(t, b.Bytes())
			for i, a := range texts {
				if a.left < 0 || a.right > pageWidth {
					t.Errorf("%q leaves the page: %.0f to %.0f", a.text, a.left, a.right)
				}
				for _, b := range texts[i+1:] {
					if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
						t.Errorf("%q and %q are at the same place", a.text, b.text)
					}
				}
			}
		})
	}
}

type placed struct {
	text                     string
	left, right, top, bottom float64
}

// drawn returns the texts of a picture and where they are, without what reaches below their lines.
func drawn(t *testing.T, svg []byte) []placed {
	t.Helper()
	var doc struct {
		Texts []struct {
			Class string  `xml:"class,attr"`
			X     float64 `xml:"x,attr"`
			Y     float64 `xml:"y,attr"`
			Text  string  `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal(svg, &doc); err != nil {
		t.Fatal(err)
	}
	var texts []placed
	for _, e := range doc.Texts {
		f, ok := faces[e.Class]
		if !ok {
			t.Fatal(fmt.Errorf("no face for %s", e.Class))
		}
		p := placed{e.Text, e.X, e.X + f.width(e.Text), e.Y - f.size*0.75, e.Y}
		if f.end {
			p.left, p.right = e.X-f.width(e.Text), e.X
		}
		texts = append(texts, p)
	}
	if len(texts) < 10 {
		t.Fatalf("only %d texts", len(texts))
	}
	return texts
}
