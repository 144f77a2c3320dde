package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/adopt"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
)

// reportAdoption says what stays, what is lost today and what differs then.
func (in *inputs) reportAdoption(g *adoption) {
	group := report.Position{File: g.group.Manifest.Name, Line: g.group.Line}
	user := make([]cloudinit.Part, len(g.Parts))
	copy(user, g.Parts)
	l := &lint.Group{Group: g.group.Group, File: g.group.Manifest.Name, Source: in.Text(g.group.Manifest.Name), Parts: user}
	for i := range g.Parts {
		if reason, kept := g.Kept[i]; kept {
			pos := report.Position{File: g.group.Manifest.Name}
			pos.Line, pos.Col = g.group.Position("spec", "additionalUserData", strconv.Itoa(g.items[i]), "name")
			in.Report.Warnf(pos, "", "", "part %q of instance group %q stays: %s", g.Parts[i].Name, g.Name, reason)
		}
	}
	for _, f := range lint.Check(l, lint.Options{Options: g.Options}) {
		if f.Code == "KH070" {
			f.Severity = report.Warning
			in.Report.Add(f.Finding)
		}
	}
	places := lint.NewPlaces(l)
	for _, loss := range g.Today.Lost {
		if !slices.Contains(g.Taken, loss.Part) {
			continue
		}
		what := fmt.Sprintf("%s of part %q", loss.What, loss.Name)
		if loss.What == "the part" || loss.What == "the script" {
			what = fmt.Sprintf("part %q", loss.Name)
		}
		if loss.Kind == cloudinit.Changed {
			in.Report.Warnf(places.Of(loss.At), "", "", "%s changes today: %s", what, loss.Why)
			continue
		}
		remedy := ""
		if off := switchedOff(g.HooksOf(loss.Part)); len(off) > 0 {
			remedy = "look at " + strings.Join(off, ", ") + " in the spec, with enabled: false"
		}
		in.Report.Warnf(places.Of(loss.At), "", remedy, "%s is lost today: %s", what, loss.Why)
	}
	for _, d := range g.proof.Differences {
		first, lines, _ := strings.Cut(d, "\n")
		in.Report.Add(report.Finding{Severity: report.Warning, Position: group, Message: fmt.Sprintf("instance group %q: %s", g.Name, first), Detail: lines})
	}
	for _, b := range g.proof.Broken {
		if g.specs != nil { // it is somebody's edit
			in.Report.Add(report.Finding{Severity: report.Warning, Position: group, Message: fmt.Sprintf("instance group %q: %s", g.Name, b)})
			continue
		}
		in.Report.Errorf(group, "", "this is a mistake of kopshook: please report it with the manifest", "instance group %q: %s", g.Name, b)
	}
}

// switchedOff names the hooks that are not enabled.
func switchedOff(hooks []adopt.Hook) []string {
	var names []string
	for _, h := range hooks {
		if !h.Enabled {
			names = append(names, "hook "+h.Name)
		}
	}
	return names
}

// summarize says what became of each part, and what is the same.
func (g *adoption) summarize() string {
	var b strings.Builder
	fmt.Fprintf(&b, "instance group %s:\n", report.Clean(strconv.Quote(g.label)))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, p := range g.Parts {
		var hooks []string
		for _, h := range g.HooksOf(i) {
			how := string(h.Phase)
			if !h.Enabled {
				how += ", enabled: false"
			}
			name := h.Name
			if n := g.standsFor[h.Name]; n != "" {
				name = n
			}
			hooks = append(hooks, fmt.Sprintf("%s (%s)", name, how))
		}
		if !slices.Contains(g.Taken, i) {
			hooks = []string{"stays"}
		}
		fmt.Fprintf(t, "  %s\t%s\n", report.Clean(strconv.Quote(p.Name)), strings.Join(hooks, ", "))
	}
	t.Flush() // it cannot fail
	fmt.Fprintf(&b, "  the same by the model: %s", g.proof.Same())
	if n := len(g.proof.Differences); n > 0 {
		fmt.Fprintf(&b, "; what differs (%d) is reported above", n)
	}
	return b.String()
}

// adoptionReport is an instance group in the file of --report.
type adoptionReport struct {
	InstanceGroup string        `json:"instanceGroup"`
	Cluster       string        `json:"cluster,omitempty"`
	File          string        `json:"file"`
	Parts         []adoptedPart `json:"parts"`
	// What is the same by the model, and what is not.
	Runs        int      `json:"sameRuns"`
	Files       int      `json:"sameFiles"`
	Keys        int      `json:"sameKeys"`
	Differences []string `json:"differences"`
}

type adoptedPart struct {
	Name  string       `json:"name"`
	Hooks []adopt.Hook `json:"hooks"`
	Stays string       `json:"stays,omitempty"` // why
}

// writeAdoptionReport writes the file of --report, if there is to be one. takeBack puts the file back that was there before.
func writeAdoptionReport(c *cli.Context, groups []*adoption) (takeBack func(), err error) {
	takeBack = func() {}
	name := reportTo(c)
	if name == "" {
		return takeBack, nil
	}
	list := []adoptionReport{}
	for _, g := range groups {
		r := adoptionReport{InstanceGroup: g.Name, Cluster: g.Cluster, File: g.group.Manifest.Name, Parts: []adoptedPart{},
			Runs: g.proof.Runs, Files: g.proof.Files, Keys: g.proof.Keys, Differences: append([]string{}, g.proof.Differences...)}
		for i, p := range g.Parts {
			r.Parts = append(r.Parts, adoptedPart{p.Name, append([]adopt.Hook{}, g.HooksOf(i)...), g.Kept[i]})
		}
		list = append(list, r)
	}
	if name == "-" {
		return takeBack, printJSON(c.App.Writer, list)
	}
	var b strings.Builder
	if err := printJSON(&b, list); err != nil {
		return nil, err
	}
	if isStream(name, os.Stderr) {
		_, err := io.WriteString(c.App.ErrWriter, b.String())
		return takeBack, err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return takeBack, writeInto(name, b.String())
	}
	path := file.Real(name) // a link stays
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fileError(name, err)
	}
	isNew := err != nil
	if err := file.Write(path, []byte(b.String()), 0o666); err != nil {
		return nil, fileError(name, err)
	}
	return func() {
		if isNew {
			os.Remove(path)
		} else {
			file.Write(path, before, 0o666)
		}
	}, nil
}

// writeInto writes into what is no regular file: a pipe, a terminal, /dev/null. A FIFO that nobody reads is an error: the open does not
// wait for a reader.
func writeInto(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return report.Hint("start its reader first", "%s: nobody reads it", name)
	case err != nil:
		return fileError(name, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fileError(name, err)
	}
	return nil
}

// reportTo is what --report names; what is standard output by another name is "-", too.
func reportTo(c *cli.Context) string {
	name := c.String("report")
	if name != "" && isStream(name, os.Stdout) {
		return "-"
	}
	return name
}

// adoptionReportHasPlace refuses a report in the place of what is read, or of the spec.
func (in *inputs) adoptionReportHasPlace(c *cli.Context, output string) error {
	name := reportTo(c)
	if name == "" || name == "-" {
		return nil
	}
	if output != "" && output != "-" && file.Same(name, output) {
		return report.Hint("give the report a file of its own", "--report: %s is the file of the spec", display(name))
	}
	var also []string
	if image := c.String("image-config"); image != "" {
		also = append(also, image)
	}
	for _, base := range c.StringSlice("base") {
		if _, of, named := strings.Cut(base, "="); named {
			base = of
		}
		also = append(also, base)
	}
	return in.reportsHavePlace([]string{name}, specNames(c), also...)
}
