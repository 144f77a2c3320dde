package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/lint"
)

func (p *Proof) differ(format string, args ...any) {
	p.Differences = append(p.Differences, fmt.Sprintf(format, args...))
}

func (p *Proof) broken(format string, args ...any) {
	p.Broken = append(p.Broken, fmt.Sprintf(format, args...))
}

// compareRuns compares what runs: each thing that runs today must run then, in the same order, at the same time. edited are
// the names of hooks that stand for scripts though they may hold something else.
func (p *Proof) compareRuns(now, later *seen, edited map[string]string) {
	order := map[Moment]int{EarlyBoot: 0, BeforeNodeup: 1, BesideNodeup: 2, AfterNodeup: 3}
	slices.SortStableFunc(later.runs, func(a, b effect) int { return order[a.moment] - order[b.moment] }) // hooks come behind parts that stay
	match := make([]int, len(now.runs))                                                                   // in later.runs, -1 is nowhere
	used := make([]bool, len(later.runs))
	for i, t := range now.runs {
		match[i] = -1
		for j, l := range later.runs {
			if !used[j] && l.content == t.content {
				match[i], used[j] = j, true
				break
			}
		}
	}
	p.matchAppends(now, later, used)
	p.matchChanged(now, later, match, used)
	for i, t := range now.runs {
		for j, l := range later.runs {
			if match[i] < 0 && !used[j] && edited[t.content] == l.name {
				match[i], used[j] = j, true
			}
		}
	}
	last, before := -1, ""
	for i, t := range now.runs {
		j := match[i]
		if j < 0 {
			p.broken("%s runs today, and not with the hooks", t.name)
			continue
		}
		l := later.runs[j]
		if j < last {
			p.differ("%s runs after %s today, and before it with the hooks", t.name, before)
		}
		last, before = max(last, j), t.name
		if t.moment != l.moment {
			p.differ("%s runs %s today; as a hook it runs %s", t.name, t.moment, l.moment)
		}
		if t.every != l.every {
			p.broken("%s runs on every boot %s", t.name, map[bool]string{true: "today, and once with the hooks", false: "with the hooks, and once today"}[t.every])
		}
		if t.content == l.content {
			p.Runs++
			continue
		}
		p.differ("%s is not the same with the hooks:%s", t.name, diff(t.content, l.content))
	}
	for j, l := range later.runs {
		if !used[j] {
			p.broken("%s runs with the hooks, and not today", l.name)
		}
	}
}

// matchChanged pairs what is left by what it has most in common: its text but for characters that change on the way.
func (p *Proof) matchChanged(now, later *seen, match []int, used []bool) {
	for i, t := range now.runs {
		for j, l := range later.runs {
			if match[i] < 0 && !used[j] && ascii(l.content) == t.content {
				match[i], used[j] = j, true
			}
		}
	}
}

// ascii is what becomes of a text in a part that kops declares to be 7bit.
func ascii(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c < 0x100:
			b.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String()
}

// matchAppends finds the scripts that append what write_files appends today. They run before nodeup.
func (p *Proof) matchAppends(now, later *seen, used []bool) {
	for _, t := range now.appends {
		if i := slices.IndexFunc(later.appends, func(l effect) bool { return l == t }); i >= 0 {
			later.appends = slices.Delete(later.appends, i, i+1)
			p.Files++
			continue
		}
		found := false
		for j, l := range later.runs {
			if !found && !used[j] && l.content == t.content && l.moment == BeforeNodeup && !l.every {
				found, used[j] = true, true
			}
		}
		if !found {
			p.broken("write_files appends to %s today, and nothing does with the hooks", t.name)
			continue
		}
		p.Files++
	}
}

func (p *Proof) compareFiles(now, later *seen) {
	for _, path := range slices.Sorted(maps.Keys(now.files)) {
		t, l := now.files[path], later.files[path]
		switch {
		case l == nil:
			p.broken("%s is written today, and not with the hooks", path)
			continue
		case t.content != l.content:
			p.broken("%s holds something else with the hooks:%s", path, diff(t.content, l.content))
		}
		if t.mode != l.mode {
			p.broken("%s has mode %04o today, and %04o with the hooks", path, t.mode, l.mode)
		}
		if t.owner != l.owner {
			p.broken("%s belongs to %s today, and to %s with the hooks", path, t.owner, l.owner)
		}
		if *t == *l {
			p.Files++
		}
	}
	for _, path := range slices.Sorted(maps.Keys(later.files)) {
		if now.files[path] == nil {
			p.broken("%s is written with the hooks, and not today", path)
		}
	}
}

func (p *Proof) compareConfig(today, then *cloudinit.Result) {
	now, later := rest(today.Config), rest(then.Config)
	for _, e := range now.Entries {
		l := later.Lookup(e.Key)
		switch {
		case e.Value.Kind == pyyaml.Null && (l == nil || l.Kind == pyyaml.Null):
		case l == nil:
			p.broken("cloud-config has %s today, and not with the hooks", e.Key.String())
		case !same(e.Value, l):
			p.broken("%s of cloud-config is %s today, and %s with the hooks", e.Key.String(), e.Value.Repr(), l.Repr())
		default:
			p.Keys++
		}
	}
	for _, e := range later.Entries {
		if now.Lookup(e.Key) == nil {
			p.broken("cloud-config has %s with the hooks, and not today", e.Key.String())
		}
	}
}

// same is equality that tells 1 from true.
func same(a, b *pyyaml.Value) bool { return pyyaml.Equal(a, b) && a.Repr() == b.Repr() }

// rest is a configuration without what is compared by what it does.
func rest(config *pyyaml.Value) *pyyaml.Value {
	c := config.Copy()
	c.Entries = slices.DeleteFunc(slices.Clone(c.Entries), func(e pyyaml.Entry) bool {
		return e.Key.IsString() && (slices.Contains(commands, e.Key.Str) || e.Key.Str == "merge_how" || e.Key.Str == "merge_type")
	})
	return c
}

// moved tells of what is the same but for its time.
func (p *Proof) moved(a *Adopted) {
	var order []string // what is between, as it comes up
	files := map[string][]string{}
	for i, r := range a.Today.Runs {
		if r.File == nil || !a.takes(r.Part) {
			continue
		}
		between := a.between(i)
		if between == "" || slices.Contains(files[between], r.File.Path) {
			continue
		}
		if files[between] == nil {
			order = append(order, between)
		}
		files[between] = append(files[between], r.File.Path)
	}
	for _, between := range order {
		p.differ("%s: written before %s today, and after it with the hooks", strings.Join(files[between], ", "), between)
	}
	p.downloads(a)
	for _, r := range a.Today.Runs {
		const folder = "/var/lib/cloud/instance"
		if i := strings.Index(r.Content, folder); i >= 0 && a.takes(r.Part) {
			word := strings.FieldsFunc(r.Content[i:], func(c rune) bool { return strings.ContainsRune(" \t\n\"';|&)<>", c) })[0]
			if strings.Contains(word, "/scripts") {
				p.differ("%s names %s, where hooks are not: they are in /opt/kopshook/hooks", r.Name, word)
			}
		}
	}
}

// between says what cloud-init does between a file that it writes today, the run of that number, and hooks: keys of the
// configuration whose module comes later, and scripts that stay. Keys that the model knows no module of count as later than
// the init stage.
func (a *Adopted) between(file int) string {
	runs := func(key string) func(cloudinit.Run) bool {
		return func(r cloudinit.Run) bool {
			module := r.File == nil && r.What != "boothook" && !strings.HasPrefix(r.What, "script")
			return module && (slices.Contains(strings.Split(r.Name, ", "), key) || r.What == "packages" && strings.HasPrefix(key, "package_"))
		}
	}
	var keys []string
	for _, e := range passedThrough(a.Today.Config).Entries {
		key := e.Key.String()
		known := slices.ContainsFunc(a.Today.Runs, runs(key))
		later := slices.ContainsFunc(a.Today.Runs[file+1:], runs(key))
		if later || !known && a.Today.Runs[file].Stage == cloudinit.Init {
			keys = append(keys, key)
		}
	}
	var does []string
	if len(keys) > 0 {
		does = []string{"cloud-init does " + strings.Join(keys, ", ")}
	}
	for _, r := range a.Today.Runs[file+1:] {
		stays := r.Part >= 0 && !a.takes(r.Part) && !a.cannotRun(r)
		if stays && strings.HasPrefix(r.What, "script") && (r.What != "script" || r.Name < cloudinit.NodeupName) {
			does = append(does, r.Name+" runs")
		}
	}
	return strings.Join(does, ", ")
}

// cannotRun says whether the kernel refuses to run a script.
func (a *Adopted) cannotRun(r cloudinit.Run) bool {
	return slices.ContainsFunc(a.Today.Lost, func(l cloudinit.Loss) bool { return l.Kind == cloudinit.CannotRun && l.At == r.At })
}

// downloads tells of what may be needed for the download that comes before all hooks with a unit: kops' nodeup.sh fetches
// nodeup, which then starts them (kops pkg/model/resources/nodeup.go:45).
func (p *Proof) downloads(a *Adopted) {
	for _, r := range a.Today.Runs {
		before := r.File != nil || strings.HasPrefix(r.What, "script") && r.Name < cloudinit.NodeupName
		if !before || !a.takes(r.Part) {
			continue
		}
		text := r.Content
		if r.File != nil {
			text = r.File.Path
		}
		for _, word := range []string{"/etc/hosts", "resolv.conf", "resolved.conf", "resolvectl", "_proxy", "ca-certificates", "ca-trust",
			"/etc/ssl/", "netplan", "ip route", "iptables", "nftables"} {
			if strings.Contains(strings.ToLower(text), word) {
				p.differ("%s is about %s: it comes before nodeup.sh downloads nodeup today, and after that with the hooks; if the download needs it, let a script of phase boot do it", r.Name, word)
				break
			}
		}
	}
}

// diff shows which lines of two texts differ. Secrets are not for logs.
func diff(a, b string) string {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(a), B: difflib.SplitLines(b), Context: 0})
	if err != nil {
		return ""
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "@@"):
		case len(lint.Secrets(line)) > 0:
			out.WriteString("\n  " + line[:1] + "(a line with a secret)")
		default:
			out.WriteString("\n  " + strings.TrimRight(line, "\n"))
		}
	}
	return out.String()
}
