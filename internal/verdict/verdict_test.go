package verdict_test

import (
	"testing"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/lint"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
	"kopshook.dev/kopshook/internal/waits"
)

func found(e lint.Effect, message string) lint.Finding {
	return lint.Finding{Effect: e, Finding: report.Finding{Position: report.Position{File: "ig.yaml", Line: 7, Col: 3}, Message: message}}
}

func TestOf(t *testing.T) {
	driver := waits.Hook{Name: "driver", Phase: "pre-nodeup"}
	missing := waits.Hook{Name: "driver", Phase: "pre-nodeup", Missing: true}
	aws := budget.Limit{Cloud: "AWS", Bytes: 16384}
	for name, c := range map[string]struct {
		facts verdict.Facts
		kind  verdict.Kind
		label string
		text  string
		runs  bool
	}{
		"nothing at all": {verdict.Facts{}, verdict.Joins, "joins", "joins", false},
		"a bastion":      {verdict.Facts{Role: "Bastion"}, verdict.Joins, "boots", "boots", false},
		"hooks that arrive": {verdict.Facts{Hooks: []waits.Hook{driver, {Name: "ca", Phase: "pre-kubelet"}, {Name: "label", Phase: "post-kubelet"}}},
			verdict.Joins, "joins", "joins when its 2 hooks succeed", false},
		"warnings count for nothing": {verdict.Facts{Findings: []lint.Finding{found(lint.NoEffect, "x")}}, verdict.Joins, "joins", "joins", false},
		"what is lost is counted, and the first is told": {verdict.Facts{Findings: []lint.Finding{found(lint.Loses, "a is lost"), found(lint.Loses, "b is lost")}},
			verdict.Loses, "joins, but loses 2", "joins, but loses 2 things: a is lost (ig.yaml:7); and 1 more", false},
		"a hook that a loss takes": {verdict.Facts{Hooks: []waits.Hook{missing}, Findings: []lint.Finding{found(lint.Loses, "a is lost")}},
			verdict.Never, "never joins", `never joins: hook "driver" does not arrive on the node: a is lost (ig.yaml:7)`, true},
		"a hook whose part somebody removed": {verdict.Facts{Hooks: []waits.Hook{missing}},
			verdict.Never, "never joins", `never joins: hook "driver" does not arrive on the node`, true},
		"a hook that a loss takes which comments switch off": {verdict.Facts{Hooks: []waits.Hook{missing}, Result: &cloudinit.Result{Lost: []cloudinit.Loss{{}}}},
			verdict.Joins, "joins", "joins when its hook succeeds", false},
		"a hook after the kubelet that does not arrive": {verdict.Facts{Hooks: []waits.Hook{{Name: "label", Phase: "post-kubelet", Missing: true}}}, verdict.Joins, "joins", "joins", false},
		"a kubelet that does not start":                 {verdict.Facts{Findings: []lint.Finding{found(lint.KubeletFails, "swap is on")}}, verdict.Never, "never joins", "never joins: swap is on (ig.yaml:7)", true},
		"a hook that cannot succeed":                    {verdict.Facts{Findings: []lint.Finding{found(lint.HookFails, "it waits for itself")}}, verdict.Never, "never joins", "never joins: it waits for itself (ig.yaml:7)", true},
		"worse wins": {verdict.Facts{Findings: []lint.Finding{found(lint.Loses, "a"), found(lint.NeverJoins, "b: the node never joins"), found(lint.TooLarge, "c")}},
			verdict.Never, "never joins", "never joins: b (ig.yaml:7)", false},
		"too large for certain": {verdict.Facts{Findings: []lint.Finding{found(lint.TooLarge, "c")}, Size: &budget.Result{Limit: aws, Low: 17000, High: 18000, Verdict: budget.TooLarge}},
			verdict.TooLarge, "too large", "too large: 17,000 of 16,384 bytes that AWS takes, so it makes no machine", false},
		"perhaps too large": {verdict.Facts{Size: &budget.Result{Limit: aws, Low: 16000, High: 17000, Verdict: budget.MayNotFit}},
			verdict.Joins, "joins", "joins, unless the user data is too large: up to 17,000 of 16,384 bytes that AWS takes", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.facts.Result == nil {
				c.facts.Result = &cloudinit.Result{}
			}
			v := verdict.Of(c.facts)
			if v.Kind != c.kind || v.Label() != c.label || v.String() != c.text || v.NodeupRuns != c.runs || v.Bad() != (c.kind != verdict.Joins) {
				t.Errorf("got %s, %q, %q, nodeup runs: %v", v.Kind, v.Label(), v, v.NodeupRuns)
			}
		})
	}
}
