package generator

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is text stands in the script as it is, for people to read; all else is base64. The bytes arrive either way.
func TestBakedFilesArriveByteForByte(t *testing.T) {
	for content, encoded := range map[string]bool{
		"":                         false,
		"a":                        false,
		"a\n":                      false,
		"\n":                       false,
		"a\nb":                     false,
		"\tit's $HOME `x` \\ \"\n": false,
		"caf\u00e9 ~\n":            false,
		" ":                        false,
		"KOPSHOOK_END":             false, // no line of a here-document
		"a\nKOPSHOOK_END\nb\n":     true,
		"KOPSHOOK_END\n":           true,
		"\x1f":                     true,
		"\x1f\n":                   true,
		"\r\n":                     true,
		"\x00":                     true,
		"\x7f":                     true,
		"\x7f\n":                   true,
		"\xff":                     true,
		"\xff\n":                   true,
	} {
		text := bakedFile("a b", 0o4755, []byte(content))
		if got := strings.Contains(text, "base64"); got != encoded {
			t.Errorf("%q is base64: %v\n%s", content, got, text)
		}
		dir := t.TempDir()
		cmd := exec.Command("/bin/sh", "-euc", `file() { cat > "$1"; echo "$2" > mode; }`+"\n"+text)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", content, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, "a b"))
		if err != nil || string(got) != content {
			t.Errorf("%q arrives as %q, %v", content, got, err)
		}
		if mode, err := os.ReadFile(filepath.Join(dir, "mode")); string(mode) != "4755\n" {
			t.Errorf("%q: its mode is %q, %v", content, mode, err)
		}
	}
}

// A hook is one command of the script: what it is and how it is tried, then its environment, then what it runs.
func TestBakedHookIsOneCommand(t *testing.T) {
	h := newHook("x", PreNodeup, "#!/bin/sh\n")
	h.OncePerImage, h.Env, h.RebootExitCodes = true, map[string]string{"A": "b c"}, []int{100, 101}
	text, err := Bake(gpuGroup, "v1", []Hook{h, newHook("other", PreNodeup, "#!/bin/sh\n")})
	if err != nil {
		t.Fatal(err)
	}
	m, err := newModel(gpuGroup, "v1", []Hook{h})
	if err != nil {
		t.Fatal(err)
	}
	want := "\nhook x pre-nodeup " + m.hooks[0].hash() + " block 3 10 1200 '100 101' \\\n  'A=b c' \\\n  /bin/sh "
	if !strings.Contains(text, want) || strings.Contains(text, "other") {
		t.Errorf("want %q in\n%s", want, text)
	}
}
