package boot

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The two streams of a node are read every pollInterval. Events of both are put in order, so each is held back until
// nothing older can come: holdBack.
const (
	pollInterval = 50 * time.Millisecond
	holdBack     = time.Second
)

// stream turns a node's files "events" and "journal" into one sequence of events.
type stream struct {
	dir  string
	emit func(Event)       // in order
	seen func(name string) // at once

	zero   time.Time // when the boot began, by the node's clock
	held   []stamped
	err    error
	events tail
	lines  tail
}

// follow reads until ended is closed, and then what is left.
func (s *stream) follow(ended <-chan struct{}) {
	s.zero = time.Now()
	s.events.path = filepath.Join(s.dir, "events")
	s.lines.path = filepath.Join(s.dir, "journal")
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			s.read()
			s.release(time.Time{})
			return
		case now := <-tick.C:
			s.read()
			s.release(now.Add(-holdBack))
		}
	}
}

func (s *stream) read() {
	s.err = first(s.err, s.events.each(func(line []byte) error {
		e, err := parseEvent(string(line))
		if err != nil {
			return err
		}
		s.seen(e.Name)
		s.held = append(s.held, e)
		return nil
	}))
	s.err = first(s.err, s.lines.each(func(line []byte) error {
		e, ok, err := parseEntry(line)
		if err != nil {
			return err
		}
		if ok {
			s.seen(e.Name)
			s.held = append(s.held, e)
		}
		return nil
	}))
}

// release emits what is older than limit; all, when limit is zero.
func (s *stream) release(limit time.Time) {
	slices.SortStableFunc(s.held, func(a, b stamped) int { return a.time.Compare(b.time) })
	n := len(s.held)
	if !limit.IsZero() {
		n = slices.IndexFunc(s.held, func(e stamped) bool { return !e.time.Before(limit) })
		if n < 0 {
			n = len(s.held)
		}
	}
	for _, e := range s.held[:n] {
		e.At = e.time.Sub(s.zero)
		s.emit(e.Event)
	}
	s.held = slices.Delete(s.held, 0, n)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tail reads whole lines of a growing file.
type tail struct {
	path    string
	offset  int64
	partial []byte
}

// each calls f with every line that is new. A file that is not there yet has none.
func (t *tail) each(f func(line []byte) error) error {
	file, err := os.Open(t.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, t.offset, 1<<62))
	if err != nil {
		return err
	}
	t.offset += int64(len(data))
	data = append(t.partial, data...)
	for {
		line, rest, ok := bytes.Cut(data, []byte("\n"))
		if !ok {
			t.partial = bytes.Clone(data)
			return nil
		}
		data = rest
		if err := f(line); err != nil {
			return fmt.Errorf("%s: %w", t.path, err)
		}
	}
}
