package source

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressLines(t *testing.T) {
	for name, c := range map[string]struct {
		item  progressItem
		width int
		want  string
	}{
		"of a size that is not known": {progressItem{name: "git::https://example.com/r.git", n: 300 << 10}, 80, "fetching git::https://example.com/r.git 300 KiB"},
		"of a known size":             {progressItem{name: "https://example.com/x", n: 2 << 20, size: 8 << 20}, 80, "fetching https://example.com/x [=====               ] 2 MiB of 8 MiB"},
		"with more than was said":     {progressItem{name: "https://example.com/x", n: 9 << 20, size: 8 << 20}, 80, "fetching https://example.com/x [====================] 9 MiB of 8 MiB"},
		"on a narrow terminal":        {progressItem{name: "https://example.com/a/very/long/path/to/x", n: 100, size: 0}, 40, "fetching ...ry/long/path/to/x 100 bytes"},
		"on a terminal that has no room": {progressItem{name: "https://example.com/x", n: 100, size: 0}, 5,
			"fetching ... 100 bytes"},
	} {
		got := c.item.line(c.width)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.width >= 40 && len(got) > c.width {
			t.Errorf("%s: %d columns of %d", name, len(got), c.width)
		}
	}
}

func TestProgressLeavesNothingOnTheTerminal(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b)
	one, two := p.start("one"), p.start("two")
	one.begun, two.begun = time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)
	one.expect(10)
	one.add(5)
	p.mu.Lock()
	p.draw()
	p.mu.Unlock()
	two.done()
	one.done()
	// two lines, then one in their place, then none in its
	want := "fetching one [==========          ] 5 bytes of 10 bytes\nfetching two 0 bytes\n" +
		"\x1b[2A\r\x1b[Jfetching one [==========          ] 5 bytes of 10 bytes\n" + "\x1b[1A\r\x1b[J"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
