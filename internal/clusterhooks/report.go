package clusterhooks

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"kopshook.dev/kopshook/internal/report"
)

// Format of a report.
type Format string

const (
	Text  Format = "text"
	JSON  Format = "json"
	JUnit Format = "junit"
)

// Write writes the report.
func (r *Result) Write(w io.Writer, format Format) error {
	switch format {
	case JSON:
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	case JUnit:
		return r.writeJUnit(w)
	}
	return r.writeText(w)
}

// writeText writes a line for each step and for kops, in the order in which they ran.
func (r *Result) writeText(w io.Writer) error {
	var b strings.Builder
	line := func(event, name, status string, seconds float64, note string) {
		s := fmt.Sprintf("%-26s  %-30s  %-11s  %8.1fs", event, name, status, seconds)
		if note != "" {
			s += "  " + note
		}
		b.WriteString(report.OneLine(s) + "\n") // an extension says its name and what it likes
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "no hooks run: %s\n", report.OneLine(r.Note))
	}
	r.inOrder(func(k KopsPart) {
		switch {
		case !k.Started:
			line("", "kops", "not started", 0, "")
		case k.Signal != "":
			line("", "kops", "ended", k.Seconds, "killed by "+k.Signal)
		default:
			line("", "kops", "ended", k.Seconds, fmt.Sprintf("exit code %d", k.ExitCode))
		}
	}, func(s *StepResult) {
		note := s.Message
		if s.Attempts > 1 {
			note = strings.TrimSpace(fmt.Sprintf("%s (%d attempts)", note, s.Attempts))
		}
		line(string(s.Event), s.Name, string(s.Status), s.Seconds, note)
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// The JUnit schema, as far as CI systems read it: a suite for the run, a case for each step and for kops.
type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr,omitempty"`
}

func (r *Result) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: strings.TrimSpace("kopshook exec " + strings.Join(r.Clusters, " "))}
	total := 0.0
	add := func(c junitCase, seconds float64) {
		c.Time = fmt.Sprintf("%.3f", seconds)
		c.Output = xmlText(c.Output)
		total += seconds
		suite.Tests++
		if c.Failure != nil {
			c.Failure.Message = xmlText(c.Failure.Message)
			suite.Failures++
		}
		if c.Skipped != nil {
			c.Skipped.Message = xmlText(c.Skipped.Message)
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	r.inOrder(func(k KopsPart) { add(k.junit(), k.Seconds) }, func(s *StepResult) { add(s.junit(), s.Seconds) })
	suite.Time = fmt.Sprintf("%.3f", total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *StepResult) junit() junitCase {
	c := junitCase{Class: string(s.Event), Name: s.Name, Output: s.Output}
	switch s.Status {
	case Failed, Interrupted:
		c.Failure = &junitMessage{s.Message}
	case Skipped:
		c.Skipped = &junitMessage{"not run: one before it failed"}
	case Ignored:
		c.Skipped = &junitMessage{"failed, which is ignored: " + s.Message}
	}
	return c
}

func (k *KopsPart) junit() junitCase {
	c := junitCase{Class: "kops", Name: xmlText(strings.Join(k.Command, " "))}
	switch {
	case !k.Started:
		c.Skipped = &junitMessage{"not started"}
	case k.Signal != "":
		c.Failure = &junitMessage{"killed by " + k.Signal}
	case k.ExitCode != 0:
		c.Failure = &junitMessage{fmt.Sprintf("exit code %d", k.ExitCode)}
	}
	return c
}

// xmlText drops what XML cannot say, such as the escapes of colored output.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
