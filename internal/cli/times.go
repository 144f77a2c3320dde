package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/explain"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/report"
)

// addTimes adds what --times names: how long hooks took. What try printed is of one instance group; a status file does not
// say of which it is, so that it counts for all.
func addTimes(c *cli.Context, all []explain.Input) error {
	for _, name := range c.StringSlice("times") {
		data, err := readInput(c.Context, name, c.App.Reader)
		if err != nil {
			return err
		}
		group, took, err := timesOf(data)
		if err != nil {
			return report.Hint("give what kopshook try -o json printed, or a file of "+nodestatus.Dir, "%s: %w", display(name), err)
		}
		var r report.Report
		if !slices.ContainsFunc(all, func(e explain.Input) bool { return isOf(e, group) }) {
			r.Warnf(report.Position{File: name}, "", "give times of the same instance groups", "holds times of instance group %q, which is not here", group)
		} else if unknown := unknownHooks(all, group, took); len(unknown) > 0 {
			r.Warnf(report.Position{File: name}, "", "give times of the same hooks", "holds times of hooks that are not here: %s", report.Some(unknown, 10))
		}
		if err := report.Text(c.App.ErrWriter, r.Findings, report.TextOptions{Color: colored(c.App.ErrWriter)}); err != nil {
			return err
		}
		for i := range all {
			if !isOf(all[i], group) {
				continue
			}
			if all[i].Took == nil {
				all[i].Took = map[string]time.Duration{}
			}
			for hook, d := range took {
				all[i].Took[hook] = max(all[i].Took[hook], d)
			}
		}
	}
	return nil
}

// unknownHooks are those with a time that none of the groups has, sorted.
func unknownHooks(all []explain.Input, group string, took map[string]time.Duration) []string {
	unknown := maps.Clone(took)
	for _, e := range all {
		if !isOf(e, group) {
			continue
		}
		var parts []generator.UserData
		for _, p := range e.Parts {
			parts = append(parts, generator.UserData(p))
		}
		for _, h := range generator.Read(parts) {
			delete(unknown, h.Name)
		}
	}
	delete(unknown, "archive") // it is the runtime's own, where hooks lie in a bucket
	return slices.Sorted(maps.Keys(unknown))
}

// isOf says whether times of a group, "" for one that is not said, count for e.
func isOf(e explain.Input, group string) bool {
	return group == "" || e.Group == "" || e.Group == group
}

// timesOf returns how long each hook took, and of which instance group that is, "" if it is not said. Of several boots the
// longest run counts: on a first boot hooks do their work, later they may have nothing to do.
func timesOf(data []byte) (group string, took map[string]time.Duration, err error) {
	var t tried
	if err := json.Unmarshal(data, &t); err == nil && t.Boots != nil {
		return t.InstanceGroup, timesOfBoots(t.Boots), nil
	}
	s, err := nodestatus.Parse(data)
	if err != nil {
		return "", nil, err
	}
	took = map[string]time.Duration{}
	if s.State == nodestatus.Succeeded || s.State == nodestatus.Failed {
		took[s.Hook] = max(s.UpdatedAt.Sub(s.StartedAt), 0)
	}
	return "", took, nil
}

func timesOfBoots(boots []triedBoot) map[string]time.Duration {
	took := map[string]time.Duration{}
	for _, b := range boots {
		started := map[string]float64{}
		for _, e := range b.Events {
			verb, unit, _ := strings.Cut(e.Event, " ")
			hook, ours := strings.CutPrefix(unit, "kopshook-")
			hook, service := strings.CutSuffix(hook, ".service")
			if !ours || !service {
				continue
			}
			if verb == "starting" {
				started[hook] = e.Seconds
			}
			if from, ok := started[hook]; ok && (verb == "started" || verb == "failed") {
				took[hook] = max(took[hook], time.Duration((e.Seconds-from)*float64(time.Second)))
			}
		}
	}
	return took
}
