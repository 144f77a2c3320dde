package cloudinit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// decoded returns a part's contents as cloud-init gets them (cloudinit/util.py:146, fully_decoded_payload): bytes, which it
// then takes for UTF-8 as far as they are. It returns false for a container.
//
// kops declares 7bit whatever it sends. Python then encodes what is not ASCII as raw-unicode-escape: characters below
// U+0100 become single bytes, which are no UTF-8 and lose the part later; all others become a literal \u2014.
func (m *message) decoded(version Version) (string, bool) {
	if m.container {
		return "", false
	}
	body := m.payload
	if !m.raw {
		body = rawUnicodeEscape(body)
	}
	encoding, _ := m.get("Content-Transfer-Encoding")
	encoding = pyLower(encoding)
	if version.has(pythonStripsEncoding) {
		encoding = pyyaml.Strip(encoding)
	}
	switch encoding {
	case "base64":
		return decodeB(strings.NewReplacer("\n", "", "\r", "").Replace(body)), true
	case "quoted-printable":
		return decodeQuotedPrintable(body), true
	}
	return body, true
}

// rawUnicodeEscape is str.encode('raw-unicode-escape').
func rawUnicodeEscape(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		switch {
		case c < 0x100:
			b.WriteByte(byte(c))
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String()
}

// decodeB decodes base64 that may lack padding or hold other characters; what cannot be decoded stays as it is
// (Lib/email/_encoded_words.py, decode_b).
func decodeB(s string) string {
	for _, padding := range []string{"==="[:(4-len(s)%4)%4], "", "=="} {
		if b, ok := pyyaml.DecodeBase64(s + padding); ok {
			return string(b)
		}
	}
	return s
}

// decodeQuotedPrintable is binascii.a2b_qp.
func decodeQuotedPrintable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '=' {
			b.WriteByte(s[i])
			continue
		}
		switch i++; {
		case i >= len(s):
		case s[i] == '\n' || s[i] == '\r':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case s[i] == '=':
			b.WriteByte('=')
		case i+1 < len(s) && isHexByte(s[i]) && isHexByte(s[i+1]):
			var c byte
			fmt.Sscanf(s[i:i+2], "%x", &c)
			b.WriteByte(c)
			i++
		default:
			b.WriteByte('=')
			i--
		}
	}
	return b.String()
}

func isHexByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// Gunzip is cloudinit/util.py:376, decomp_gzip: several members and zeros behind them are fine, nothing at all too.
func Gunzip(s string) (string, error) {
	r := bytes.NewReader([]byte(s))
	var out bytes.Buffer
	for r.Len() > 0 {
		z, err := gzip.NewReader(r)
		if err != nil {
			return "", err
		}
		z.Multistream(false)
		if _, err := io.Copy(&out, io.LimitReader(z, maxGunzip)); err != nil {
			return "", err
		}
		if out.Len() >= maxGunzip {
			return "", fmt.Errorf("more than %d bytes", maxGunzip)
		}
		for c, err := r.ReadByte(); err == nil; c, err = r.ReadByte() {
			if c != 0 {
				r.UnreadByte()
				break
			}
		}
	}
	return out.String(), nil
}

// maxGunzip keeps a small message from filling the memory.
const maxGunzip = 64 << 20

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// pyLower is Python's str.lower as far as it matters: the one letter that grows by it is left alone.
func pyLower(s string) string {
	return strings.Map(func(c rune) rune {
		if c == 'İ' {
			return c
		}
		return unicode.ToLower(c)
	}, s)
}

// dos2unix turns CRLF into LF, but only if the first line ends in it (cloudinit/util.py:1130).
func dos2unix(s string) string {
	if i := strings.IndexByte(s, '\n'); i <= 0 || s[i-1] != '\r' {
		return s
	}
	return strings.ReplaceAll(s, "\r\n", "\n")
}

// cleanFilename is the name that cloud-init gives a file of its own (cloudinit/util.py:363).
func cleanFilename(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '/':
			return '_'
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', strings.ContainsRune("_-.()", c):
			return c
		}
		return -1
	}, s)
}
