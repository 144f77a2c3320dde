// Package budget says how many bytes of user data an instance group takes, whether its cloud takes that many, and what
// to do when it does not.
package budget

import (
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
)

// Input is an instance group and its hooks.
type Input struct {
	Cloud kops.CloudProviderID // "" when it is not known
	Role  string               // ControlPlane, APIServer, Node or Bastion
	Proxy bool                 // kops writes proxy settings into its script
	Plain bool                 // the message has plain line ends, as in an EC2NodeClass; kops itself writes CR LF
	// Base is kops' bootstrap script; nil when it is not known, and then estimated
	Base   []byte
	Theirs []generator.UserData // parts of the user's own

	Group   generator.InstanceGroup
	Runtime string
	Hooks   []generator.Hook
	Parts   []generator.UserData // what generator.Generate makes of these
}

// Verdict says whether user data fits.
type Verdict string

const (
	Fits      Verdict = "fits"
	MayNotFit Verdict = "may not fit"
	TooLarge  Verdict = "too large"
)

// Result is what Check finds. Sizes are in bytes, of base64 where the limit is on that. Low and High differ when kops'
// script is estimated, or when it is not written whether the limit is on base64.
type Result struct {
	Limit   Limit   `json:"limit"`
	Known   bool    `json:"cloudKnown"` // else Limit is the smallest of all clouds, that of AWS
	Exact   bool    `json:"exact"`      // else kops' script is estimated
	Low     int     `json:"low"`
	High    int     `json:"high"`
	Verdict Verdict `json:"verdict"`
	Items   []Item  `json:"items"`
	Remedy  *Remedy `json:"remedy,omitempty"` // unless it fits
}

// Item is what a part takes, framing included, in bytes before base64.
type Item struct {
	Name  string `json:"name"`           // of the part
	Hook  string `json:"hook,omitempty"` // "" for kops' script, parts of the user's own, and the runtime
	Bytes int    `json:"bytes"`
	// Compressed is what it takes with compress: true; 0 when it is compressed already, cannot be, or when all fits
	Compressed int `json:"compressed,omitempty"`
}

// Check measures. It is pure; its error is that of generator.Generate.
func Check(in Input) (*Result, error) {
	r := &Result{}
	r.Limit, r.Known = limits[in.Cloud]
	if !r.Known {
		r.Limit = limits[kops.CloudProviderAWS]
	}
	low, high := in.totals(in.Parts)
	r.Exact = in.exact()
	r.Low, r.High = r.Limit.count(low), r.Limit.count(high)
	if r.Limit.doubt {
		r.Low = low
	}
	switch {
	case r.Low > r.certain():
		r.Verdict = TooLarge
	case r.High > r.Limit.Bytes:
		r.Verdict = MayNotFit
	default:
		r.Verdict = Fits
		r.Items = in.items(nil)
		return r, nil
	}
	packed, err := generator.Generate(in.Group, in.Runtime, compressed(in.Hooks, nil))
	if err != nil {
		return nil, err
	}
	r.Items = in.items(packed)
	r.Remedy, err = in.remedy(r)
	return r, err
}

// Percent is what the user data takes at most of what the cloud takes.
func (r *Result) Percent() int { return r.Told() * 100 / r.Limit.Bytes }

// Told is the number of bytes that is told: the most that it may be, and of what is too large the least.
func (r *Result) Told() int {
	if r.Verdict == TooLarge {
		return r.Low
	}
	return r.High
}

// Takes is "up to 16,344 of 16,384 bytes that AWS takes"; of what is too large, the least that it may be.
func (r *Result) Takes() string {
	size := report.Thousands(r.Told())
	if r.Verdict != TooLarge && !r.Exact {
		size = "up to " + size
	}
	return fmt.Sprintf("%s of %s bytes that %s takes", size, report.Thousands(r.Limit.Bytes), r.Limit.Cloud)
}

// certain is the limit that is exceeded for certain: of a cloud that is not known, the largest of all.
func (r *Result) certain() int {
	if r.Known {
		return r.Limit.Bytes
	}
	largest := 0
	for _, l := range limits {
		largest = max(largest, l.Bytes)
	}
	return largest
}

// count is what the limit counts of n bytes.
func (l Limit) count(n int) int {
	if l.Encoded {
		return base64.StdEncoding.EncodedLen(n)
	}
	return n
}

// totals returns the size of the whole message: the same twice when kops' script is known.
func (in *Input) totals(ours []generator.UserData) (low, high int) {
	all := append(append([]generator.UserData{}, in.Theirs...), ours...)
	var parts []cloudinit.Part
	for _, p := range all {
		parts = append(parts, cloudinit.Part(p))
	}
	n := len(in.message(in.Base, in.Role, parts))
	if in.exact() {
		return n, n
	}
	s := in.script()
	return n + s.low, n + s.high
}

// exact says whether kops' script is known. A Bastion has none.
func (in *Input) exact() bool { return in.Base != nil || in.Role == "Bastion" }

func (in *Input) script() script { return scriptOf(in.Role, in.Group.Cluster, in.Proxy) }

// items lists what takes how much: kops' script, the user's parts, the runtime, each hook.
func (in *Input) items(packed []generator.UserData) []Item {
	var items []Item
	if in.Role != "Bastion" {
		nodeup := Item{Name: "nodeup.sh", Bytes: len(in.Base)}
		if in.Base == nil {
			nodeup.Bytes = in.script().high
		}
		if len(in.Theirs)+len(in.Parts) > 0 { // alone it is sent as it is
			nodeup.Bytes += in.framing(nodeup.Name, cloudinit.TypeShellScript)
		}
		items = append(items, nodeup)
	}
	for _, p := range in.Theirs {
		items = append(items, Item{Name: p.Name, Bytes: in.sizeOf(p)})
	}
	small := map[string]int{}
	for _, p := range packed {
		small[p.Name] = in.sizeOf(p)
	}
	for _, p := range in.Parts {
		it := Item{Name: p.Name, Hook: in.hookOf(p.Name), Bytes: in.sizeOf(p)}
		if n, ok := small[p.Name]; ok && it.Hook != "" && n < it.Bytes {
			it.Compressed = small[p.Name]
		}
		items = append(items, it)
	}
	return items
}

// hookOf finds the hook that a part is of, "" for none of these.
func (in *Input) hookOf(part string) string {
	_, name, ok := generator.HookOfPart(part)
	if !ok || !slices.ContainsFunc(in.Hooks, func(h generator.Hook) bool { return h.Name == name }) {
		return ""
	}
	return name
}

func (in *Input) sizeOf(p generator.UserData) int { return len(p.Content) + in.framing(p.Name, p.Type) }

// framing is what a part takes beside its content.
func (in *Input) framing(name, typ string) int {
	part := cloudinit.Part{Name: name, Type: typ}
	return len(in.message(nil, "Bastion", []cloudinit.Part{part, part})) - len(in.message(nil, "Bastion", []cloudinit.Part{part}))
}

func (in *Input) message(nodeup []byte, role string, parts []cloudinit.Part) []byte {
	if in.Plain {
		return cloudinit.TextMessage(nodeup, role, parts)
	}
	return cloudinit.Message(nodeup, role, parts)
}

// compressed returns the hooks, those with the names compressed; nil names are all. A bootcmd cannot be.
func compressed(hooks []generator.Hook, names []string) []generator.Hook {
	out := append([]generator.Hook{}, hooks...)
	for i := range out {
		if out[i].Phase != generator.Boot && (names == nil || slices.Contains(names, out[i].Name)) {
			out[i].Compress = true
		}
	}
	return out
}
