package cloudinit

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// script is a file that a part became.
type script struct {
	name    string // in its folder
	content string
	m       *message
}

// handled is what the handlers have made of the parts so far.
type handled struct {
	config  *pyyaml.Value // nil until the first cloud-config
	merged  int           // how many parts are merged into it
	drops   []drop
	joined  map[*pyyaml.Value][2]*pyyaml.Value // strings that mergers have joined, and what of
	scripts map[string]map[string]script       // by folder ("", per-boot, per-once, per-instance) and name
}

// handle gives each part to the handler of its type, in the message's order (cloudinit/handlers/__init__.py:257, walk).
func (r *reader) handle() {
	h := &handled{scripts: map[string]map[string]script{}, joined: map[*pyyaml.Value][2]*pyyaml.Value{}}
	number := 0
	for _, m := range r.attached {
		if !r.selected(m) {
			f := r.fate(m, m.contentType())
			f.Lost, f.Unhandled = true, true
			r.lose(Loss{Kind: LostPart, Name: m.filename(), What: "the part", At: r.start(m),
				Why: fmt.Sprintf("its launch-index is not %d, this instance's", *r.LaunchIndex)})
			continue
		}
		r.selection(m).walk(func(m *message) {
			if m.mainType() == "multipart" {
				return
			}
			name := m.filename()
			if name == "" {
				name = partName(number)
			}
			number++
			payload, _ := m.decoded(r.Version)
			r.handlePart(h, m, name, m.contentType(), payload)
		})
	}
	r.finish(h)
}

// fate records a part.
func (r *reader) fate(m *message, typ string) *Fate {
	r.result.Parts = append(r.result.Parts, Fate{At: r.start(m), Name: m.filename(), Declared: m.origin.declared, Type: typ})
	return &r.result.Parts[len(r.result.Parts)-1]
}

func (r *reader) handlePart(h *handled, m *message, name, typ, payload string) {
	r.fate(m, typ).File = cleanFilename(name)
	index := len(r.result.Parts) - 1
	r.changes(m, name, typ)
	var err error
	switch {
	case typ == typeUpstart && !r.Version.has(upstartIsGone):
		err = errors.New("it is a job for upstart, and the node has systemd")
	case isByFrequency(typ) && r.Version.has(scriptsByFrequency):
		err = r.shellScript(h, m, strings.TrimPrefix(typ, TypeShellScript+"-"), name[strings.LastIndexByte(name, '/')+1:], payload)
	default:
		err = r.handleType(h, m, name, typ, payload)
	}
	if err == nil {
		return
	}
	r.result.Parts[index].Lost = true
	l := Loss{Kind: LostPart, Name: name, What: "the part", Why: err.Error(), At: r.start(m)}
	var e *pyyaml.Error
	if errors.As(err, &e) {
		l.Why = "it is no YAML that cloud-init can read: " + e.Msg
		l.At = r.locateError(r.texts[len(r.texts)-1], e)
		if text, ok := r.loaded[m]; ok {
			l.At = r.locateError(r.texts[text.text], e)
		}
		if e.Unsure {
			l.Kind, l.Why = Unpredictable, e.Msg
		}
	}
	r.lose(l)
}

// handleType is what all versions do with a part of a type. An error loses the part.
func (r *reader) handleType(h *handled, m *message, name, typ, payload string) error {
	switch typ {
	case TypePartHandler:
		r.lose(Loss{Kind: Unpredictable, Name: name, What: "the part", At: r.start(m),
			Why: "it is Python code that cloud-init imports, and that may take over other parts"})
	case TypeCloudConfig, TypeCloudConfigJSONP:
		return r.cloudConfig(h, m, name, typ, payload, 0)
	case TypeShellScript:
		return r.shellScript(h, m, "", name, payload)
	case TypeBoothook:
		return r.boothook(m, name, payload)
	case TypeJinja:
		return r.jinja(h, m, name, payload)
	default:
		if payload != "" {
			return fmt.Errorf("cloud-init has no handler for the type %s", typ)
		}
	}
	return nil
}

// changes tells of characters that arrive as others, in a part that arrives.
func (r *reader) changes(m *message, name, typ string) {
	if m.raw || m.container || isASCII(m.payload) {
		return
	}
	for i, c := range m.payload {
		if c < utf8.RuneSelf {
			continue
		}
		if c < 0x100 {
			return // these lose the part
		}
		r.lose(Loss{Kind: Changed, Name: name, What: fmt.Sprintf("the character %q", c), At: r.locateByte(m.origin.offset + i),
			Why: fmt.Sprintf("kops declares 7bit, so it arrives as %s", rawUnicodeEscape(string(c)))})
		return
	}
}

var errNotUTF8 = errors.New("a character below U+0100 that is not ASCII: kops declares 7bit, so it arrives as a byte that is no UTF-8")

// write checks what cloudinit's util.write_file and the kernel refuse.
func writable(name, content string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("nothing is left of its name that could be a file's: %q", name)
	case len(name) > 255:
		return fmt.Errorf("its name has more than 255 characters")
	case !utf8.ValidString(content):
		return errNotUTF8
	}
	return nil
}

func (r *reader) shellScript(h *handled, m *message, folder, name, payload string) error {
	s := script{name: cleanFilename(name), content: dos2unix(payload), m: m}
	if err := writable(s.name, s.content); err != nil {
		return err
	}
	if h.scripts[folder] == nil {
		h.scripts[folder] = map[string]script{}
	}
	if old, ok := h.scripts[folder][s.name]; ok {
		r.lose(Loss{Kind: Overwritten, Name: old.m.filename(), What: "the script", At: r.start(old.m), By: r.start(m),
			Why: fmt.Sprintf("the part %q is written to the same file, %s", name, s.name)})
	}
	h.scripts[folder][s.name] = s
	return nil
}

func (r *reader) boothook(m *message, name, payload string) error {
	content := strings.TrimLeftFunc(strings.TrimPrefix(dos2unix(payload), "#cloud-boothook"), pyyaml.IsSpace)
	file := cleanFilename(name)
	if err := writable(file, content); err != nil {
		return err
	}
	r.result.Runs = append(r.result.Runs, Run{Stage: Init, What: "boothook", Name: file, EveryBoot: true, Content: content, At: r.start(m)})
	r.checkRuns(name, content, r.start(m))
	return nil
}

// checkRuns tells of a script that the kernel cannot run.
func (r *reader) checkRuns(name, content string, at At) {
	if why := cannotRun(content); why != "" {
		r.lose(Loss{Kind: CannotRun, Name: name, What: "the script", Why: why, At: at})
	}
}

// cannotRun says why the kernel refuses a script, or "".
func cannotRun(content string) string {
	if strings.HasPrefix(content, "\x7fELF") {
		return ""
	}
	first, _, _ := strings.Cut(content, "\n")
	interpreter := strings.Trim(strings.TrimPrefix(first, "#!"), " \t")
	switch {
	case !strings.HasPrefix(first, "#!"):
		return "it does not begin with #!, so the kernel does not know what runs it"
	case interpreter == "":
		return "no interpreter stands behind #!"
	case strings.HasSuffix(first, "\r"):
		return "its first line ends in a carriage return, and no interpreter is called that"
	}
	return ""
}

// cloudConfig merges a part into those before it (cloudinit/handlers/cloud_config.py:117). skip is the number of lines that
// a template has in front of payload.
func (r *reader) cloudConfig(h *handled, m *message, name, typ, payload string, skip int) error {
	if h.config == nil || h.config.Kind == pyyaml.Null || h.merged == 0 { // a patch may make it null
		h.config = &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	}
	if typ == TypeCloudConfigJSONP {
		config, err := patchJSON(h.config, strings.TrimPrefix(strings.TrimLeftFunc(payload, pyyaml.IsSpace), "#cloud-config-jsonp"))
		if err != nil {
			return err
		}
		h.config = config
		h.merged++
		return nil
	}
	part, text, err := r.loadConfig(m, payload, skip)
	if err != nil {
		return err
	}
	r.result.Parts[len(r.result.Parts)-1].Config = part
	config := part.Copy()
	specs, err := takeMergers(config)
	if err != nil {
		return err
	}
	header, err := parseMergers(mergeHeader(m))
	if err != nil {
		return err
	}
	specs = append(specs, header...)
	own := len(specs) > 0
	if !own {
		specs, _ = parseMergers(defaultMergers)
	}
	merge, err := newMerger(specs)
	if err != nil {
		return err
	}
	var drops []drop
	merge.joined = h.joined
	merge.dropped = func(path []string, old, new *pyyaml.Value, kept keptSide) {
		drops = append(drops, drop{path: joinPath(path), old: old, new: new, kept: kept, text: text, own: own})
	}
	merged, err := merge.merge(h.config, config)
	if err != nil {
		return err
	}
	r.shadowed(name, part, nil)
	h.config = merged
	h.drops = append(h.drops, drops...)
	h.merged++
	return nil
}

// loadConfig reads a part that must be a mapping.
func (r *reader) loadConfig(m *message, payload string, skip int) (*pyyaml.Value, int, error) {
	var v *pyyaml.Value
	var err error
	var text int
	if skip == 0 {
		v, err = r.load(m, payload)
		text = r.loaded[m].text
	} else {
		whole, _ := m.decoded(r.Version)
		text = r.addText(&source{text: whole, m: m, skip: skip})
		v, err = pyyaml.Load(payload)
		mark(v, text, map[*pyyaml.Value]bool{})
	}
	var e *pyyaml.Error
	switch {
	case err != nil && strings.HasPrefix(m.payload, "\ufeff") && !m.raw:
		return nil, 0, errors.New("it begins with a byte order mark, which arrives as the text \\ufeff")
	case errors.As(err, &e) && !utf8.ValidString(payload):
		e.Msg = errNotUTF8.Error()
		return nil, 0, e
	case err != nil:
		return nil, 0, err
	case v == nil:
		return nil, 0, errors.New("it is empty")
	case !v.IsDict():
		return nil, 0, fmt.Errorf("it is %s, no mapping", v.Kind.Noun())
	}
	return v, text, nil
}

// mergeHeader is how the headers of a part say it is to be merged. Their names are told by their case.
func mergeHeader(m *message) string {
	for _, name := range []string{"Merge-Type", "X-Merge-Type"} {
		for _, h := range m.headers {
			if h.name == name {
				if v, _ := m.get(name); v != "" {
					return v
				}
			}
		}
	}
	return ""
}

// jinja renders a template and gives it to the handler of what it has become (cloudinit/handlers/jinja_template.py:51).
func (r *reader) jinja(h *handled, m *message, name, payload string) error {
	rendered, err := r.render(payload)
	if errors.Is(err, errUnpredictable) {
		r.lose(Loss{Kind: Unpredictable, Name: name, What: "the template", Why: err.Error(), At: r.start(m)})
		return nil
	}
	if err != nil || rendered == "" {
		return err
	}
	switch r.Version.sniff(rendered) {
	case TypeCloudConfig, TypeCloudConfigJSONP:
		return r.cloudConfig(h, m, name, TypeJinja, rendered, 1)
	case TypeShellScript:
		return r.shellScript(h, m, "", name, rendered)
	}
	return errors.New("it is a template of neither a cloud-config nor a script")
}
