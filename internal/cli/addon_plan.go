package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/internal/addon"
	"kopshook.dev/kopshook/internal/report"
)

// printAddonPlan prints what the addon changes, compared with the one in a folder.
func printAddonPlan(c *cli.Context, dir string, a *addon.Addon) error {
	before, err := manifestIn(dir, a.Name)
	if err != nil {
		return err
	}
	p, err := a.Compare(before)
	if err != nil {
		return fmt.Errorf("the manifest in %s: %w", dir, err)
	}
	var b strings.Builder
	markdown := c.Bool("markdown")
	if markdown {
		fmt.Fprintf(&b, "### %s\n", planTitle(p))
		if len(p.Changes) > 0 {
			b.WriteString("\n| DaemonSet | what happens | where |\n| --- | --- | --- |\n")
		}
	}
	for _, change := range p.Changes {
		if markdown {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(change.Name), report.Markdown(happens(change)), reach(change))
		} else {
			fmt.Fprintf(&b, "%s: %s", change.Name, happens(change))
			if r := reach(change); r != "" {
				fmt.Fprintf(&b, " (%s)", r)
			}
			b.WriteString("\n")
		}
		if w := planWarning(change); w != "" && !markdown {
			fmt.Fprintf(&b, "  warning: %s\n", w)
		}
	}
	rules, err := readinessChanges(dir, a)
	if err != nil {
		return err
	}
	switch {
	case rules == "":
	case markdown:
		fmt.Fprintf(&b, "\n%s\n", report.Markdown(rules))
	default:
		fmt.Fprintf(&b, "%s\n", rules)
	}
	if markdown {
		for _, change := range p.Changes {
			if w := planWarning(change); w != "" {
				fmt.Fprintf(&b, "\n> [!WARNING]\n> %s: %s\n", change.Name, w)
			}
		}
	} else {
		fmt.Fprintf(&b, "%s\n", planTitle(p))
	}
	if _, err := c.App.Writer.Write([]byte(b.String())); err != nil {
		return err
	}
	if p.Any() || rules != "" {
		return differs
	}
	return nil
}

// readinessChanges says whether other nodes wait than the folder's rules say.
func readinessChanges(dir string, a *addon.Addon) (string, error) {
	rules, err := a.Readiness()
	if err != nil {
		return "", err
	}
	before, err := os.ReadFile(filepath.Join(dir, rules.Name))
	if err != nil && !os.IsNotExist(err) {
		return "", fileError(filepath.Join(dir, rules.Name), err)
	}
	switch {
	case bytes.Equal(before, rules.Content):
		return "", nil
	case rules.Content == nil:
		return rules.Name + " goes: delete its rules when no node has their taints", nil
	}
	return rules.Name + " changes: apply it when the rollout has ended, and before nodes join with a new taint", nil
}

// manifestIn returns the manifest of the addon that a folder holds, nil when it holds none.
func manifestIn(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(dir, err)
	}
	defer root.Close()
	_, index, err := indexIn(root, dir, name)
	if err != nil || index.Manifest == "" {
		return nil, err
	}
	manifest, err := root.ReadFile(index.Manifest)
	if err != nil {
		return nil, report.Hint("compare with a folder that kopshook addon wrote", "the index in %s names a manifest: %w", dir, err)
	}
	return manifest, nil
}

// planTitle counts: "2 DaemonSets change, 1 does not".
func planTitle(p *addon.Plan) string {
	switch {
	case p.Other:
		return "No DaemonSet changes, but other objects do."
	case !p.Any():
		return "The addon changes nothing."
	}
	verb := " change"
	if len(p.Changes) == 1 {
		verb = " changes"
	}
	s := report.Count(len(p.Changes), "DaemonSet") + verb
	if p.Unchanged > 0 {
		s += fmt.Sprintf(", %d not", p.Unchanged)
	}
	return s + "."
}

// happens says what a change means for hooks.
func happens(c addon.Change) string {
	var s []string
	add := func(what string, hooks []string) {
		if len(hooks) > 0 {
			s = append(s, what+" "+strings.Join(hooks, ", "))
		}
	}
	switch c.Kind {
	case addon.New:
		s = append(s, "new")
		add("runs", c.Runs)
		add("has, where it is not done:", c.Known)
	case addon.Runs:
		add("runs again:", c.Runs)
		add("runs where the node booted again since it ran:", c.Booted)
		add("undoes", c.Undoes)
		add("clears", c.Clears)
	case addon.Restarts:
		s = append(s, "restarts pods, runs no hook")
		add("undoes", c.Undoes)
		add("clears", c.Clears)
	case addon.Removed:
		s = append(s, "removed")
		add("leaves on its nodes the files, status and notes of", c.Clears)
		add("does not undo", c.Undoes)
	case addon.Settings:
		s = append(s, "later rollouts go otherwise, no pod restarts")
	}
	add("nodes that it did not have get a pod at once, which runs", c.Gains)
	add("on nodes that it leaves, nobody undoes or clears", c.Loses)
	return strings.Join(s, "; ")
}

// reach says on how many nodes at a time.
func reach(c addon.Change) string {
	switch {
	case c.Kind == addon.New:
		return "all of its nodes at once"
	case c.Kind != addon.Runs && c.Kind != addon.Restarts:
		return ""
	case c.AtOnce == "":
		return "where somebody deletes its pod"
	case c.AtOnce == "1":
		return "1 node at a time"
	case strings.HasSuffix(c.AtOnce, "%"):
		return c.AtOnce + " of its nodes at a time"
	}
	return c.AtOnce + " nodes at a time"
}

const removeLater = "apply it with `enabled: false` in its hooks first, and remove the spec when its pods are ready"

// nobodyLeft says what no pod does when a DaemonSet is removed.
func nobodyLeft(c addon.Change) string {
	if len(c.Undoes) > 0 {
		return "nobody is left to undo " + strings.Join(c.Undoes, ", ") + " and to clear the nodes"
	}
	return "nobody is left to clear the nodes"
}

// warnOfRemovals says it when the addon is written, too: from then on, nothing tells that there was such a spec.
func warnOfRemovals(dir string, a *addon.Addon, r *report.Report) {
	before, err := manifestIn(dir, a.Name)
	if err != nil {
		return // writing says what is wrong
	}
	p, err := a.Compare(before)
	if err != nil {
		return // what is no manifest is written anew
	}
	for _, c := range p.Changes {
		if c.Kind == addon.Removed && len(c.Clears) > 0 {
			r.Warnf(report.Position{}, "", removeLater, "DaemonSet %s, which had %s, is removed in one step: %s", c.Name, strings.Join(c.Clears, ", "), nobodyLeft(c))
		}
	}
}

// planWarning says what Kubernetes does not hold back.
func planWarning(c addon.Change) string {
	switch {
	case c.Kind == addon.New && len(c.Runs)+len(c.Known) > 0:
		return "a new DaemonSet is not held back: apply it with `enabled: false` in its hooks first, and enable them when its pods are there"
	case c.Kind == addon.Removed && len(c.Clears) > 0:
		return nobodyLeft(c) + ": " + removeLater
	}
	return ""
}
