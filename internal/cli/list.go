package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "show which hook runs on which instance group",
		UsageText: "kopshook list [-f SPEC...] [-o text|json] FILE... | -",
		Description: `Prints a table of the instance groups, with what becomes of their nodes, how long the kubelet may wait for hooks, and how
large the user data is. Then a matrix: a row for each hook, in the order in which a node runs them, and a column for each instance group.
RUN says whether it runs again after a reboot. A cell holds the hook's place in the group's order, or a dot where the
hook does not run. It says addon for hooks of phase daemon, which are not user data; in JSON their place is 0.
Without hook specs it shows the hooks that the manifests hold now.

Examples:
   kopshook list examples/gpu/hooks.yaml examples/root-ca/hooks.yaml examples/mixed/cluster.yaml
   kops get ig --name my.cluster -o yaml | kopshook list -`,
		Flags: append(planFlags(), pruneFlag(), formatFlag("text", "json"), groupFlag(), clusterFlag()),
		Action: func(c *cli.Context) error {
			in, err := readInputs(c)
			if err != nil {
				return err
			}
			if len(in.around) > 0 || len(specNames(c)) > 0 { // else it shows the hooks that the manifests hold
				if err := in.needSpecs("list"); err != nil {
					return err
				}
			}
			out, err := in.planned(c, plan.Options{}, plan.Sizes(report.Warning), plan.Arrival, plan.Hopeless, plan.Names(true), plan.Removals, plan.Briefs)
			if err != nil {
				return err
			}
			groups := out.Groups
			rows := listRows(out.Input.Specs, groups)
			switch format := c.String("output"); format {
			case "text":
				printOverview(c.App.Writer, out)
				return printMatrix(c.App.Writer, groups, rows, screenOf(c.App.Writer).Width)
			case "json":
				return printJSON(c.App.Writer, rows)
			default:
				return unknownFormat(c)
			}
		},
	}
}

// listRow is a hook and where it runs.
type listRow struct {
	Hook   string      `json:"hook"`
	Phase  string      `json:"phase"`
	Weight int         `json:"weight"`
	Run    string      `json:"run"` // once-per-instance, once-per-image, every-boot
	Spec   string      `json:"spec"`
	Groups []listPlace `json:"instanceGroups"`
}

// listPlace is an instance group and the hook's place in its order, from 1; 0 is a hook that the addon runs.
type listPlace struct {
	Name    string          `json:"name"`
	Cluster string          `json:"cluster,omitempty"`
	Place   int             `json:"place"`
	Verdict verdict.Verdict `json:"verdict"` // of the group
	column  int
}

// listRows merges the orders of all groups into one. Hooks have one place among each other in every group, unless
// overrides changed weight or run; then a hook has a row for each value.
func listRows(specs []*hookspec.Doc, groups []*plan.Group) []*listRow {
	rows := []*listRow{}
	type key struct {
		spec, hook, run string
		weight          int
	}
	index := map[key]*listRow{}
	for col, g := range groups {
		add := func(r listRow, place int) {
			k := key{r.Spec, r.Hook, r.Run, r.Weight}
			row := index[k]
			if row == nil {
				row = &r
				index[k] = row
				rows = append(rows, row)
			}
			row.Groups = append(row.Groups, listPlace{Name: g.Name, Cluster: g.Cluster, Place: place, Verdict: g.Brief.Verdict.WithLate(len(g.Brief.Over) > 0), column: col})
		}
		for i := range g.Hooks {
			add(rowOf(&g.Hooks[i]), i+1)
		}
		for _, h := range daemonHooks(specs, g) {
			add(rowOf(&h), 0)
		}
		if len(specs) > 0 {
			continue
		}
		written := generator.Read(g.Ours())
		for i := range written {
			add(rowOfWritten(&written[i]), i+1)
		}
	}
	place := func(r *listRow) int {
		phase := cmp.Or(hookspec.Phase(r.Phase), generator.PostNodeup) // of one in a bucket that may be one of two
		return slices.Index(hookspec.Phases, phase)
	}
	slices.SortStableFunc(rows, func(a, b *listRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Hook, b.Hook))
	})
	return rows
}

func rowOf(h *hookspec.Resolved) listRow {
	return listRow{Hook: h.Name, Phase: string(h.Phase), Weight: h.Weight, Run: h.Frequency(), Spec: h.Doc.Spec.Metadata.Name}
}

// rowOfWritten is the row of a hook that a manifest holds: it does not say of which spec it is, nor, of one in a bucket, how
// often it runs.
func rowOfWritten(w *generator.Written) listRow {
	r := listRow{Hook: w.Name, Phase: string(w.Phase()), Run: w.Field("run")}
	r.Weight, _ = strconv.Atoi(w.Field("weight"))
	if r.Phase == string(generator.Boot) {
		r.Run = generator.EveryBoot
	}
	return r
}

// daemonHooks returns what the addon runs on the group's nodes. Bastions have no kubelet.
func daemonHooks(specs []*hookspec.Doc, g *plan.Group) []hookspec.Resolved {
	if g.Role == "Bastion" {
		return nil
	}
	who := plan.Selectable(g.Group)
	var chosen []*hookspec.Doc
	for _, d := range specs {
		if d.Selects(who) {
			chosen = append(chosen, d)
		}
	}
	var said report.Report // planning has said it all
	return slices.DeleteFunc(hookspec.ForGroup(chosen, who, &said), func(h hookspec.Resolved) bool { return h.Phase != hookspec.Daemon })
}

// formatFlag is -o; the first format is the default.
func formatFlag(formats ...string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formats[0],
		Usage: "`FORMAT`: " + strings.Join(formats, ", ")}
}

func unknownFormat(c *cli.Context) error {
	return report.Hint("run kopshook "+c.Command.Name+" --help", "unknown output format %q", c.String("output"))
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
