package templates

import (
	"strings"
	"testing"
)

func TestTerseKeepsStrings(t *testing.T) {
	got := terse("# a comment\nx = { \"a : b\": -1 }  # another\n\n\nif x == 1 and y:\n    f(*args, a=\"1 + 2 # 3\")\n        # more\n    g = lambda *_: None\n    data.data = \"data\"\n")
	want := "x={ \"a : b\":-1 }\nif x==1 and y:\n\tf(*args,a=\"1 + 2 # 3\")\n\tg=lambda *_:None\n\tE.data=\"data\"\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// No piece has names of one capital letter, which long names become.
func TestShortNamesAreFree(t *testing.T) {
	names, err := files.ReadDir("v1/bucket")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range names {
		for _, word := range words.FindAllString(text("v1", "bucket/"+entry.Name()), -1) {
			if len(word) == 1 && word >= "A" && word <= "Z" && strings.HasSuffix(entry.Name(), ".py") {
				t.Errorf("%s has a name %s", entry.Name(), word)
			}
		}
	}
}
