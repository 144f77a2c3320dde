package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/report"
)

// Remedy is the least that makes user data fit.
type Remedy struct {
	Compress []string `json:"compress,omitempty"` // hooks, those that save most first
	Archive  bool     `json:"archive,omitempty"`  // all hooks in one part, where compressing each is not enough
	Bucket   bool     `json:"bucket,omitempty"`   // the archive in a bucket, where nothing else is enough
	Move     []Move   `json:"move,omitempty"`     // files that the node downloads, largest first, where that is not enough
	High     int      `json:"high"`               // bytes with all of it done, as Result.High
	Suffices bool     `json:"suffices"`
}

// Writable says whether compress: and archive: alone, which `kopshook fit -w` writes, make it fit.
func (m *Remedy) Writable() bool { return m.Suffices && len(m.Move) == 0 && !m.Bucket }

// Move is a file to give by url: and sha256: in place of its content.
type Move struct {
	Hook  string `json:"hook"`
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// remedy finds the smallest set of hooks to compress: a hook's part depends on that hook alone, so those that save most
// are taken first. When all of them are not enough, all go into one archive; when that is not, files move to url:,
// largest first; when that is not, the archive goes into a bucket.
func (in *Input) remedy(r *Result) (*Remedy, error) {
	out := &Remedy{High: r.High}
	var candidates []Item
	for _, it := range r.Items {
		if it.Compressed > 0 {
			candidates = append(candidates, it)
		}
	}
	slices.SortStableFunc(candidates, func(a, b Item) int { return cmp.Compare(b.Bytes-b.Compressed, a.Bytes-a.Compressed) })
	hooks := in.Hooks
	apply := func() (done bool, err error) {
		parts, err := generator.Generate(in.Group, in.Runtime, hooks)
		if err != nil {
			return false, err
		}
		_, high := in.totals(parts)
		out.High = r.Limit.count(high)
		out.Suffices = out.High <= r.Limit.Bytes
		return out.Suffices, nil
	}
	for _, it := range candidates {
		if slices.Contains(out.Compress, it.Hook) {
			continue
		}
		out.Compress = append(out.Compress, it.Hook)
		hooks = compressed(in.Hooks, out.Compress)
		if done, err := apply(); done || err != nil {
			return out, err
		}
	}
	out.Compress, out.Archive = nil, true
	hooks = archived(in.Hooks)
	if done, err := apply(); done || err != nil {
		return out, err
	}
	if out.High >= r.High { // they are in one already
		out.Archive, out.High = false, r.High
		hooks = in.Hooks
	}
	for _, m := range largestFiles(hooks) {
		out.Move = append(out.Move, m)
		hooks = moved(hooks, m)
		if done, err := apply(); done || err != nil {
			return out, err
		}
	}
	if slices.ContainsFunc(in.Hooks, func(h generator.Hook) bool { return h.ArchiveURL != "" }) {
		return out, nil
	}
	others := *out
	*out = Remedy{Archive: !slices.ContainsFunc(in.Hooks, func(h generator.Hook) bool { return h.Archive }), Bucket: true}
	hooks = archived(in.Hooks)
	for i := range hooks {
		hooks[i].ArchiveURL = "s3://" + strings.Repeat("x", 40) // of usual length
	}
	if done, err := apply(); !done {
		*out = others
		return out, err
	}
	return out, nil
}

// archived returns the hooks in one archive.
func archived(hooks []generator.Hook) []generator.Hook {
	out := slices.Clone(hooks)
	for i := range out {
		out[i].Archive = true
	}
	return out
}

// largestFiles lists files that the node could download, largest first. Small ones gain nothing: their URL and sum
// take as much.
func largestFiles(hooks []generator.Hook) []Move {
	var files []Move
	for _, h := range hooks {
		for _, f := range h.Files {
			if len(f.URLs) == 0 && len(f.Content) > 256 {
				files = append(files, Move{h.Name, f.Path, len(f.Content)})
			}
		}
	}
	slices.SortStableFunc(files, func(a, b Move) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return files
}

// moved returns the hooks with the file given by a URL of usual length.
func moved(hooks []generator.Hook, m Move) []generator.Hook {
	out := slices.Clone(hooks)
	for i := range out {
		if out[i].Name != m.Hook {
			continue
		}
		out[i].Files = slices.Clone(out[i].Files)
		for j := range out[i].Files {
			if f := &out[i].Files[j]; f.Path == m.Path {
				f.Content = nil
				f.URLs = []string{"https://artifacts.example.com/" + strings.Repeat("x", 30)}
				f.SHA256 = strings.Repeat("0", 64)
			}
		}
	}
	return out
}

// Message says what is wrong, and hint what to do; both are empty when it fits.
func (r *Result) Message(group string) (message, hint string) {
	if r.Verdict == Fits {
		return "", ""
	}
	cloud := r.Limit.Cloud
	if r.Limit.Encoded {
		cloud += ", in base64,"
	}
	switch {
	case r.Low == r.High:
		message = fmt.Sprintf("instance group %q: %s bytes of user data do not fit: %s takes %s", group, report.Thousands(r.High), cloud, report.Thousands(r.Limit.Bytes))
	case r.Verdict == TooLarge && r.Low > r.Limit.Bytes:
		message = fmt.Sprintf("instance group %q: %s to %s bytes of user data do not fit: %s takes %s", group, report.Thousands(r.Low), report.Thousands(r.High), cloud, report.Thousands(r.Limit.Bytes))
	default:
		message = fmt.Sprintf("instance group %q: %s to %s bytes of user data may not fit: %s takes %s", group, report.Thousands(r.Low), report.Thousands(r.High), cloud, report.Thousands(r.Limit.Bytes))
	}
	if !r.Known {
		message += ", and the group's cloud is not known"
	}
	hint = r.Remedy.hint(r)
	if !r.Known {
		hint = "give the Cluster too, which names the cloud: `kops get all` prints it; " + hint
	}
	return message, hint
}

func (m *Remedy) hint(r *Result) string {
	var steps []string
	written := ""
	if m.Writable() {
		written = " (`kopshook fit -w` writes it)"
	}
	if len(m.Compress) > 0 {
		steps = append(steps, "compress: true for "+list(m.Compress)+written)
	}
	if m.Archive {
		steps = append(steps, "archive: true in the specs"+written)
	}
	if m.Bucket {
		steps = append(steps, "archiveURL: beside archive: true, with a bucket of yours and `kopshook push`,")
	}
	if len(m.Move) > 0 {
		var files []string
		for _, f := range m.Move {
			files = append(files, f.Path+" of "+f.Hook)
		}
		steps = append(steps, "url: and sha256: in place of the content of "+list(files))
	}
	do := strings.Join(steps, ", and ")
	switch {
	case m.Suffices:
		do += fmt.Sprintf(" makes it %s bytes", report.Thousands(m.High))
	case do == "":
		do = "make scripts shorter, or move their bulk into files with url: and sha256:"
	default:
		do = fmt.Sprintf("even %s leaves %s bytes: move the bulk of the scripts into files with url: and sha256:", do, report.Thousands(m.High))
	}
	if r.Exact {
		return do
	}
	const exact = "--base FILE, with user data that `kops update cluster --target=terraform` wrote, makes the estimate exact"
	if r.Verdict == MayNotFit {
		return exact + "; " + do
	}
	return do + "; " + exact
}

func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Table shows what takes how much, largest first, one line each.
func (r *Result) Table() []string {
	items := slices.Clone(r.Items)
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Bytes, a.Bytes) })
	width := 0
	for _, it := range items {
		width = max(width, len(it.label(r)))
	}
	column := ""
	if slices.ContainsFunc(items, func(it Item) bool { return it.Compressed > 0 }) {
		column = "compressed"
	}
	lines := []string{strings.TrimRight(fmt.Sprintf("%-*s  %7s  %10s", width, "part", "bytes", column), " ")}
	for _, it := range items {
		small := ""
		if it.Compressed > 0 {
			small = report.Thousands(it.Compressed)
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-*s  %7s  %10s", width, it.label(r), report.Thousands(it.Bytes), small), " "))
	}
	return lines
}

func (it Item) label(r *Result) string {
	switch {
	case it.Name == "nodeup.sh" && !r.Exact:
		return "nodeup.sh, of kops, at most"
	case it.Name == "nodeup.sh":
		return "nodeup.sh, of kops"
	case it.Hook != "":
		return it.Hook
	}
	return it.Name
}
