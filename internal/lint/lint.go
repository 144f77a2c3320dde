package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/budget"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// Group is an instance group with the user data that its nodes will get.
type Group struct {
	*instancegroups.Group
	Label  string          // what messages call it, "" for its name
	File   string          // as the user gave it
	Source *sourcemap.Text // of the file; nil when positions inside of parts are not to be told
	// Parts of the user data, the user's own before kopshook's.
	Parts []cloudinit.Part
	// Archive is what lies in the bucket that the parts name, nil when there is none or nobody knows.
	Archive []generator.File
	// Size of the user data, nil when it is not known.
	Size *budget.Result
}

// Options are those of the model.
type Options struct {
	cloudinit.Options
}

// Finding is what a rule has to say, and how that can be fixed.
type Finding struct {
	report.Finding
	Rule *Rule
	// Effect is what it means for the nodes.
	Effect Effect
	// Hook names the hook of a spec that it is about, "" where it is about user data.
	Hook string
	// Fix are edits of the file that fix it, if there is one way that is right for everybody.
	Fix []Edit
	// whole is set where the finding is about a part as a whole: a comment anywhere in the part switches it off.
	whole bool
	part  int
}

// Edit replaces the bytes from Start to End of File by New.
type Edit struct {
	File       string
	Start, End int
	New        string
}

// Check looks at an instance group. Findings stand in the order of the file.
func Check(g *Group, opts Options) []Finding {
	found, _ := Look(g, opts)
	return found
}

// Look is Check that returns what the model of cloud-init says as well.
func Look(g *Group, opts Options) ([]Finding, *cloudinit.Result) {
	p := readPass(g, opts)
	p.checkGroup()
	if len(g.Parts) > 0 {
		p.collect()
		p.checkLosses()
		p.checkParts()
		p.checkConfigs()
		p.checkFiles()
		p.checkUnits()
		p.checkShell()
		p.checkSecrets()
		p.checkNative()
		p.checkImage()
		p.checkDriver()
		p.checkTwice()
		p.checkReboots()
		p.checkSwap()
		p.checkDirection()
		checkNodeupFiles(p, p.files, p.shells)
		p.checkTime()
		p.checkWaits()
		p.checkWarmPool()
	}
	return p.settle(), p.result
}

// settle sorts findings, and drops those that are switched off or said already.
func (p *pass) settle() []Finding {
	part := func(f Finding) int { // of user data, the files are its parts; what is in none of them comes last
		i := slices.IndexFunc(p.g.Parts, func(part cloudinit.Part) bool { return p.g.File == "" && part.Name == f.File })
		if i < 0 {
			return len(p.g.Parts)
		}
		return i
	}
	slices.SortStableFunc(p.found, func(a, b Finding) int { return cmp.Or(part(a)-part(b), comparePlaces(a, b)) })
	type key struct {
		pos  report.Position
		code string
		msg  string
	}
	seen := map[key]bool{}
	kept := p.found[:0]
	for _, f := range p.found {
		k := key{f.Position, f.Code, f.Message}
		if seen[k] || p.ignored(f) {
			continue
		}
		seen[k] = true
		kept = append(kept, f)
	}
	return kept
}

func comparePlaces(a, b Finding) int {
	switch {
	case a.Line != b.Line:
		return a.Line - b.Line
	case a.Col != b.Col:
		return a.Col - b.Col
	}
	return strings.Compare(a.Code, b.Code)
}

// pass is one look at one instance group.
type pass struct {
	g      *Group
	opts   Options
	result *cloudinit.Result
	// of each part, made when a place in it is asked for
	maps   []sourcemap.Map
	mapped []bool
	texts  []*sourcemap.Text
	items  []int // see item
	found  []Finding

	shells []*shellText
	files  []*file
	// what entries of write_files write, made when one is asked for
	contents map[cloudinit.At]string
}

// readPass is a pass with what cloud-init does with the parts.
func readPass(g *Group, opts Options) *pass {
	p := newPass(g)
	p.opts = opts
	if opts.Version == (cloudinit.Version{}) {
		p.opts.Version = cloudinit.VersionOf(g.Object.Spec.Image)
	}
	p.read()
	return p
}

// Read is what cloud-init does with the parts of a group, for all who ask: where a comment switches KH041 off, the image has the
// account that the model does not know.
func Read(g *Group, opts Options) *cloudinit.Result { return readPass(g, opts).result }

func (p *pass) read() {
	for more := true; more; { // an entry that fails hides those behind it
		p.result = cloudinit.ReadParts(nil, p.g.Role, p.g.Parts, p.opts.Options)
		more = false
		for _, l := range p.result.Lost {
			if l.User == "" && l.Group == "" || !p.ignored(Finding{Finding: report.Finding{Code: "KH041", Position: p.place(l.At)}}) {
				continue
			}
			more = true
			if l.User != "" {
				p.opts.Users = append(slices.Clip(p.opts.Users), l.User)
			} else {
				p.opts.Groups = append(slices.Clip(p.opts.Groups), l.Group)
			}
		}
	}
}

func newPass(g *Group) *pass {
	n := len(g.Parts)
	return &pass{g: g, maps: make([]sourcemap.Map, n), mapped: make([]bool, n), texts: make([]*sourcemap.Text, n)}
}

// theirs says whether a part is the user's own.
func (p *pass) theirs(part int) bool {
	return part >= 0 && part < len(p.g.Parts) && !strings.HasPrefix(p.g.Parts[part].Name, instancegroups.Prefix)
}

// item returns the number in the file of a part of the user's. Parts of kopshook's may stand before it there.
func (p *pass) item(part int) string {
	if p.items == nil {
		var own []int // numbers in the file of the user's parts
		for i, u := range p.g.Object.Spec.AdditionalUserData {
			if !strings.HasPrefix(u.Name, instancegroups.Prefix) {
				own = append(own, i)
			}
		}
		p.items = make([]int, len(p.g.Parts))
		n := 0
		for i := range p.items {
			p.items[i] = i
			if n < len(own) {
				p.items[i] = own[n]
			}
			if p.theirs(i) {
				n++
			}
		}
	}
	return strconv.Itoa(p.items[part])
}

// place returns where something in a part stands in the user's file: its line and column, or the part's content.
func (p *pass) place(at cloudinit.At) report.Position {
	pos := report.Position{File: p.g.File, Line: p.g.Line}
	if !p.theirs(at.Part) {
		return pos
	}
	if p.g.File == "" { // it is the user data of a machine, and its parts are files
		return report.Position{File: p.g.Parts[at.Part].Name, Line: at.Line, Col: at.Col}
	}
	pos.Line, pos.Col = p.g.Position("spec", "additionalUserData", p.item(at.Part), "content")
	if offset, ok := p.offset(at); ok {
		pos.Line, pos.Col = p.g.Source.Place(offset)
	}
	return pos
}

// field returns where a field of a part stands.
func (p *pass) field(part int, name string) report.Position {
	pos := report.Position{File: p.g.File, Line: p.g.Line}
	if p.theirs(part) {
		pos.Line, pos.Col = p.g.Position("spec", "additionalUserData", p.item(part), name)
	}
	return pos
}

// offset returns the offset in the file of a place in a part.
func (p *pass) offset(at cloudinit.At) (int, bool) {
	if p.g.Source == nil || !p.theirs(at.Part) {
		return 0, false
	}
	content := p.g.Parts[at.Part].Content
	if !p.mapped[at.Part] {
		p.mapped[at.Part] = true
		line, col := p.g.Position("spec", "additionalUserData", p.item(at.Part), "content")
		p.maps[at.Part] = p.g.Source.Map(line, col, content)
	}
	m := p.maps[at.Part]
	if m == nil || at.Line == 0 {
		return 0, false
	}
	i := p.text(at.Part).Offset(at.Line, at.Col)
	if i >= len(m) {
		return 0, false
	}
	return m[i], true
}

// text returns the content of a part.
func (p *pass) text(part int) *sourcemap.Text {
	if p.texts[part] == nil {
		p.texts[part] = sourcemap.New([]byte(p.g.Parts[part].Content))
	}
	return p.texts[part]
}

// edit returns the edit that replaces bytes of a part, if the file is written so that it can be made.
func (p *pass) edit(part, start, end int, new string) []Edit {
	if _, ok := p.offset(cloudinit.At{Part: part, Line: 1, Col: 1}); !ok {
		return nil
	}
	m := p.maps[part]
	return []Edit{{File: p.g.File, Start: m[start], End: m[end], New: new}}
}

// option of a finding.
type option func(*Finding)

func severity(s report.Severity) option { return func(f *Finding) { f.Severity = s } }
func fix(edits ...Edit) option          { return func(f *Finding) { f.Fix = append(f.Fix, edits...) } }
func wholePart(part int) option         { return func(f *Finding) { f.whole, f.part = true, part } }
func remedy(format string, args ...any) option {
	return func(f *Finding) { f.Remedy = fmt.Sprintf(format, args...) }
}

// add records a finding. Its remedy is the rule's, unless an option says another.
func (p *pass) add(code string, pos report.Position, message string, options ...option) {
	rule := RuleOf(code)
	f := Finding{Rule: rule, part: -1}
	f.Finding = report.Finding{Severity: rule.Severity, Code: code, Position: pos, Message: message, Remedy: rule.Remedy}
	for _, o := range options {
		o(&f)
	}
	f.settle()
	p.found = append(p.found, f)
}

// Places finds places of a group's parts in the user's file.
type Places struct{ p *pass }

// NewPlaces looks at the parts of a group.
func NewPlaces(g *Group) *Places {
	return &Places{newPass(g)}
}

// Of returns where something in a part stands in the user's file; the zero Position when it is in none of the user's.
func (p *Places) Of(at cloudinit.At) report.Position {
	if !p.p.theirs(at.Part) {
		return report.Position{}
	}
	return p.p.place(at)
}
