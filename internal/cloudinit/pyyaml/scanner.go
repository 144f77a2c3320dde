package pyyaml

type tokenKind int

const (
	streamEnd tokenKind = iota
	directive
	documentStart
	documentEnd
	blockSequenceStart
	blockMappingStart
	blockEnd
	flowSequenceStart
	flowMappingStart
	flowSequenceEnd
	flowMappingEnd
	blockEntry
	flowEntry
	keyToken
	valueToken
	aliasToken
	anchorToken
	tagToken
	scalarToken
)

func (k tokenKind) String() string {
	return [...]string{"the end of the text", "a directive", "'---'", "'...'", "a nested list", "a nested mapping", "the end of the block",
		"'['", "'{'", "']'", "'}'", "'-'", "','", "a key", "':'", "an alias", "an anchor", "a tag", "a scalar"}[k]
}

type token struct {
	kind       tokenKind
	start, end mark
	value      string // name of an alias, an anchor or a directive; text of a scalar; suffix of a tag
	handle     string // of a tag; and of a TAG directive, whose prefix is value2
	value2     string
	hasHandle  bool
	style      rune // of a scalar: 0 for plain, else ' " | >
	major      string
}

// simpleKey is a place where a key without '?' may have begun: whether it was one shows at the ':' behind it.
type simpleKey struct {
	token    int // its number, counted from the first token of the text
	required bool
	at       mark
}

// scanner makes tokens of characters (yaml/scanner.py).
type scanner struct {
	*reader
	done    bool
	flow    int     // nesting of [ and {
	tokens  []token // made, not yet taken
	taken   int
	indent  int
	indents []int
	keyOK   bool              // may a simple key begin here?
	keys    map[int]simpleKey // by nesting; outside of [ and { at most one, and only that one can be required
}

func newScanner(text string) *scanner {
	return &scanner{reader: newReader(text), indent: -1, keyOK: true, keys: map[int]simpleKey{}}
}

// token returns the next token without taking it.
func (s *scanner) token() *token {
	for s.needMore() {
		s.fetch()
	}
	return &s.tokens[0]
}

// is says whether the next token is one of kinds.
func (s *scanner) is(kinds ...tokenKind) bool {
	t := s.token()
	for _, k := range kinds {
		if t.kind == k {
			return true
		}
	}
	return false
}

// takeToken takes the next token.
func (s *scanner) takeToken() token {
	t := *s.token()
	if t.kind == streamEnd {
		return t
	}
	s.taken++
	s.tokens = s.tokens[1:]
	return t
}

func (s *scanner) needMore() bool {
	if s.done {
		return false
	}
	if len(s.tokens) == 0 {
		return true
	}
	s.staleKeys()
	for _, k := range s.keys {
		if k.token == s.taken {
			return true
		}
	}
	return false
}

func (s *scanner) add(kind tokenKind, start, end mark) {
	s.tokens = append(s.tokens, token{kind: kind, start: start, end: end})
}

// insert puts a token before the one that a simple key began with.
func (s *scanner) insert(key simpleKey, kind tokenKind) {
	i := key.token - s.taken
	s.tokens = append(s.tokens, token{})
	copy(s.tokens[i+1:], s.tokens[i:])
	s.tokens[i] = token{kind: kind, start: key.at, end: key.at}
}

func (s *scanner) fetch() {
	s.toNextToken()
	s.staleKeys()
	s.unwind(s.at.col)
	c, n := s.peek(0), s.peek(1)
	switch {
	case c == 0:
		s.unwind(-1)
		s.dropKey()
		s.keyOK = false
		s.keys = map[int]simpleKey{}
		s.add(streamEnd, s.at, s.at)
		s.done = true
	case c == '%' && s.at.col == 0:
		s.unwind(-1)
		s.dropKey()
		s.keyOK = false
		s.directive()
	case s.at.col == 0 && s.atDocument():
		s.unwind(-1)
		s.dropKey()
		s.keyOK = false
		kind := documentStart
		if c == '.' {
			kind = documentEnd
		}
		s.indicator(kind, 3)
	case c == '[', c == '{':
		s.saveKey()
		s.flow++
		s.keyOK = true
		kind := flowSequenceStart
		if c == '{' {
			kind = flowMappingStart
		}
		s.indicator(kind, 1)
	case c == ']', c == '}':
		s.dropKey()
		s.flow--
		s.keyOK = false
		kind := flowSequenceEnd
		if c == '}' {
			kind = flowMappingEnd
		}
		s.indicator(kind, 1)
	case c == ',':
		s.keyOK = true
		s.dropKey()
		s.indicator(flowEntry, 1)
	case c == '-' && isSpaceEnd(n):
		s.entry()
	case c == '?' && (s.flow != 0 || isSpaceEnd(n)):
		s.key()
	case c == ':' && (s.flow != 0 || isSpaceEnd(n)):
		s.value()
	case c == '*', c == '&':
		s.saveKey()
		s.keyOK = false
		s.anchor()
	case c == '!':
		s.saveKey()
		s.keyOK = false
		s.tag()
	case (c == '|' || c == '>') && s.flow == 0:
		s.keyOK = true
		s.dropKey()
		s.blockScalar(c)
	case c == '\'', c == '"':
		s.saveKey()
		s.keyOK = false
		s.quoted(c)
	case s.plainCanStart(c, n):
		s.saveKey()
		s.keyOK = false
		s.plain()
	default:
		fail(s.at, "found %s, which cannot begin anything here", name(c))
	}
}

// plainCanStart: may a scalar without quotes begin with c when n follows it?
func (s *scanner) plainCanStart(c, n rune) bool {
	switch c {
	case '-':
		return !isSpaceEnd(n)
	case '?', ':':
		return !isSpaceEnd(n) && s.flow == 0
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return false
	}
	return !isSpaceEnd(c)
}

// toNextToken goes over spaces (no tabs), comments and line breaks.
func (s *scanner) toNextToken() {
	if s.at.index == 0 && s.peek(0) == 0xfeff {
		s.forward(1)
	}
	for {
		s.comment()
		if s.lineBreak() == "" {
			return
		}
		if s.flow == 0 {
			s.keyOK = true
		}
	}
}

// staleKeys drops simple keys that can no longer be any: a key ends on its line and within 1024 characters.
func (s *scanner) staleKeys() {
	for level, k := range s.keys {
		if k.at.line == s.at.line && s.at.index-k.at.index <= 1024 {
			continue
		}
		s.mayDrop(k)
		delete(s.keys, level)
	}
}

func (s *scanner) mayDrop(k simpleKey) {
	if k.required {
		fail(s.at, "could not find the ':' of the key that begins at line %d, column %d", k.at.line+1, k.at.col+1)
	}
}

func (s *scanner) saveKey() {
	required := s.flow == 0 && s.indent == s.at.col
	if !s.keyOK {
		return
	}
	s.dropKey()
	s.keys[s.flow] = simpleKey{s.taken + len(s.tokens), required, s.at}
}

func (s *scanner) dropKey() {
	if k, ok := s.keys[s.flow]; ok {
		s.mayDrop(k)
		delete(s.keys, s.flow)
	}
}

// unwind closes the blocks that are indented further than col. Inside [ and { indentation means nothing.
func (s *scanner) unwind(col int) {
	if s.flow != 0 {
		return
	}
	for s.indent > col {
		s.indent = s.indents[len(s.indents)-1]
		s.indents = s.indents[:len(s.indents)-1]
		s.add(blockEnd, s.at, s.at)
	}
}

func (s *scanner) deeper(col int) bool {
	if s.indent >= col {
		return false
	}
	s.indents = append(s.indents, s.indent)
	s.indent = col
	return true
}

func (s *scanner) indicator(kind tokenKind, length int) {
	start := s.at
	s.forward(length)
	s.add(kind, start, s.at)
}

func (s *scanner) entry() {
	if s.flow == 0 {
		if !s.keyOK {
			fail(s.at, "a list item is not allowed here")
		}
		if s.deeper(s.at.col) {
			s.add(blockSequenceStart, s.at, s.at)
		}
	}
	s.keyOK = true
	s.dropKey()
	s.indicator(blockEntry, 1)
}

func (s *scanner) key() {
	if s.flow == 0 {
		if !s.keyOK {
			fail(s.at, "a mapping key is not allowed here")
		}
		if s.deeper(s.at.col) {
			s.add(blockMappingStart, s.at, s.at)
		}
	}
	s.keyOK = s.flow == 0
	s.dropKey()
	s.indicator(keyToken, 1)
}

func (s *scanner) value() {
	if k, ok := s.keys[s.flow]; ok {
		delete(s.keys, s.flow)
		s.insert(k, keyToken)
		if s.flow == 0 && s.deeper(k.at.col) {
			s.insert(k, blockMappingStart)
		}
		s.keyOK = false
	} else {
		if s.flow == 0 {
			if !s.keyOK {
				fail(s.at, "a mapping value is not allowed here")
			}
			if s.deeper(s.at.col) {
				s.add(blockMappingStart, s.at, s.at)
			}
		}
		s.keyOK = s.flow == 0
		s.dropKey()
	}
	s.indicator(valueToken, 1)
}
