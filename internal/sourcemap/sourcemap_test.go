package sourcemap

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestMap holds what of says against the bytes of the file.
func TestMap(t *testing.T) {
	for _, c := range []struct{ name, src string }{
		{"block", "content: |\n  #!/bin/sh\n\n    indented\n  é X\n"},
		{"block with a header", "content: !!str |2-\n    two more\n  X\n"},
		{"block at the end of the file", "content: |-\n  a\n  X"},
		{"block with CRLF", "content: |\r\n  a\r\n  X\r\n"},
		{"double quotes", `content: "#!/bin/sh\n\té \"q\" \\ \x41 \u20ac X\n"` + "\n"},
		{"double quotes over lines", "content: \"a\n  b\n\n  c \\\n  d X\"\n"},
		{"single quotes", "content: 'it''s é X'\n"},
		{"plain", "content: some é X text\n"},
		{"key in quotes", "\"content\": \"X\"\n"},
		{"JSON", `{"content": "a\n\ud83d\ude00\/ \u00e9 X"}`},
		{"value on the next line", "content:\n  plain X\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var doc struct{ Content string }
			decode := yaml.Unmarshal
			if strings.HasPrefix(c.src, "{") {
				decode = json.Unmarshal
			}
			if err := decode([]byte(c.src), &doc); err != nil {
				t.Fatal(err)
			}
			src := []byte(c.src)
			key := strings.Index(c.src, "content")
			if key > 0 && src[key-1] == '"' {
				key--
			}
			m := of(src, key, doc.Content)
			if m == nil {
				t.Fatalf("no map of %q", doc.Content)
			}
			if got, want := m[strings.IndexByte(doc.Content, 'X')], strings.LastIndexByte(c.src, 'X'); got != want {
				t.Errorf("X is at %d, not at %d", want, got)
			}
			if len(m) != len(doc.Content)+1 {
				t.Errorf("%d places for %d bytes", len(m), len(doc.Content))
			}
		})
	}
}

func TestAMapGivesUpRatherThanGuess(t *testing.T) {
	for _, c := range []struct{ name, src, content string }{
		{"folded", "content: >\n  a\n  b\n", "a b\n"},
		{"alias", "content: *x\n", "text"},
		{"other content", "content: |\n  a\n", "b\n"},
		{"nothing", "content:\n", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := of([]byte(c.src), 0, c.content); m != nil {
				t.Errorf("got %v", m)
			}
		})
	}
}

func TestOffsets(t *testing.T) {
	src := New([]byte("a\nüb\n\nc"))
	for _, c := range []struct{ line, col, offset int }{{1, 1, 0}, {2, 1, 2}, {2, 2, 4}, {3, 1, 6}, {4, 1, 7}} {
		if got := src.Offset(c.line, c.col); got != c.offset {
			t.Errorf("%d:%d is at %d, want %d", c.line, c.col, got, c.offset)
		}
		line, col := src.Place(c.offset)
		if diff := cmp.Diff([2]int{c.line, c.col}, [2]int{line, col}); diff != "" {
			t.Errorf("offset %d:\n%s", c.offset, diff)
		}
	}
}

// FuzzMap looks for texts that the map breaks on.
func FuzzMap(f *testing.F) {
	f.Add("content: |\n  a\n", "a\n")
	f.Add("content: \"a\\\n b\"", "ab")
	f.Fuzz(func(t *testing.T, src, content string) {
		for _, at := range of([]byte(src), 0, content) {
			if at < 0 || at > len(src) {
				t.Fatalf("%d is outside of the text", at)
			}
		}
	})
}
