package cloudinit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/golden"
)

func (c testCase) read(t *testing.T, version Version) *Result {
	t.Helper()
	opts := c.opts
	opts.Version, opts.OfflineSources = version, true
	if c.base != "" {
		var err error
		if opts.Base, err = pyyaml.Load(c.base); err != nil {
			t.Fatal(err)
		}
	}
	return ReadParts(nil, "Node", c.parts, opts)
}

// describe writes what the model says, for people to review.
func describe(b *bytes.Buffer, r *Result) {
	if len(r.Config.Entries) > 0 {
		fmt.Fprintf(b, "  config %s\n", r.Config)
	}
	for _, run := range r.Runs {
		fmt.Fprintf(b, "  %-6s %s %s%s", run.Stage, run.What, run.Name, place(run.At))
		if run.File != nil {
			fmt.Fprintf(b, " %04o %s:%s", run.File.Mode, run.File.User, run.File.Group)
		}
		if run.What == "bootcmd" || run.What == "runcmd" || run.File != nil {
			fmt.Fprintf(b, " %q", run.Content)
		}
		b.WriteByte('\n')
	}
	for _, l := range r.Lost {
		fmt.Fprintf(b, "  LOST %s %q%s: %s%s: %s\n", l.Kind, l.Name, place(l.At), l.What, strings.Replace(place(l.By), " at", " by", 1), l.Why)
	}
}

func place(at At) string {
	if at.Part < 0 {
		return ""
	}
	return fmt.Sprintf(" at %d:%d:%d", at.Part, at.Line, at.Col)
}

// versions are those that images have, and those that differ from them in some case; the first is what the others are
// compared with.
var versions = []Version{Debian13, {26, 2, 14}, {25, 3, 12}, {24, 4, 12}, {24, 1, 12}, {23, 4, 9}, {23, 1, 10}, Debian12, {22, 2, 9}, {22, 1, 10}, {21, 4, 9}, Debian11}

func TestWhatANodeSees(t *testing.T) {
	var b bytes.Buffer
	for _, c := range testCases {
		fmt.Fprintf(&b, "%s\n", c.name)
		var texts []string
		on := map[string][]string{}
		for _, v := range versions {
			var text bytes.Buffer
			describe(&text, c.read(t, v))
			if s := text.String(); on[s] == nil {
				texts = append(texts, s)
			}
			on[text.String()] = append(on[text.String()], v.String())
		}
		for i, text := range texts {
			if i > 0 {
				fmt.Fprintf(&b, " on %s\n", strings.Join(on[text], ", "))
			}
			b.WriteString(text)
		}
	}
	golden.Check(t, "testdata/seen.golden", b.Bytes())
}
