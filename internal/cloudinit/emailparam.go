package cloudinit

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// param is a parameter of a header. charset is set when it was written as RFC 2231 has it (name*=charset'lang'value).
type param struct {
	name, value string
	charset     *string
}

// params reads a header's parameters (Lib/email/message.py, _get_params_preserve). The first is the header's main value.
func (m *message) params(name string) ([]param, bool) {
	v, ok := m.get(name)
	if !ok {
		return nil, false
	}
	var params []param
	for _, p := range splitParams(v) {
		key, value, found := strings.Cut(p, "=")
		if found {
			params = append(params, param{name: pyyaml.Strip(key), value: pyyaml.Strip(value)})
		} else {
			params = append(params, param{name: pyyaml.Strip(p)})
		}
	}
	return decodeParams(params), true
}

// splitParams splits at semicolons that are not inside of quotes.
func splitParams(s string) []string {
	s = ";" + s
	var params []string
	for strings.HasPrefix(s, ";") {
		s = s[1:]
		end, quotes := 0, 0
		for ; end < len(s) && (s[end] != ';' || end > 0 && quotes%2 != 0); end++ {
			if s[end] == '"' && (end == 0 || s[end-1] != '\\') {
				quotes++
			}
		}
		p := s[:end]
		if key, value, ok := strings.Cut(p, "="); ok {
			p = pyLower(pyyaml.Strip(key)) + "=" + pyyaml.Strip(value)
		}
		params = append(params, pyyaml.Strip(p))
		s = s[end:]
	}
	return params
}

// decodeParams joins parameters that are split over several (name*0, name*1) and undoes their %-encoding
// (Lib/email/utils.py, decode_params).
func decodeParams(params []param) []param {
	type piece struct {
		number  int
		none    bool
		value   string
		encoded bool
	}
	decoded := params[:1:1]
	pieces := map[string][]piece{}
	var names []string
	for _, p := range params[1:] {
		value := unquote(p.value)
		name, number, none, ok := continuation(p.name)
		if !ok {
			decoded = append(decoded, param{name: p.name, value: `"` + quote(value) + `"`})
			continue
		}
		if _, seen := pieces[name]; !seen {
			names = append(names, name)
		}
		pieces[name] = append(pieces[name], piece{number, none, value, strings.HasSuffix(p.name, "*")})
	}
	for _, name := range names {
		slices.SortStableFunc(pieces[name], func(a, b piece) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.value, b.value))
		})
		var value string
		extended := false
		for _, p := range pieces[name] {
			if p.encoded {
				p.value = unquoteLatin1(p.value)
				extended = true
			}
			value += p.value
		}
		value = quote(value)
		if !extended {
			decoded = append(decoded, param{name: name, value: `"` + value + `"`})
			continue
		}
		p := param{name: name, charset: new(string)}
		if f := strings.SplitN(value, "'", 3); len(f) == 3 {
			*p.charset, value = f[0], f[2]
		}
		p.value = `"` + value + `"`
		decoded = append(decoded, p)
	}
	return decoded
}

// continuation matches name*, name*0 and name*0*.
func continuation(s string) (name string, number int, none, ok bool) {
	name, rest, found := strings.Cut(s, "*")
	if !found || name == "" || strings.IndexFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) >= 0 {
		return "", 0, false, false
	}
	if rest == "" {
		return name, -1, true, true
	}
	number, err := strconv.Atoi(strings.TrimSuffix(rest, "*"))
	return name, number, false, err == nil && number >= 0 && rest[0] != '+'
}

func quote(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`)
}

func unquote(s string) string {
	if len(s) > 1 {
		if s[0] == '"' && s[len(s)-1] == '"' {
			return strings.ReplaceAll(strings.ReplaceAll(s[1:len(s)-1], `\\`, `\`), `\"`, `"`)
		}
		if s[0] == '<' && s[len(s)-1] == '>' {
			return s[1 : len(s)-1]
		}
	}
	return s
}

// unquoteLatin1 undoes %-encoding; each byte becomes a character.
func unquoteLatin1(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if u, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteRune(rune(u[0]))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// param returns a parameter's text (Lib/email/utils.py, collapse_rfc2231_value).
func (m *message) param(header, name string) (string, bool) {
	params, _ := m.params(header)
	for _, p := range params {
		if !strings.EqualFold(p.name, name) {
			continue
		}
		value := unquote(p.value)
		if p.charset == nil {
			return unquote(value), true
		}
		return decodeCharset(value, *p.charset), true
	}
	return "", false
}

// decodeCharset reads the characters of s as bytes in a charset. Charsets but UTF-8 and ASCII are read as Latin-1, which
// is what they were taken from.
func decodeCharset(s, charset string) string {
	b := make([]byte, 0, len(s))
	for _, c := range s {
		b = append(b, byte(c))
	}
	switch strings.ToLower(charset) {
	case "utf-8", "utf8":
		return strings.ToValidUTF8(string(b), "\ufffd")
	case "", "us-ascii", "ascii":
		return strings.Map(func(c rune) rune {
			if c >= utf8.RuneSelf {
				return utf8.RuneError
			}
			return c
		}, s)
	}
	return unquote(s)
}

func (m *message) boundary() (string, bool) {
	b, ok := m.param("Content-Type", "boundary")
	return strings.TrimRightFunc(b, pyyaml.IsSpace), ok
}

// filename is the part's file name, or "" (Message.get_filename).
func (m *message) filename() string {
	name, ok := m.param("Content-Disposition", "filename")
	if !ok {
		name, _ = m.param("Content-Type", "name")
	}
	return pyyaml.Strip(name)
}

// setFilename is Message.add_header('Content-Disposition', 'attachment', filename=name) after the old one is removed.
func (m *message) setFilename(name string) {
	value := "attachment; filename"
	switch {
	case name == "":
	case isASCII(name):
		value += `="` + quote(name) + `"`
	default:
		value += "*=utf-8''" + percentEncode(name)
	}
	m.replace("Content-Disposition", value)
}

// percentEncode is urllib.parse.quote(s, safe="").
func percentEncode(s string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			b.WriteByte(s[i])
			continue
		}
		b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(s[i])|0x100, 16)[1:]))
	}
	return b.String()
}
