package generator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"
)

// contents is what has gone wrong elsewhere on its way to a node.
func contents() map[string][]byte {
	random := make([]byte, 3000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return map[string][]byte{
		"empty":                    {},
		"one line feed":            []byte("\n"),
		"line feeds":               []byte("\n\n\n"),
		"script":                   []byte("#!/bin/sh\necho hi\n"),
		"no final line feed":       []byte("#!/bin/sh\necho hi"),
		"several final line feeds": []byte("a\n\n\n"),
		"leading line feeds":       []byte("\n\na\n"),
		"leading spaces":           []byte("  a\nb\n   c\n"),
		"line feeds, then spaces":  []byte("\n  a\nb\n"),
		"only spaces":              []byte("   "),
		"lines of spaces":          []byte("a\n  \nb\n"),
		"trailing spaces":          []byte("a \nb\n"),
		"trailing space at end":    []byte("a\nb "),
		"tabs":                     []byte("\ta\n\t\tb\n"),
		"tab alone":                []byte("\t"),
		"CRLF":                     []byte("#!/bin/sh\r\necho hi\r\n"),
		"CR":                       []byte("a\rb\r"),
		"UTF-8":                    []byte("#!/bin/sh\necho caf\u00e9 \u4e2d\u6587 \U0001f600\n"),
		"latin 1":                  []byte("caf\xe9\n"),
		"byte order mark":          []byte("\ufeff#!/bin/sh\n"),
		"U+0085 and U+2028":        []byte("a\u0085b\u2028c\u2029d\n\u0085\n"),
		"no break space":           []byte("a\u00a0b\n"),
		"U+FFFE and U+FFFF":        []byte("a\ufffe\uffffb\n"),
		"NUL":                      []byte("#!/bin/sh\n# a long enough line of text\x00\n"),
		"control characters":       []byte("#!/bin/sh\nprintf '\x1b[31m\x01\x7f'  # and quite some text\n"),
		"all bytes":                all,
		"random bytes":             random,
		"boundary":                 []byte("--MIMEBOUNDARY\r\nContent-Type: text/plain\n--MIMEBOUNDARY--\n"),
		"cloud-config":             []byte("#cloud-config\nbootcmd: [exit 1]\n"),
		"document markers":         []byte("---\n...\n--- x\n"),
		"YAML 1.1":                 []byte("yes"),
		"octal":                    []byte("0755"),
		"sexagesimal":              []byte("1:30"),
		"null":                     []byte("~"),
		"comment":                  []byte("# x"),
		"quotes":                   []byte(`"'` + "\\\n'\"\\n\n"),
		"jinja":                    []byte("## template: jinja\n{{ v1.instance_id }}\n"),
		"placeholders":             []byte("@hooks@ @run@ @cluster@ $1 ${1} %n %%\n"),
		"long line":                []byte(strings.Repeat("x y ", 5000) + "z\n"),
		"long line with a tab":     []byte("\t" + strings.Repeat("x y ", 5000) + "z\n"),
		"many lines":               []byte(strings.Repeat("echo a line\n", 2000)),
	}
}

// checkPart sees to it that kops, the mail parser and reviewers can take a part.
func checkPart(t testing.TB, p UserData) {
	t.Helper()
	for i, line := range strings.Split(p.Content, "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("%s:%d: ends with a space", p.Name, i+1)
		}
		if strings.HasPrefix(line, "--MIMEBOUNDARY") {
			t.Errorf("%s:%d: ends the part", p.Name, i+1)
		}
		if j := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }); j >= 0 {
			t.Errorf("%s:%d: holds %q", p.Name, i+1, line[j:j+1])
		}
	}
	printed, err := sigsyaml.Marshal(p) // as kops prints instance groups
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(printed, []byte("content: |")) {
		t.Errorf("%s: kops prints it as %.40q", p.Name, printed)
	}
}

// written decodes a part's write_files.
func written(t testing.TB, p UserData) map[string][]byte {
	t.Helper()
	var config struct {
		WriteFiles []struct{ Path, Permissions, Encoding, Content string } `yaml:"write_files"`
	}
	if err := yaml.Unmarshal([]byte(p.Content), &config); err != nil {
		t.Fatalf("%s: %v\n%s", p.Name, err, p.Content)
	}
	files := map[string][]byte{}
	for _, f := range config.WriteFiles {
		content := []byte(f.Content)
		if f.Encoding != "" {
			content = decodeStrictly(t, f.Encoding, f.Content)
		}
		files[f.Path] = content
	}
	return files
}

func TestContentsArriveByteForByte(t *testing.T) {
	for _, compress := range []bool{false, true} {
		for name, content := range contents() {
			t.Run(fmt.Sprintf("%s, compress %v", name, compress), func(t *testing.T) {
				h := newHook("x", PreNodeup, "")
				h.Compress = compress
				h.Scripts = []Script{{"script", content}}
				h.Files = []File{{Path: "/etc/x", Mode: 0o644, Owner: "root:root", Content: content}}
				parts := mustGenerate(t, gpuGroup, h)
				for _, p := range parts {
					checkPart(t, p)
				}
				files := written(t, parts[len(parts)-1])
				for _, path := range []string{"/opt/kopshook/hooks/x/script", "/opt/kopshook/hooks/x/files/0"} {
					if got, ok := files[path]; !ok || !bytes.Equal(got, content) {
						t.Errorf("%s: got %q, want %q", path, got, content)
					}
				}
			})
		}
	}
}

func FuzzContents(f *testing.F) {
	for _, c := range contents() {
		f.Add(c, false)
		f.Add(c, true)
	}
	f.Fuzz(func(t *testing.T, content []byte, compress bool) {
		h := newHook("x", PreNodeup, "")
		h.Compress = compress
		h.Scripts = []Script{{"script", content}}
		parts := mustGenerate(t, gpuGroup, h)
		p := parts[len(parts)-1]
		checkPart(t, p)
		if got := written(t, p)["/opt/kopshook/hooks/x/script"]; !bytes.Equal(got, content) {
			t.Errorf("got %q, want %q", got, content)
		}
		checkPart(t, UserData{p.Name, p.Type, strings.ReplaceAll(p.Content, "x", "y")})
	})
}

func TestTextStaysReadable(t *testing.T) {
	h := newHook("x", PreNodeup, "#!/bin/sh\n\tprintf 'caf\u00e9'\n  indented\n")
	parts := mustGenerate(t, gpuGroup, h)
	want := `  content: "#!/bin/sh\n\
    \tprintf 'caf\xe9'\n\
    \  indented\n"
`
	if got := parts[len(parts)-1].Content; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant it to end with\n%s", got, want)
	}
}

func TestCompressedBytesStayTheSame(t *testing.T) {
	// A new compressor that does better replaces machines. If this fails after an update of klauspost/compress, keep
	// the old one for runtime v1.
	var in bytes.Buffer
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 400 {
		fmt.Fprintf(&in, "echo line %d %x\n", i, r.Uint32N(1<<10))
	}
	checkGolden(t, "compressed", []byte(base64Lines(gzipped(in.Bytes()))))
}

func TestPlainShowsWhatIsEncoded(t *testing.T) {
	h := newHook("x", PreNodeup, strings.Repeat("#!/bin/sh\necho caf\u00e9\n", 20))
	h.Files = []File{{Path: "/etc/bin", Mode: 0o644, Owner: "root:root", Content: bytes.Repeat([]byte{0, 0xff}, 300)}}
	plain := mustGenerate(t, gpuGroup, h)
	h.Compress = true
	compressed := mustGenerate(t, gpuGroup, h)
	last := len(plain) - 1
	got, want := Plain(compressed[last]), plain[last].Content
	for _, line := range []string{"    #!/bin/sh\n", `    echo caf\xe9`} {
		if strings.Contains(compressed[last].Content, line) {
			t.Fatalf("not compressed: %s", compressed[last].Content)
		}
	}
	if !strings.Contains(got, "  encoding: gz+b64\n  content: \"#!/bin/sh\\n\\\n    echo caf\\xe9") {
		t.Errorf("got\n%s\nwhere plain text was\n%s", got, want)
	}
	paths := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "- path: ") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if diff := cmp.Diff(paths(compressed[last].Content), paths(got)); diff != "" || len(paths(got)) < 2 {
		t.Errorf("a line behind what is encoded is lost: %s", diff)
	}
	if Plain(plain[0]) != plain[0].Content {
		t.Error("the gate is not what it was")
	}
}
