package cloudinit

import (
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// explode makes parts of the items of a cloud-config-archive (cloudinit/user_data.py:276, _explode_archive). Nothing is
// caught there: an item of the wrong form takes all of the user data with it.
func (r *reader) explode(m *message, payload string) {
	r.fate(m, TypeArchive).Unhandled = true
	archive, err := r.load(m, payload)
	lost := Loss{Kind: LostPart, Name: m.filename(), What: "the archive", At: r.start(m)}
	switch {
	case err != nil && uncaught(err):
		r.fatal(m, "the archive cannot be read: %v", err)
	case err != nil:
		lost.Why, lost.At = "it cannot be read: "+err.Error(), r.locateError(r.texts[r.loaded[m].text], err)
		r.lose(lost)
		return
	case archive == nil:
		lost.Why = "it is empty"
		r.lose(lost)
		return
	case archive.Kind != pyyaml.List && archive.Kind != pyyaml.Set:
		lost.Why = "it is no list"
		r.lose(lost)
		return
	}
	items, _ := iterate(archive)
	for _, item := range items {
		entry := item
		if entry.IsString() {
			entry = &pyyaml.Value{Kind: pyyaml.Dict, Pos: item.Pos, Part: item.Part}
			entry.Set(str("content"), item)
		}
		if !entry.IsDict() {
			r.lose(Loss{Kind: LostPart, Name: m.filename(), What: "an item of the archive", Why: "it is " + item.Kind.Noun() + ", no mapping",
				At: r.locate(item)})
			continue
		}
		r.attach(r.item(m, entry))
	}
}

// item makes a part of an item of an archive.
func (r *reader) item(archive *message, entry *pyyaml.Value) *message {
	bad := func(why string) {
		panic(Loss{Kind: LostAll, Name: archive.filename(), What: "all of the user data", Why: "an item of the archive " + why,
			At: r.locate(entry), By: At{Part: -1}})
	}
	content := entry.Get("content")
	if content == nil {
		content = str("")
		content.Part = -1
	}
	typ := r.itemType(entry, content, bad)
	main, sub, ok := strings.Cut(typ, "/")
	if !ok {
		bad("has a type without a slash")
	}
	n := &message{defaultType: "text/plain", payload: content.Str}
	n.origin = origin{item: &inner{r.loaded[archive].text, content}, declared: pyLower(pyyaml.Strip(typ))}
	switch {
	case main == "text":
		if !content.IsString() && content.Kind != pyyaml.Bytes {
			bad("has content that is " + content.Kind.Noun())
		}
		if !utf8.ValidString(content.Str) {
			bad("has content that is not UTF-8")
		}
		n.raw = true
		n.headers = []header{{"Content-Type", "text/" + sub}, {"MIME-Version", "1.0"}, {"Content-Transfer-Encoding", "7bit"}}
	case content.IsString() || content.Kind == pyyaml.Bytes:
		n.raw = content.Kind == pyyaml.Bytes
		n.headers = []header{{"Content-Type", typ}, {"MIME-Version", "1.0"}}
	default:
		bad("has content that is " + content.Kind.Noun())
	}
	if entry.Has(str("filename")) {
		n.setFilename(orNone(entry.Get("filename")).String())
	}
	if entry.Has(str("launch-index")) {
		n.add("Launch-Index", entry.Get("launch-index").String())
	}
	for _, e := range entry.Entries {
		if !e.Key.IsString() {
			bad("has a key that is " + e.Key.Kind.Noun())
		}
		switch pyLower(e.Key.Str) {
		case "content", "filename", "type", "launch-index", "content-disposition", "number-attachments", "content-type":
			continue
		}
		switch {
		case e.Value.Kind == pyyaml.Null:
			n.add(e.Key.Str, "")
		case e.Value.IsString():
			n.add(e.Key.Str, e.Value.Str)
		default:
			bad("has a header " + e.Key.Str + " that is " + e.Value.Kind.Noun())
		}
	}
	return n
}

func orNone(v *pyyaml.Value) *pyyaml.Value {
	if v == nil {
		return &pyyaml.Value{}
	}
	return v
}

// itemType is the type that an item says, or that its content begins like.
func (r *reader) itemType(entry, content *pyyaml.Value, bad func(string)) string {
	typ := entry.Get("type")
	if typ.Truth() {
		if !typ.IsString() {
			bad("has a type that is " + typ.Kind.Noun())
		}
		return typ.Str
	}
	fallback := TypeCloudConfig
	switch {
	case content.Kind == pyyaml.Bytes:
		fallback = "application/octet-stream"
		if !utf8.ValidString(content.Str) {
			return fallback
		}
	case !content.IsString():
		bad("has content that is " + content.Kind.Noun())
	}
	if s := r.Version.sniff(content.Str); s != "" {
		return s
	}
	return fallback
}
