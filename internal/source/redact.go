package source

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What may be shown of an address is a list, and the same may stand in a lock file. All else is hidden, whatever it is
// called: servers take credentials by any name.

// harmless are the query parameters whose values are shown.
var harmless = []string{"archive", "checksum", "ref", "version"}

const redacted = "REDACTED"

var isRedacted = regexp.MustCompile(`^REDACTED(-[0-9a-f]{4})?$`).MatchString

// hidden is a stretch of an address that is not shown, in bytes.
type hidden struct {
	from, to int
	// before and after are how many bytes around it go with it where it is left out: the : of a password, the @ of a login
	before, after int
	kind          hiddenKind
}

type hiddenKind int

const (
	login      hiddenKind = iota // stands before the @ of a host
	credential                   // a parameter that says by its name what it is: when it changes, the source is the same
	other                        // all else: when it changes, so does the source
)

// Redact returns a remote source as it may be shown. Of a login, the account of SSH or git stays. Parameters stay when
// they are known to be harmless. The value of another one is REDACTED, with four digits of its hash unless its name says
// that it is a credential: enough to tell ?id=5 from ?id=6, and of no use for guessing. Of an address that is not a URL,
// the scheme stays and what follows the last @.
func Redact(src string) string {
	if !IsRemote(src) {
		return src
	}
	var b strings.Builder
	at := 0
	for _, h := range hiddenIn(src) {
		b.WriteString(src[at : h.from-h.before])
		switch h.kind {
		case credential:
			b.WriteString(redacted)
		case other:
			b.WriteString(redacted + "-" + hashOf([]byte(src[h.from:h.to]))[:4])
		}
		at = h.to + h.after
	}
	return b.String() + src[at:]
}

// Mask puts asterisks in place of what Redact hides of the remote sources in a line of text, one for each character.
func Mask(line string) string {
	if !strings.Contains(line, "://") && !strings.Contains(line, "::") {
		return line
	}
	var b strings.Builder
	for line != "" {
		end := strings.IndexFunc(line, endsWord)
		if end == 0 {
			_, end = utf8.DecodeRuneInString(line)
			b.WriteString(line[:end])
			line = line[end:]
			continue
		}
		if end < 0 {
			end = len(line)
		}
		// a password with a blank or a quote in it does not end there
		if at := strings.LastIndexByte(line, '@'); at >= end && IsRemote(line[:end]) && !isURL(line[:end]) {
			end = at + 1
			if more := strings.IndexFunc(line[end:], endsWord); more >= 0 {
				end += more
			} else {
				end = len(line)
			}
		}
		word := line[:end]
		line = line[end:]
		at := 0
		if IsRemote(word) {
			for _, h := range hiddenIn(word) {
				b.WriteString(word[at:h.from] + strings.Repeat("*", utf8.RuneCountInString(word[h.from:h.to])))
				at = h.to
			}
		}
		b.WriteString(word[at:])
	}
	return b.String()
}

func endsWord(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`,{}[]<>", r) }

// split finds where an address begins to say what it is about, behind getter and scheme, and where its query begins,
// which is its end when there is none.
func split(src string) (start, query int) {
	if i := strings.Index(src, "://"); i >= 0 {
		start = i + len("://")
	} else if i := strings.Index(src, "::"); i >= 0 {
		start = i + len("::")
	}
	query = len(src)
	if i := strings.IndexByte(src[start:], '?'); i >= 0 {
		query = start + i
	}
	return start, query
}

// isURL says whether what stands before the query is a URL.
func isURL(src string) bool {
	_, query := split(src)
	base := src[:query]
	if _, plain, ok := strings.Cut(base, "::"); ok {
		base = plain
	}
	_, err := url.Parse(base)
	return err == nil
}

// hiddenIn finds what of a remote source is not shown, in its order.
func hiddenIn(src string) []hidden {
	var found []hidden
	start, query := split(src)
	hasScheme := strings.HasSuffix(src[:start], "://")
	if last := strings.LastIndexByte(src[start:], '@'); hasScheme && last >= 0 && !isURL(src) {
		found = append(found, hidden{from: start, to: start + last, after: 1})
		start += last + 1
		query = len(src)
		if i := strings.IndexByte(src[start:], '?'); i >= 0 {
			query = start + i
		}
	} else {
		authority, _, _ := strings.Cut(src[start:query], "/")
		at := strings.LastIndexByte(authority, '@')
		if first, _, _ := strings.Cut(authority, "@"); !hasScheme && strings.TrimLeft(first, ":") != "" { // USER@HOST:PATH
			at = strings.IndexByte(authority, '@')
		}
		if at >= 0 {
			user, _, hasPassword := strings.Cut(authority[:at], ":")
			account := user == "git" || !hasScheme || strings.HasSuffix(src[:start], "ssh://")
			switch {
			case !account || user == "":
				found = append(found, hidden{from: start, to: start + at, after: 1})
			case hasPassword:
				found = append(found, hidden{from: start + len(user) + 1, to: start + at, before: 1})
			}
			start += at + 1
		}
	}
	if i := strings.IndexByte(src[start:query], '#'); i >= 0 {
		found = appendText(found, src, start+i+1, query, other)
	}
	for at := query + 1; at <= len(src); {
		param, _, _ := strings.Cut(src[at:], "&")
		found = append(found, hiddenInParam(src, at, at+len(param))...)
		at += len(param) + 1
	}
	return found
}

// appendText adds a stretch that is a value, unless it is empty or was hidden before.
func appendText(found []hidden, src string, from, to int, kind hiddenKind) []hidden {
	if from == to || isRedacted(src[from:to]) {
		return found
	}
	return append(found, hidden{from: from, to: to, kind: kind})
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`).MatchString

// hiddenInParam finds what is hidden of the parameter at src[from:to].
func hiddenInParam(src string, from, to int) []hidden {
	name, value, ok := strings.Cut(src[from:to], "=")
	kind := other
	if plain, err := url.QueryUnescape(name); err != nil || isCredential(plain) {
		kind = credential
	}
	if !ok || !plainName(name) {
		return appendText(nil, src, from, to, kind)
	}
	from = to - len(value)
	if !slices.Contains(harmless, name) {
		return appendText(nil, src, from, to, kind)
	}
	if file, ok := strings.CutPrefix(value, "file:"); ok && name == "checksum" && IsRemote(file) && !strings.Contains(file, "%") {
		found := hiddenIn(file)
		for i := range found {
			found[i].from += to - len(file)
			found[i].to += to - len(file)
		}
		return found
	}
	if plain, err := url.QueryUnescape(value); err != nil || strings.Contains(plain, "://") || strings.ContainsAny(plain, "@;#&?=") {
		return appendText(nil, src, from, to, other)
	}
	return nil
}

// isCredential says whether a query parameter's name sounds like a credential: of presigned URLs of S3, GCS and Azure,
// and of the forges. It decides what is the same source, not what is shown.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "x-goog-") {
		return true
	}
	for _, word := range []string{"token", "secret", "passw", "passphrase", "pwd", "signature", "credential", "sshkey", "auth", "apikey", "api_key",
		"api-key", "access", "jwt", "private", "bearer", "session"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return slices.Contains([]string{"sig", "key", "expires", "pass", "pat", "code"}, name)
}

// secretsOf lists what is hidden of a source, as it stands there and unescaped, for scrub.
func secretsOf(src string) []string {
	var secrets []string
	add := func(s string) {
		for _, unescape := range []func(string) (string, error){nil, url.PathUnescape, url.QueryUnescape} {
			text := s
			if unescape != nil {
				var err error
				if text, err = unescape(s); err != nil {
					continue
				}
			}
			if len(text) > 2 && text != "git" && !slices.Contains(secrets, text) {
				secrets = append(secrets, text)
			}
		}
	}
	for _, h := range hiddenIn(src) {
		text := src[h.from:h.to]
		switch {
		case h.kind == login:
			add(text)
			user, password, _ := strings.Cut(text, ":")
			add(password)
			add(user)
		case h.kind == credential || len(text) >= 6: // ?id=404 is not worth a message without its numbers
			add(text)
		}
		if _, value, ok := strings.Cut(text, "="); ok {
			add(value)
		}
	}
	// the longest first: a password may be a part of another
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// scrub takes what is hidden of the source out of a text that a server, git or a library wrote.
func (a *address) scrub(s string) string {
	for _, secret := range a.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}

// identity is the source without what may change and leave it the same.
func identity(src string) string {
	var b strings.Builder
	at := 0
	for _, h := range hiddenIn(src) {
		if h.kind != other {
			b.WriteString(src[at:h.from])
			at = h.to
		}
	}
	return b.String() + src[at:]
}
