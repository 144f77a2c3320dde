package source

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows a bar for each fetch that takes long, on a terminal. The nil progress shows nothing.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	items []*progressItem
	lines int // that stand on the terminal
	stop  chan struct{}
}

// progressItem is one fetch. The nil item is of the nil progress.
type progressItem struct {
	p       *progress
	name    string
	begun   time.Time
	n, size int64 // size is 0 while it is not known
}

const (
	progressDelay = 500 * time.Millisecond // fetches that end sooner are not shown
	progressTick  = 150 * time.Millisecond
)

func newProgress(w io.Writer) *progress {
	if w == nil {
		return nil
	}
	return &progress{w: w}
}

func (p *progress) start(name string) *progressItem {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	item := &progressItem{p: p, name: name, begun: time.Now()}
	p.items = append(p.items, item)
	if p.stop == nil {
		p.stop = make(chan struct{})
		go p.run(p.stop)
	}
	return item
}

func (p *progress) run(stop chan struct{}) {
	tick := time.NewTicker(progressTick)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// draw replaces the lines that stand on the terminal.
func (p *progress) draw() {
	var b strings.Builder
	if p.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", p.lines)
	}
	p.lines = 0
	width := p.width()
	for _, item := range p.items {
		if time.Since(item.begun) < progressDelay {
			continue
		}
		b.WriteString(item.line(width) + "\n")
		p.lines++
	}
	io.WriteString(p.w, b.String())
}

func (p *progress) width() int {
	if f, ok := p.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// line is "fetching NAME [=====>    ] 3 MiB of 8 MiB", cut to width.
func (i *progressItem) line(width int) string {
	right := size(i.n)
	if i.size > 0 {
		const cells = 20
		full := int(min(i.n, i.size) * cells / i.size)
		right = fmt.Sprintf("[%s%s] %s of %s", strings.Repeat("=", full), strings.Repeat(" ", cells-full), size(i.n), size(i.size))
	}
	name := []rune(i.name)
	if room := width - 1 - len("fetching  ") - len(right); len(name) > room {
		name = append([]rune("..."), name[len(name)-max(0, room-3):]...)
	}
	return "fetching " + string(name) + " " + right
}

func (i *progressItem) done() {
	if i == nil {
		return
	}
	p := i.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, other := range p.items {
		if other == i {
			p.items = append(p.items[:k], p.items[k+1:]...)
			break
		}
	}
	if p.lines > 0 {
		p.draw()
	}
	if len(p.items) == 0 {
		close(p.stop)
		p.stop = nil
	}
}

func (i *progressItem) add(n int64)    { i.update(func() { i.n += n }) }
func (i *progressItem) set(n int64)    { i.update(func() { i.n = n }) }
func (i *progressItem) expect(n int64) { i.update(func() { i.size = max(0, n) }) }
func (i *progressItem) restart()       { i.update(func() { i.n, i.size = 0, 0 }) }

func (i *progressItem) update(do func()) {
	if i == nil {
		return
	}
	i.p.mu.Lock()
	defer i.p.mu.Unlock()
	do()
}
