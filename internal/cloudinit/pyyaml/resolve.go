package pyyaml

import "strings"

// resolve returns the tag of a scalar that has none written: what YAML 1.1 takes it for (yaml/resolver.py:170). The
// patterns are hand-written matchers, since compiled ones would cost the binary its start-up time.
func resolve(text string, plain bool) string {
	if !plain {
		return tagStr
	}
	// Python's $ matches before a last line feed as well; "! |" makes such a plain scalar
	s := strings.TrimSuffix(text, "\n")
	if text == "" {
		return tagNull
	}
	switch c := text[0]; {
	case strings.IndexByte("yYnNtTfFoO", c) >= 0 && isBool(s):
		return tagBool
	case strings.IndexByte("-+0123456789.", c) >= 0 && isFloat(s):
		return tagFloat
	case strings.IndexByte("-+0123456789", c) >= 0 && isInt(s):
		return tagInt
	case c == '<' && s == "<<":
		return tagMerge
	case s == "~", s == "null", s == "Null", s == "NULL":
		return tagNull
	case c >= '0' && c <= '9' && isTimestamp(s):
		return tagTime
	case c == '=' && s == "=":
		return tagValue
	case s == "!", s == "&", s == "*":
		return tagPrefix + "yaml"
	}
	return tagStr
}

func isBool(s string) bool {
	switch s {
	case "yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE",
		"on", "On", "ON", "off", "Off", "OFF":
		return true
	}
	return false
}

// span counts the leading bytes of s that are in set.
func span(s, set string) int { return len(s) - len(strings.TrimLeft(s, set)) }

const (
	digits  = "0123456789"
	digits_ = digits + "_"
)

func isDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func sign(s string) string {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[1:]
	}
	return s
}

// isInt: 0b1, 017, 0, 42, 4_2, 0x2a, 1:30 (yaml/resolver.py:188).
func isInt(s string) bool {
	s = sign(s)
	switch {
	case len(s) > 2 && s[:2] == "0b" && span(s[2:], "01_") == len(s)-2,
		len(s) > 2 && s[:2] == "0x" && span(s[2:], "0123456789abcdefABCDEF_") == len(s)-2,
		len(s) > 1 && s[0] == '0' && span(s[1:], "01234567_") == len(s)-1,
		s == "0":
		return true
	case s == "" || s[0] < '1' || s[0] > '9':
		return false
	}
	s = s[span(s, digits_):]
	return s == "" || isSixties(s)
}

// isSixties: one or more of :0 to :59.
func isSixties(s string) bool {
	for s != "" {
		n := sixty(s)
		if n == 0 {
			return false
		}
		s = s[n:]
	}
	return true
}

// sixty returns the length of a leading :0 to :59, preferring the longest.
func sixty(s string) int {
	switch {
	case len(s) >= 3 && s[0] == ':' && s[1] >= '0' && s[1] <= '5' && isDigit(s[2:]):
		return 3
	case len(s) >= 2 && s[0] == ':' && isDigit(s[1:]):
		return 2
	}
	return 0
}

// isFloat: 1.5, 1., 1.5e+3 (the sign is required), .5, 1:30.5, .inf, .nan (yaml/resolver.py:179).
func isFloat(s string) bool {
	u := sign(s)
	switch u {
	case ".inf", ".Inf", ".INF":
		return true
	}
	switch s {
	case ".nan", ".NaN", ".NAN":
		return true
	}
	if len(s) > 1 && s[0] == '.' && isDigit(s[1:]) {
		return isExponent(s[1+span(s[1:], digits_):])
	}
	if !isDigit(u) {
		return false
	}
	u = u[span(u, digits_):]
	if strings.HasPrefix(u, ".") {
		return isExponent(u[1+span(u[1:], digits_):])
	}
	whole, fraction, ok := strings.Cut(u, ".")
	return ok && whole != "" && isSixties(whole) && span(fraction, digits_) == len(fraction)
}

func isExponent(s string) bool {
	if s == "" {
		return true
	}
	return len(s) > 2 && (s[0] == 'e' || s[0] == 'E') && (s[1] == '+' || s[1] == '-') && span(s[2:], digits) == len(s)-2
}
