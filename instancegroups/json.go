package instancegroups

import (
	"bytes"
	"encoding/json"
)

// value is a JSON value and where it stands: src[start:end].
type value struct {
	start, end int
	kind       byte // '{', '[', '"', or the first character of a number or word
	members    []member
	items      []value
}

// member is a key of an object and its value. It begins at start, with the key's quote.
type member struct {
	start int
	key   string
	value value
}

// parseJSON returns the places of all values in src, which json.Valid has accepted.
func parseJSON(src []byte) value {
	v, _ := scanJSON(src, skipSpace(src, 0))
	return v
}

func scanJSON(src []byte, i int) (value, int) {
	v := value{start: i, kind: src[i]}
	switch v.kind {
	case '{':
		i = skipSpace(src, i+1)
		for src[i] != '}' {
			m := member{start: i}
			end := endOfString(src, i)
			m.key = unquote(src[i:end])
			i = skipSpace(src, skipSpace(src, end)+1)
			m.value, i = scanJSON(src, i)
			v.members = append(v.members, m)
			if i = skipSpace(src, i); src[i] == ',' {
				i = skipSpace(src, i+1)
			}
		}
		i++
	case '[':
		i = skipSpace(src, i+1)
		for src[i] != ']' {
			var item value
			item, i = scanJSON(src, i)
			v.items = append(v.items, item)
			if i = skipSpace(src, i); src[i] == ',' {
				i = skipSpace(src, i+1)
			}
		}
		i++
	case '"':
		i = endOfString(src, i)
	default:
		for i < len(src) && !isJSONDelimiter(src[i]) {
			i++
		}
	}
	v.end = i
	return v, i
}

func skipSpace(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\t' || src[i] == '\n' || src[i] == '\r') {
		i++
	}
	return i
}

func isJSONDelimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ']', '}':
		return true
	}
	return false
}

func endOfString(src []byte, i int) int {
	for i++; src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func unquote(src []byte) string {
	for _, c := range src {
		if c == '\\' || c >= 0x80 {
			var s string
			if json.Unmarshal(src, &s) != nil {
				return ""
			}
			return s
		}
	}
	return string(src[1 : len(src)-1])
}

// member returns the index of the first member with that key, or -1.
func (v *value) member(key string) int {
	for i := range v.members {
		if v.members[i].key == key {
			return i
		}
	}
	return -1
}

// get follows keys through objects. It returns nil when there is no such value.
func (v *value) get(keys ...string) *value {
	for _, key := range keys {
		i := v.member(key)
		if i < 0 {
			return nil
		}
		v = &v.members[i].value
	}
	return v
}

// text returns the string that v is, or "" when it is none.
func (v *value) text(src []byte) string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return unquote(src[v.start:v.end])
}

// source returns the text of a value.
func (v *value) source(src []byte) []byte { return src[v.start:v.end] }

// controlCharacter returns the offset of the first character that is valid in JSON but not in YAML, or -1.
func controlCharacter(src []byte) int {
	return bytes.IndexFunc(src, func(r rune) bool {
		return r == 0x7f || r >= 0x80 && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff
	})
}
