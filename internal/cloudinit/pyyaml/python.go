package pyyaml

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace is Python's str.isspace of one character.
func IsSpace(c rune) bool {
	return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f
}

// Strip is Python's str.strip.
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }

// String is Python's str(v); a nil v is None.
func (v *Value) String() string {
	if v != nil && v.Kind == Str {
		return v.Str
	}
	if v != nil && v.Kind == DateTime {
		return v.Time.dateTime()
	}
	if v != nil && v.Kind == Date {
		return v.Time.date()
	}
	return v.Repr()
}

// Repr is Python's repr(v); a nil v is None.
func (v *Value) Repr() string {
	if v == nil {
		return "None"
	}
	switch v.Kind {
	case Bool:
		if v.Bool {
			return "True"
		}
		return "False"
	case Int:
		return v.Int.String()
	case Float:
		return reprFloat(v.Float)
	case Str:
		return reprStr(v.Str)
	case Bytes:
		return reprBytes(v.Str)
	case Date:
		return fmt.Sprintf("datetime.date(%d, %d, %d)", v.Time.Year, v.Time.Month, v.Time.Day)
	case DateTime:
		return reprDateTime(v.Time)
	case List:
		return "[" + reprItems(v.Items) + "]"
	case Tuple:
		if len(v.Items) == 1 {
			return "(" + reprItems(v.Items) + ",)"
		}
		return "(" + reprItems(v.Items) + ")"
	case Dict:
		s := make([]string, len(v.Entries))
		for i, e := range v.Entries {
			s[i] = e.Key.Repr() + ": " + e.Value.Repr()
		}
		return "{" + strings.Join(s, ", ") + "}"
	case Set:
		if len(v.Entries) == 0 {
			return "set()"
		}
		s := make([]string, len(v.Entries))
		for i, e := range v.Entries {
			s[i] = e.Key.Repr()
		}
		return "{" + strings.Join(s, ", ") + "}"
	}
	return "None"
}

func reprItems(items []*Value) string {
	s := make([]string, len(items))
	for i, item := range items {
		s[i] = item.Repr()
	}
	return strings.Join(s, ", ")
}

// reprFloat: the shortest digits that read back the same, with an exponent from 1e16 and below 1e-4.
func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func quoteFor(s string) byte {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return '"'
	}
	return '\''
}

func reprStr(s string) string {
	var b strings.Builder
	quote := quoteFor(s)
	b.WriteByte(quote)
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && n == 1 {
			if len(s) >= 3 && s[0] == 0xed {
				fmt.Fprintf(&b, `\u%04x`, 0xd000|rune(s[1]&0x3f)<<6|rune(s[2]&0x3f))
				s = s[3:]
				continue
			}
			fmt.Fprintf(&b, `\udc%02x`, s[0]) // a byte that was no UTF-8: surrogateescape
			s = s[1:]
			continue
		}
		s = s[n:]
		switch {
		case c == rune(quote), c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == ' ' || unicode.IsGraphic(c) && !unicode.Is(unicode.Zs, c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func reprBytes(s string) string {
	var b strings.Builder
	quote := quoteFor(s)
	b.WriteByte('b')
	b.WriteByte(quote)
	for i := range len(s) {
		switch c := s[i]; {
		case c == quote, c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20, c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func reprDateTime(t Time) string {
	s := fmt.Sprintf("datetime.datetime(%d, %d, %d, %d, %d", t.Year, t.Month, t.Day, t.Hour, t.Minute)
	if t.Second != 0 || t.Microsecond != 0 {
		s += fmt.Sprintf(", %d", t.Second)
	}
	if t.Microsecond != 0 {
		s += fmt.Sprintf(", %d", t.Microsecond)
	}
	if !t.HasZone {
		return s + ")"
	}
	if t.Offset == 0 {
		return s + ", tzinfo=datetime.timezone.utc)"
	}
	days, seconds := 0, t.Offset*60
	if seconds < 0 {
		days, seconds = -1, seconds+24*3600
	}
	delta := fmt.Sprintf("seconds=%d", seconds)
	if days != 0 {
		delta = fmt.Sprintf("days=%d, %s", days, delta)
	}
	return s + ", tzinfo=datetime.timezone(datetime.timedelta(" + delta + ")))"
}

// DecodeBase64 is Python's binascii.a2b_base64, not strict: what is no base64 is skipped, and data may end at padding.
func DecodeBase64(s string) ([]byte, bool) {
	var out []byte
	quad, pads := 0, 0
	var left byte
	for i := range len(s) {
		c := s[i]
		if c == '=' {
			if pads++; quad >= 2 && quad+pads >= 4 {
				return out, true
			}
			continue
		}
		d := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", c)
		if d < 0 {
			continue
		}
		pads = 0
		v := byte(d)
		switch quad {
		case 0:
			left = v
		case 1:
			out = append(out, left<<2|v>>4)
			left = v & 0x0f
		case 2:
			out = append(out, left<<4|v>>2)
			left = v & 0x03
		case 3:
			out = append(out, left<<6|v)
			left = 0
		}
		quad = (quad + 1) % 4
	}
	return out, quad == 0
}
