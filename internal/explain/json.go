package explain

import (
	"encoding/json"

	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/verdict"
	"kopshook.dev/kopshook/internal/waits"
)

// Explained is what explain -o json prints of an instance group; other programs build on it.
type Explained struct {
	InstanceGroup        string          `json:"instanceGroup"`
	Cluster              string          `json:"cluster,omitempty"`
	Verdict              verdict.Verdict `json:"verdict"`
	CloudInit            string          `json:"cloudInit"`
	EffectiveCloudConfig json.RawMessage `json:"effectiveCloudConfig"`
	Runs                 []Run           `json:"runs"`
	Waits                *JSONWaits      `json:"waits,omitempty"` // without hooks that the kubelet waits for it is not there
	Hooks                []JSONHook      `json:"hooks"`
	Lost                 []JSONLoss      `json:"lost"`
	NeverJoins           string          `json:"neverJoins,omitempty"` // why, where the verdict is that
	Size                 *budget.Result  `json:"size,omitempty"`
}

// Run is one thing that cloud-init does, in their order.
type Run struct {
	Stage     cloudinit.Stage `json:"stage"`
	What      string          `json:"what"`
	Name      string          `json:"name"`
	Owner     Owner           `json:"owner"`
	EveryBoot bool            `json:"everyBoot"`
	Place     string          `json:"place,omitempty"` // file:line
	File      *cloudinit.File `json:"file,omitempty"`
	Items     []RunItem       `json:"items,omitempty"`
	Never     bool            `json:"never,omitempty"` // the machine does not come that far
}

// RunItem is one command or package.
type RunItem struct {
	Text  string `json:"text"`
	Owner Owner  `json:"owner"`
	Place string `json:"place,omitempty"`
	Never bool   `json:"never,omitempty"`
}

// JSONHook is a hook that arrives on the node as a unit, in the order in which they run.
type JSONHook struct {
	Name  string `json:"name"`
	Phase string `json:"phase"` // "" where it is post-nodeup or post-kubelet, and InBucket

	*JSONUnit
	InBucket bool     `json:"inBucket,omitempty"` // without its spec: the fields of JSONUnit are not there
	Measured float64  `json:"measuredSeconds,omitempty"`
	Before   []string `json:"before,omitempty"` // further units that wait for it
	Place    string   `json:"place,omitempty"`  // file:line
	Never    bool     `json:"never,omitempty"`  // the machine does not come that far
}

// JSONUnit is what the unit of a hook tells.
type JSONUnit struct {
	EveryBoot bool    `json:"everyBoot"`
	PerImage  bool    `json:"oncePerImage"` // where the image has done it, only verify runs
	Blocks    bool    `json:"blocks"`
	Attempts  int     `json:"attempts"`
	Timeout   string  `json:"timeout"`
	Worst     float64 `json:"worstSeconds"` // all attempts and the delays between them
}

// JSONWaits is how long nodeup and the kubelet may wait for hooks, in seconds.
type JSONWaits struct {
	Nodeup   float64     `json:"nodeupSeconds"`
	Kubelet  float64     `json:"kubeletSeconds"`
	Slowest  string      `json:"slowest"`                   // the hook with the largest share
	Measured float64     `json:"measuredSeconds,omitempty"` // of the hooks that somebody measured
	Unknown  int         `json:"unknown,omitempty"`         // hooks in a bucket, which come on top of the seconds
	Limits   []JSONLimit `json:"limits"`
}

// JSONLimit is how long somebody waits for a machine.
type JSONLimit struct {
	Who      string  `json:"who"`
	Seconds  float64 `json:"seconds"`
	Option   string  `json:"option"`             // that sets it
	Exceeded *bool   `json:"exceeded,omitempty"` // hooks may take longer; nil where nobody knows
}

// JSONLoss is something that does not arrive as it was written.
type JSONLoss struct {
	Kind  cloudinit.LossKind `json:"kind"`
	Part  string             `json:"part"`
	Path  string             `json:"path,omitempty"`
	What  string             `json:"what"`
	Why   string             `json:"why"`
	Place string             `json:"place,omitempty"`
	By    string             `json:"by,omitempty"`
}

// JSON returns what is to be told of instance groups, for programs.
func JSON(all []Input) []Explained {
	list := []Explained{}
	for _, in := range all {
		m := newMaker(in)
		e := Explained{InstanceGroup: in.Group, CloudInit: in.Result.Version.String(), EffectiveCloudConfig: valueJSON(in.Result.Config),
			Runs: []Run{}, Hooks: []JSONHook{}, Lost: []JSONLoss{}, Cluster: in.Cluster, Verdict: in.Verdict, Size: in.Size}
		if in.Verdict.Kind == verdict.Never {
			e.NeverJoins = in.Verdict.Why
		}
		if w := waits.Kubelet(m.hooks); w.Slowest != nil && !in.Verdict.NoWait() {
			total, _ := (&Timeline{Waits: m.waits()}).took()
			e.Waits = &JSONWaits{waits.Nodeup(m.hooks).Total.Seconds(), w.Total.Seconds(), w.Slowest.Name, total.Seconds(), w.Unknown, []JSONLimit{}}
			for _, l := range m.limits() {
				limit, w := JSONLimit{Who: l.Who, Seconds: l.After.Seconds(), Option: l.Option}, l.Of(m.hooks)
				if over := w.Total > l.After; over || w.Unknown == 0 {
					limit.Exceeded = &over
				}
				e.Waits.Limits = append(e.Waits.Limits, limit)
			}
			e.Verdict = e.Verdict.WithLate(len(waits.Exceeded(m.limits(), m.hooks)) > 0)
		}
		for i, r := range in.Result.Runs {
			e.Runs = append(e.Runs, m.run(i, r))
		}
		for i, h := range m.hooks {
			unit := &JSONUnit{h.EveryBoot, h.PerImage, h.Holds() && !h.Continue, h.Attempts, report.Duration(h.Timeout), h.Worst().Seconds()}
			if h.Elsewhere {
				unit = nil
			}
			e.Hooks = append(e.Hooks, JSONHook{h.Name, string(h.Phase), unit, h.Elsewhere, in.Took[h.Name].Seconds(), h.Before, m.hookPlace(h.Name), !m.hookRuns(i)})
		}
		for _, l := range in.Result.Lost {
			e.Lost = append(e.Lost, JSONLoss{l.Kind, l.Name, l.Path, l.What, l.Why, m.place(l.At), m.place(l.By)})
		}
		list = append(list, e)
	}
	return list
}

func (m *maker) run(n int, r cloudinit.Run) Run {
	out := Run{Stage: r.Stage, What: r.What, Name: r.Name, Owner: m.owner(r.At), EveryBoot: r.EveryBoot, Place: m.place(r.At), File: r.File}
	if m.isNodeup(r) {
		out.Owner = Kops
	}
	out.Never = !m.runs(n, 0)
	for j, i := range r.Items {
		out.Items = append(out.Items, RunItem{i.Text, m.owner(i.At), m.place(i.At), !m.runs(n, j)})
	}
	return out
}

func (m *maker) owner(at cloudinit.At) Owner {
	if m.ours(at) {
		return Kopshook
	}
	return Yours
}

// valueJSON is a configuration as JSON: its keys become strings, and what JSON does not have becomes Python's name for it.
func valueJSON(v *pyyaml.Value) json.RawMessage {
	var b []byte
	str := func(s string) { q, _ := json.Marshal(s); b = append(b, q...) }
	var write func(v *pyyaml.Value)
	write = func(v *pyyaml.Value) {
		switch {
		case v == nil || v.Kind == pyyaml.Null:
			b = append(b, "null"...)
		case v.Kind == pyyaml.Bool && v.Bool:
			b = append(b, "true"...)
		case v.Kind == pyyaml.Bool:
			b = append(b, "false"...)
		case v.Kind == pyyaml.Int:
			b = append(b, v.Int.String()...)
		case v.Kind == pyyaml.Float && json.Valid([]byte(v.Repr())):
			b = append(b, v.Repr()...)
		case v.IsSequence():
			b = append(b, '[')
			for i, item := range v.Items {
				if i > 0 {
					b = append(b, ',')
				}
				write(item)
			}
			b = append(b, ']')
		case v.IsDict():
			b = append(b, '{')
			for i, e := range v.Entries {
				if i > 0 {
					b = append(b, ',')
				}
				str(e.Key.String())
				b = append(b, ':')
				write(e.Value)
			}
			b = append(b, '}')
		default:
			str(v.String())
		}
	}
	write(v)
	return b
}
