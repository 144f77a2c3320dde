package cli

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

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
		for i := range all {
			if group != "" && all[i].Group != "" && all[i].Group != group {
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
