package templates

import "testing"

func TestTerseKeepsStrings(t *testing.T) {
	got := terse("# a comment\nx = { \"a : b\": -1 }  # another\n\n\nif x == 1 and y:\n    f(*args, a=\"1 + 2 # 3\")\n        # more\n    g = lambda *_: None\n")
	want := "x={ \"a : b\":-1 }\nif x==1 and y:\n\tf(*args,a=\"1 + 2 # 3\")\n\tg=lambda *_:None\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
