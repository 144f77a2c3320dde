package cloudinit

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// typeNotMultipart is the type of user data that is no MIME message at all.
const typeNotMultipart = "text/x-not-multipart"

// typeUpstart is the type of jobs for upstart, which old versions handle.
const typeUpstart = "text/upstart-job"

// sniffed are the beginnings that tell a type, longest first (cloudinit/handlers/__init__.py:42).
var sniffed = [...]struct{ prefix, typ string }{
	{TypePerInstance, TypePerInstance},
	{TypePerBoot, TypePerBoot},
	{TypePerOnce, TypePerOnce},
	{"#cloud-config-archive", TypeArchive},
	{"#cloud-config-jsonp", TypeCloudConfigJSONP},
	{"## template: jinja", TypeJinja},
	{"#cloud-boothook", TypeBoothook},
	{"#cloud-config", TypeCloudConfig},
	{"#include-once", TypeIncludeOnce},
	{"#part-handler", TypePartHandler},
	{"#include", TypeInclude},
	{"#!", TypeShellScript},
}

// Sniff returns the type that contents begin like, or "". White space before it and its case do not count.
func Sniff(contents string) string {
	head := sniffHead(contents)
	for _, s := range sniffed {
		if strings.HasPrefix(head, s.prefix) {
			return s.typ
		}
	}
	return ""
}

// sniffHead is what counts of contents. No prefix is longer than 64 bytes.
func sniffHead(contents string) string {
	head := strings.TrimLeftFunc(contents, pyyaml.IsSpace)
	return pyLower(head[:min(len(head), 128)])
}

// sniff is Sniff as a version does it.
func (v Version) sniff(contents string) string {
	switch typ := Sniff(contents); {
	case isByFrequency(typ) && !v.has(scriptsByFrequency):
		return ""
	case typ == "" && !v.has(upstartIsGone) && strings.HasPrefix(sniffHead(contents), "#upstart-job"):
		return typeUpstart
	default:
		return typ
	}
}

func isByFrequency(typ string) bool {
	return typ == TypePerBoot || typ == TypePerInstance || typ == TypePerOnce
}

// isGzip: the types of a compressed part (cloudinit/user_data.py:38).
func isGzip(typ string) bool {
	switch typ {
	case "application/gzip", "application/gzip-compressed", "application/gzipped", "application/x-compress",
		"application/x-compressed", "application/x-gunzip", "application/x-gzip", "application/x-gzip-compressed":
		return true
	}
	return false
}

// convert makes a message of user data (cloudinit/user_data.py:367, convert_string).
func (r *reader) convert(data []byte) *message {
	text := string(data)
	if plain, err := Gunzip(text); err == nil && plain != text {
		text = plain
		r.data, r.spans = text, nil
	}
	if !strings.Contains(strings.ToLower(text[:min(len(text), 4096)]), "mime-version:") {
		return &message{headers: []header{{"Content-Type", typeNotMultipart}, {"MIME-Version", "1.0"}}, payload: text, raw: true}
	}
	if !utf8.ValidString(text) {
		at := strings.IndexFunc(text, func(c rune) bool { return c == utf8.RuneError })
		panic(Loss{Kind: LostAll, What: "all of the user data", Why: "a byte is not UTF-8, and cloud-init decodes all of the message at once",
			At: r.locateByte(at), By: At{Part: -1}})
	}
	return parseEmail(text, r.Version)
}

// process flattens a message into the list of parts that will be handled (cloudinit/user_data.py:91, _process_msg).
func (r *reader) process(base *message) {
	var parts []*message
	base.walk(func(m *message) { parts = append(parts, m) })
	for _, m := range parts {
		if m.mainType() == "multipart" {
			continue
		}
		r.processPart(m)
	}
}

func (r *reader) processPart(m *message) {
	declared := m.contentType()
	m.origin.declared = declared
	payload, ok := m.decoded(r.Version)
	typ := declared
	if isGzip(declared) {
		plain, err := Gunzip(payload)
		if err != nil || !utf8.ValidString(plain) {
			r.fatal(m, "the part cannot be decompressed")
		}
		typ = "text/plain"
		if s := r.Version.sniff(plain); s != "" {
			typ = s
		}
		n := &message{defaultType: "text/plain", payload: plain, origin: origin{none: true, declared: declared}}
		n.headers = []header{{"Content-Type", typ}, {"MIME-Version", "1.0"}}
		if name := m.filename(); name != "" {
			n.setFilename(name)
		}
		if index, ok := m.get("Launch-Index"); ok {
			n.replace("Launch-Index", index)
		}
		m, payload = n, plain
	} else if declared == "text/plain" || declared == typeNotMultipart || declared == TypeShellScript {
		// a script must begin with #!, so these types are not trusted; all others are
		if s := r.Version.sniff(payload); ok && s != "" {
			typ = s
		}
	}
	if typ != declared {
		m.replace("Content-Type", typ)
	}
	switch typ {
	case TypeInclude, TypeIncludeOnce:
		r.fate(m, typ).Unhandled = true
		r.lose(Loss{Kind: Unpredictable, Name: m.filename(), What: "the part", At: r.start(m),
			Why: "it includes what its URLs serve when the node boots"})
	case TypeArchive:
		r.explode(m, payload)
	default:
		r.attach(m)
	}
}

// attach appends a part to those that will be handled (cloudinit/user_data.py:344).
func (r *reader) attach(m *message) {
	if m.filename() == "" {
		m.setFilename(partName(len(r.attached) + 1))
	}
	r.launchIndex(m)
	r.attached = append(r.attached, m)
}

func partName(n int) string {
	s := strconv.Itoa(n)
	return "part-" + strings.Repeat("0", max(0, 3-len(s))) + s
}

// launchIndex copies a cloud-config's own launch-index into the header of that name
// (cloudinit/user_data.py:172, _attach_launch_index).
func (r *reader) launchIndex(m *message) {
	var index *big.Int
	if m.contentType() == TypeCloudConfig && !m.container {
		payload, _ := m.decoded(r.Version)
		if v, err := r.load(m, payload); err == nil && v.IsDict() && utf8.ValidString(payload) {
			index = r.toInt(m, v.Get("launch-index"))
		}
	}
	if h, ok := m.get("Launch-Index"); ok {
		index, ok = pyyaml.PythonInt(h, 10)
		if !ok {
			return
		}
	}
	if index != nil {
		m.add("Launch-Index", index.String())
	}
}

// toInt is Python's int(v); nil where that fails.
func (r *reader) toInt(m *message, v *pyyaml.Value) *big.Int {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case pyyaml.Int:
		return v.Int
	case pyyaml.Bool:
		if v.Bool {
			return big.NewInt(1)
		}
		return new(big.Int)
	case pyyaml.Float:
		if math.IsInf(v.Float, 0) {
			r.fatal(m, "launch-index is infinite")
		}
		if !math.IsNaN(v.Float) {
			n, _ := big.NewFloat(v.Float).Int(nil)
			return n
		}
	case pyyaml.Str, pyyaml.Bytes:
		if n, ok := pyyaml.PythonInt(v.Str, 10); ok {
			return n
		}
	}
	return nil
}

// selected says whether a part is for this instance (cloudinit/filters/launch_index.py).
func (r *reader) selected(m *message) bool {
	if r.LaunchIndex == nil {
		return true
	}
	h, ok := m.get("Launch-Index")
	if !ok {
		return true
	}
	n, ok := pyyaml.PythonInt(h, 10)
	return ok && n.IsInt64() && n.Int64() == int64(*r.LaunchIndex)
}

// selection is a message without those inside of it that are for other instances.
func (r *reader) selection(m *message) *message {
	if !m.container {
		return m
	}
	chosen := *m
	chosen.children = nil
	for _, c := range m.children {
		if r.selected(c) {
			chosen.children = append(chosen.children, r.selection(c))
		}
	}
	return &chosen
}

// loaded is a part's YAML.
type loaded struct {
	value *pyyaml.Value
	err   error
	text  int
}

// load reads a part's contents as YAML, once.
func (r *reader) load(m *message, text string) (*pyyaml.Value, error) {
	l, ok := r.loaded[m]
	if !ok {
		l.text = r.addText(&source{text: text, m: m})
		l.value, l.err = pyyaml.Load(text)
		mark(l.value, l.text, map[*pyyaml.Value]bool{})
		r.loaded[m] = l
	}
	return l.value, l.err
}

// mark notes in a tree of values which text it came from.
func mark(v *pyyaml.Value, text int, seen map[*pyyaml.Value]bool) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	v.Part = text
	for _, item := range v.Items {
		mark(item, text, seen)
	}
	for _, list := range [][]pyyaml.Entry{v.Entries, v.Shadowed} {
		for _, e := range list {
			mark(e.Key, text, seen)
			mark(e.Value, text, seen)
		}
	}
}

// uncaught says whether an error of pyyaml is one that cloud-init's load_yaml lets through.
func uncaught(err error) bool {
	var e *pyyaml.Error
	return errors.As(err, &e) && e.Uncaught
}

// store is where cloud-init writes the flattened message to disk (cloudinit/stages.py, _store_processeddata). It dies of
// headers that would run into the next line.
func (r *reader) store() {
	for _, m := range r.attached {
		m.walk(func(part *message) {
			for _, h := range part.headers {
				if breaksOut(h) {
					r.fatal(m, "the header %s holds a line break", strings.Join(strings.Fields(h.name), " "))
				}
			}
		})
	}
}

// breaksOut says whether a header, when it is written, has a line that is no continuation
// (Lib/email/generator.py, NEWLINE_WITHOUT_FWSP).
func breaksOut(h header) bool {
	for i := 0; i+1 < len(h.name); i++ {
		next := h.name[i+1]
		if (h.name[i] == '\n' || h.name[i] == '\r' && next != '\n') && next != ' ' && next != '\t' {
			return true
		}
	}
	if !isASCII(h.value) {
		return false // it is encoded
	}
	for i, l := range pyLines(h.value) {
		if i > 0 && l != "" && l[0] != ' ' && l[0] != '\t' && strings.TrimFunc(l, pyyaml.IsSpace) != "" {
			return true
		}
	}
	return false
}

// pyLines is Python's str.splitlines of ASCII text.
func pyLines(s string) []string {
	isBreak := func(c byte) bool { return c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e }
	var lines []string
	start := 0
	for i := 0; i < len(s); i++ {
		if !isBreak(s[i]) {
			continue
		}
		lines = append(lines, s[start:i])
		if s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n' {
			i++
		}
		start = i + 1
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}
