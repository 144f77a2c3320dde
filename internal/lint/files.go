package lint

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/report"
)

// checkFiles looks at entries of write_files.
func (p *pass) checkFiles() {
	for _, f := range p.files {
		if f.entry == nil {
			continue
		}
		p.checkMode(f)
		p.checkEncoding(f)
		if s := f.entry.Get("source"); s.IsDict() && s.Get("uri").Truth() {
			p.add("KH043", p.place(p.result.At(f.entry.Get("source"))), fmt.Sprintf("%s: cloud-init before 24.3 does not know source, and writes an empty file", f.path))
		}
	}
}

func (p *pass) checkMode(f *file) {
	v := f.entry.Get("permissions")
	if v == nil || v.Kind == pyyaml.Null {
		return
	}
	pos := p.place(p.result.At(v))
	switch {
	case v.Kind == pyyaml.Int && strings.HasPrefix(v.Text, "0") && v.Text != "0":
		p.add("KH040", pos, fmt.Sprintf("%s: permissions %s without quotes are octal to cloud-init alone, and a number to other readers", f.path, v.Text),
			severity(report.Info), remedy("write '%s'", v.Text), fix(p.quote(v)...))
	case v.Kind == pyyaml.Int:
		p.add("KH040", pos, fmt.Sprintf("%s: permissions %s without quotes are a decimal number: the mode becomes %04o", f.path, v.Text, uint32(v.Int.Int64())&0o7777),
			remedy("write '0%s'", strings.TrimPrefix(v.Text, "0")), fix(p.quoteAs(v, "'0"+v.Text+"'")...))
	case v.IsString() && !isOctal(v.Str):
		p.add("KH044", pos, fmt.Sprintf("%s: permissions %q are not octal, so the mode becomes 0644", f.path, v.Str))
	case v.Kind == pyyaml.Float, v.Kind == pyyaml.Bool:
		p.add("KH044", pos, fmt.Sprintf("%s: permissions %s are %s, no mode", f.path, v.Text, v.Kind.Noun()))
	}
}

func isOctal(s string) bool {
	_, ok := pyyaml.PythonInt(s, 8)
	return ok
}

// quote is the edit that puts a plain scalar into quotes.
func (p *pass) quote(v *pyyaml.Value) []Edit { return p.quoteAs(v, "'"+v.Text+"'") }

func (p *pass) quoteAs(v *pyyaml.Value, quoted string) []Edit {
	place := p.result.At(v)
	if v.Style != 0 || place.Part < 0 || place.Line == 0 {
		return nil
	}
	content := p.g.Parts[place.Part].Content
	start := p.text(place.Part).Offset(place.Line, place.Col)
	if !strings.HasPrefix(content[start:], v.Text) {
		return nil
	}
	return p.edit(place.Part, start, start+len(v.Text), quoted)
}

func (p *pass) checkEncoding(f *file) {
	v := f.entry.Get("encoding")
	if !v.IsString() || v.Str == "" || cloudinit.KnownEncoding(v.Str) {
		return
	}
	p.add("KH046", p.place(p.result.At(v)), fmt.Sprintf("%s: encoding %q is none that cloud-init knows, so the content is written as it is", f.path, v.Str))
}
