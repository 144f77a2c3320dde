package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/machines"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
)

// machineJSON is a machine in `status --cluster -o json`.
type machineJSON struct {
	Instance      string              `json:"instance"`
	InstanceGroup string              `json:"instanceGroup"`
	Zone          string              `json:"zone"`
	State         string              `json:"state"`
	LaunchedAt    time.Time           `json:"launchedAt,omitzero"`
	Node          string              `json:"node,omitempty"`
	Ready         bool                `json:"ready"`
	Verdict       machines.Verdict    `json:"verdict"`
	Hooks         []nodestatus.Status `json:"hooks,omitempty"`
	Messages      []string            `json:"messages,omitempty"`
	Problem       string              `json:"problem,omitempty"`
}

// clusterStatus is what `status --cluster` asks again and again when it watches.
type clusterStatus struct {
	name  string
	cloud machines.Cloud
	group string // only machines of this one; "" for all
	all   bool   // nodes are listed too
	nodes func(context.Context) ([]machines.Node, error)
}

func newClusterStatus(ctx context.Context, name, store string) (*clusterStatus, error) {
	cluster, err := machines.ReadCluster(ctx, store, name)
	if err != nil {
		return nil, err
	}
	cloud, err := machines.Of(ctx, cluster, machines.Options{Getenv: os.Getenv})
	if err != nil {
		return nil, err
	}
	return &clusterStatus{name: name, cloud: cloud,
		nodes: func(ctx context.Context) ([]machines.Node, error) { return machines.Nodes(ctx, name) }}, nil
}

// look asks the cloud and the API server once. The note says why the API server did not answer, or is "".
func (s *clusterStatus) look(ctx context.Context) (findings []machines.Finding, note string, err error) {
	nodes, nodesErr := s.nodes(ctx)
	if nodesErr != nil {
		note = "the API server does not answer, so machines that are nodes cannot be told from others: " + nodesErr.Error()
	}
	findings, err = machines.Survey(ctx, s.cloud, s.name, nodes, func(m machines.Machine) bool {
		return s.group == "" || m.InstanceGroup == s.group
	})
	return findings, note, err
}

func anyFailed(findings []machines.Finding) bool {
	return slices.ContainsFunc(findings, func(f machines.Finding) bool { return f.Verdict == machines.Failed })
}

func statusOfCluster(c *cli.Context) error {
	store := clusterhooks.StateStore(c.String("state"), os.Getenv)
	if store == "" {
		return report.Hint("use --state, or set KOPS_STATE_STORE", "the state store of the cluster is not known")
	}
	s, err := newClusterStatus(c.Context, c.String("cluster"), store)
	if err != nil {
		return err
	}
	s.group, s.all = c.String("group"), c.Bool("all")
	if c.Bool("watch") {
		return s.watch(c)
	}
	findings, note, err := s.look(c.Context)
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintln(c.App.ErrWriter, "kopshook: warning:", report.OneLine(note))
	}
	if c.String("output") == "json" {
		list := []machineJSON{}
		for _, f := range findings {
			if s.all || f.Verdict != machines.IsNode {
				list = append(list, machineJSON{f.ID, f.InstanceGroup, f.Zone, f.State, f.Launched, f.Node, f.Ready, f.Verdict, f.Hooks, f.Messages, f.Problem})
			}
		}
		err = printJSON(c.App.Writer, list)
	} else {
		_, err = io.WriteString(c.App.Writer, s.text(findings, time.Now()))
	}
	if err == nil && anyFailed(findings) {
		return differs
	}
	return err
}

// text is the summary and a line for each machine that is not a node.
func (s *clusterStatus) text(findings []machines.Finding, now time.Time) string {
	var b bytes.Buffer
	nodes, rows := 0, 0
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "INSTANCE\tGROUP\tAGE\tHOOK\tSTATUS")
	for _, f := range findings {
		says := f.Says(now)
		if f.Verdict == machines.IsNode {
			nodes++
			if !s.all {
				continue
			}
			says = "node " + f.Node
			if !f.Ready {
				says += ", not ready"
			}
		}
		rows++
		hook, age := "", ""
		if r := f.Reason(); r != nil {
			hook = r.Hook
		}
		if !f.Launched.IsZero() {
			age = machines.Age(now.Sub(f.Launched))
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", printable(f.ID), printable(f.InstanceGroup), age, printable(hook), printable(says))
	}
	tw.Flush()
	head := fmt.Sprintf("%s: %d of %d machines are nodes", s.name, nodes, len(findings))
	if rows == 0 {
		return head + "\n"
	}
	return head + "\n\n" + trimmedLines(b.String())
}

func trimmedLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// watchEvery is how often a cloud is asked: consoles come late in any case, and clouds limit how often one may ask.
const watchEvery = 15 * time.Second

// watch prints until all machines that run are nodes. On a terminal it draws the same lines again; elsewhere it prints
// what has changed.
func (s *clusterStatus) watch(c *cli.Context) error {
	tell := s.redraw(c.App.Writer)
	if screenOf(c.App.Writer).Width == 0 {
		tell = tellChanges(c.App.Writer)
	}
	for {
		findings, note, err := s.look(c.Context)
		if err != nil {
			return err
		}
		tell(findings, report.OneLine(note), time.Now())
		waiting := slices.ContainsFunc(findings, func(f machines.Finding) bool {
			return f.Verdict != machines.IsNode && f.Verdict != machines.Stopped
		})
		if !waiting {
			return nil
		}
		select {
		case <-time.After(watchEvery):
		case <-c.Context.Done():
			return context.Cause(c.Context)
		}
	}
}

type teller func(findings []machines.Finding, note string, now time.Time)

// redraw draws on a terminal, over what it drew before.
func (s *clusterStatus) redraw(w io.Writer) teller {
	drawn := 0
	return func(findings []machines.Finding, note string, now time.Time) {
		text := s.text(findings, now)
		if note != "" {
			text += "\n" + note + "\n"
		}
		if drawn > 0 {
			fmt.Fprintf(w, "\x1b[%dA\x1b[J", drawn)
		}
		io.WriteString(w, text)
		drawn = rows(text, screenOf(w).Width)
	}
}

// rows is how many rows of a terminal the lines of a text take.
func rows(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		n += 1 + max(0, utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1)/width
	}
	return n
}

// tellChanges prints a line for each machine that has come further, or is gone.
func tellChanges(w io.Writer) teller {
	before, noted := map[string]string{}, ""
	return func(findings []machines.Finding, note string, now time.Time) {
		clock := now.UTC().Format(time.TimeOnly + "Z")
		if note != noted && note != "" {
			fmt.Fprintf(w, "%s %s\n", clock, note)
		}
		noted = note
		there := map[string]bool{}
		for _, f := range findings {
			there[f.ID] = true
			key, says := string(f.Verdict), f.Says(now)
			if r := f.Reason(); r != nil {
				key = fmt.Sprint(key, r.Hook, r.State, r.Attempts)
				says = r.Hook + " " + says
			} else if f.Verdict == machines.IsNode {
				says = "is node " + f.Node
			}
			if before[f.ID] != key {
				before[f.ID] = key
				fmt.Fprintf(w, "%s %s %s: %s\n", clock, printable(f.InstanceGroup), printable(f.ID), printable(says))
			}
		}
		for _, id := range slices.Sorted(maps.Keys(before)) {
			if !there[id] {
				delete(before, id)
				fmt.Fprintf(w, "%s %s: is gone\n", clock, printable(id))
			}
		}
	}
}
