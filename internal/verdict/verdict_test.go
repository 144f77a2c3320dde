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
	lenient := waits.Hook{Name: "agent", Phase: "pre-nodeup", Continue: true}
	missing := waits.Hook{Name: "driver", Phase: "pre-nodeup", Missing: true}
	aws := budget.Limit{Cloud: "AWS", Bytes: 16384}
	for name, c := range map[string]struct {
		facts verdict.Facts
		kind  verdict.Kind
		label string
		text  string
		far   lint.Effect
	}{
		"nothing at all": {verdict.Facts{}, verdict.Joins, "joins", "joins", lint.NoEffect},
		"a bastion":      {verdict.Facts{Role: "Bastion"}, verdict.Joins, "boots", "boots", lint.NoEffect},
		"hooks that arrive": {verdict.Facts{Hooks: []waits.Hook{driver, {Name: "ca", Phase: "pre-kubelet"}, {Name: "label", Phase: "post-kubelet"}}},
			verdict.Joins, "joins", "joins when its 2 hooks succeed", lint.NoEffect},
		"what reads the archive from a bucket is no hook of a spec": {verdict.Facts{Hooks: []waits.Hook{{Name: "archive", Phase: "pre-nodeup"}, driver}},
			verdict.Joins, "joins", "joins when its hook succeeds", lint.NoEffect},
		"a hook that may fail": {verdict.Facts{Hooks: []waits.Hook{lenient}}, verdict.Joins, "joins", "joins when its hook has run", lint.NoEffect},
		"hooks that may fail":  {verdict.Facts{Hooks: []waits.Hook{lenient, lenient}}, verdict.Joins, "joins", "joins when its 2 hooks have run", lint.NoEffect},
		"one hook that may fail and one that may not": {verdict.Facts{Hooks: []waits.Hook{lenient, driver}},
			verdict.Joins, "joins", "joins when its blocking hook succeeds", lint.NoEffect},
		"a hook in a bucket, which may be one that may fail": {verdict.Facts{Hooks: []waits.Hook{{Name: "driver", Phase: "pre-nodeup", Elsewhere: true}}},
			verdict.Joins, "joins", "joins when its hook is through", lint.NoEffect},
		"hooks of which one lies in a bucket": {verdict.Facts{Hooks: []waits.Hook{driver, {Name: "ca", Phase: "pre-kubelet", Elsewhere: true}}},
			verdict.Joins, "joins", "joins when its 2 hooks are through", lint.NoEffect},
		"hooks that may fail and hooks that may not": {verdict.Facts{Hooks: []waits.Hook{driver, lenient, driver}},
			verdict.Joins, "joins", "joins when its 2 blocking hooks succeed", lint.NoEffect},
		"warnings count for nothing": {verdict.Facts{Findings: []lint.Finding{found(lint.NoEffect, "x")}}, verdict.Joins, "joins", "joins", lint.NoEffect},
		"what is lost is counted, and the first is told": {verdict.Facts{Findings: []lint.Finding{found(lint.Loses, "a is lost"), found(lint.Loses, "b is lost")}},
			verdict.Loses, "joins, but loses 2 things", "joins, but loses 2 things: a is lost (lost: ig.yaml:7); and 1 more", lint.Loses},
		"a hook that a loss takes": {verdict.Facts{Hooks: []waits.Hook{missing}, Findings: []lint.Finding{found(lint.Loses, "a is lost")}},
			verdict.Never, "never joins", `never joins: hook "driver" does not arrive on the node: a is lost (lost: ig.yaml:7)`, lint.HookFails},
		"a hook whose part somebody removed": {verdict.Facts{Hooks: []waits.Hook{missing}},
			verdict.Never, "never joins", `never joins: hook "driver" does not arrive on the node`, lint.HookFails},
		"a hook that a loss takes which comments switch off": {verdict.Facts{Hooks: []waits.Hook{missing}, Result: &cloudinit.Result{Lost: []cloudinit.Loss{{}}}},
			verdict.Joins, "joins", "joins when its hook succeeds", lint.NoEffect},
		"a hook after the kubelet that does not arrive": {verdict.Facts{Hooks: []waits.Hook{{Name: "label", Phase: "post-kubelet", Missing: true}}}, verdict.Joins, "joins", "joins", lint.NoEffect},
		"a kubelet that does not start":                 {verdict.Facts{Findings: []lint.Finding{found(lint.KubeletFails, "swap is on")}}, verdict.Never, "never joins", "never joins: swap is on (ig.yaml:7)", lint.KubeletFails},
		"a hook that cannot succeed":                    {verdict.Facts{Findings: []lint.Finding{found(lint.HookFails, "it waits for itself")}}, verdict.Never, "never joins", "never joins: it waits for itself (ig.yaml:7)", lint.HookFails},
		"worse wins": {verdict.Facts{Findings: []lint.Finding{found(lint.Loses, "a"), found(lint.Ends, "b: the node never joins"), found(lint.KubeletFails, "c")}},
			verdict.Never, "never joins", "never joins: b (ig.yaml:7)", lint.Ends},
		"what comes first in the life of a machine wins": {verdict.Facts{Findings: []lint.Finding{found(lint.Ends, "b"), found(lint.TooLarge, "c")}, Size: &budget.Result{Limit: aws, Low: 17000, High: 18000, Verdict: budget.TooLarge}},
			verdict.TooLarge, "too large", "too large: 17,000 of 16,384 bytes that AWS takes, so it makes no machine", lint.TooLarge},
		"kops refuses it before the cloud does": {verdict.Facts{Findings: []lint.Finding{found(lint.TooLarge, "c"), found(lint.Refused, "kops refuses it")}},
			verdict.Never, "never joins", "never joins: kops refuses it (ig.yaml:7)", lint.Refused},
		"a hook that kops leaves out": {verdict.Facts{Hooks: []waits.Hook{driver, missing}, Findings: []lint.Finding{found(lint.LeftOut, "kops leaves it out"), found(lint.Loses, "a is lost"),
			found(lint.HookFails, "b"), found(lint.TooLarge, "c")}, Size: &budget.Result{Limit: aws, Low: 17000, High: 18000, Verdict: budget.TooLarge}},
			verdict.Loses, "joins, but loses 1 thing", "joins, but loses 1 thing: kops leaves it out (ig.yaml:7)", lint.LeftOut},
		"what kops leaves out and refuses": {verdict.Facts{Findings: []lint.Finding{found(lint.LeftOut, "kops leaves it out"), found(lint.Refused, "kops refuses it")}},
			verdict.Never, "never joins", "never joins: kops refuses it (ig.yaml:7)", lint.Refused},
		"hooks of a bastion": {verdict.Facts{Role: "Bastion", Hooks: []waits.Hook{driver, missing}, Findings: []lint.Finding{found(lint.HookFails, "b"), found(lint.KubeletFails, "c")}},
			verdict.Joins, "boots", "boots", lint.NoEffect},
		"too large for certain": {verdict.Facts{Findings: []lint.Finding{found(lint.TooLarge, "c")}, Size: &budget.Result{Limit: aws, Low: 17000, High: 18000, Verdict: budget.TooLarge}},
			verdict.TooLarge, "too large", "too large: 17,000 of 16,384 bytes that AWS takes, so it makes no machine", lint.TooLarge},
		"perhaps too large": {verdict.Facts{Size: &budget.Result{Limit: aws, Low: 16000, High: 17000, Verdict: budget.MayNotFit}},
			verdict.Joins, "joins", "joins, unless the user data is too large: up to 17,000 of 16,384 bytes that AWS takes", lint.NoEffect},
	} {
		t.Run(name, func(t *testing.T) {
			if c.facts.Result == nil {
				c.facts.Result = &cloudinit.Result{}
			}
			v := verdict.Of(c.facts)
			if v.Kind != c.kind || v.Label() != c.label || v.String() != c.text || v.Effect != c.far || v.Bad() != (c.kind != verdict.Joins) {
				t.Errorf("got %s, %q, %q, effect %d", v.Kind, v.Label(), v, v.Effect)
			}
		})
	}
}
