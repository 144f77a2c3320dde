package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
)

// turns are the characters that turn the direction of the text behind them, so that it is read in another order than the
// shell reads it (Unicode's UAX 9, 2.1 to 2.5; CVE-2021-42574).
const turns = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// checkDirection looks for them in a text, and tells the first of each line.
func checkDirection(p adder, text string, place func(line, col int) report.Position) {
	if !strings.ContainsAny(text, turns) {
		return
	}
	for i, line := range strings.Split(text, "\n") {
		at := strings.IndexAny(line, turns)
		if at < 0 {
			continue
		}
		char, _ := utf8.DecodeRuneInString(line[at:])
		p.add("KH018", place(i+1, utf8.RuneCountInString(line[:at])+1), fmt.Sprintf("U+%04X turns the direction of the text: people read another order than the node", char))
	}
}

// checkDirection looks at what the user's parts say and at what the strings in cloud-config become, which may be written
// with an escape.
func (p *pass) checkDirection() {
	for i, part := range p.g.Parts {
		if p.theirs(i) {
			checkDirection(p, part.Content, func(line, col int) report.Position { return p.place(at(i, line, col)) })
		}
	}
	p.configs(func(part int, config *pyyaml.Value) {
		if strings.ContainsAny(p.g.Parts[part].Content, turns) {
			return // said already
		}
		eachString(config, nil, func(_ []string, v *pyyaml.Value) {
			checkDirection(p, v.Str, func(line, col int) report.Position { return p.place(p.result.Inside(v, line, col)) })
		})
	})
}

// checkDirection looks at all texts of the hook.
func (p *hookPass) checkDirection(shells []*shellText, files []*file) {
	for _, s := range shells {
		checkDirection(p, s.Text, s.place)
	}
	for _, f := range files {
		checkDirection(p, f.text, f.place)
	}
	if p.h.CloudConfig != nil {
		eachScalar(p.h.CloudConfig, nil, nil, func(n, key *yaml.Node, _ []string) {
			checkDirection(p, n.Value, func(line, col int) report.Position { return p.nodePlace(n, key, line, col) })
		})
	}
}
