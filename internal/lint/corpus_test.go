package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"kopshook.dev/kopshook/internal/golden"
)

// corpusImages are the images of pieces that name one; others have Ubuntu's.
var corpusImages = map[string]string{"": ubuntu, "amazon": amazon}

// corpusFindings lints each piece of user data of testdata/corpus, as the only part of an instance group, and lists the
// findings: "PIECE LINE CODE".
func corpusFindings(t *testing.T) (lines []string, pieces int) {
	t.Helper()
	archives, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			pieces++
			name, image, _ := strings.Cut(f.Name, " image=")
			types := map[string]string{".sh": "text/x-shellscript", ".hook": "text/cloud-boothook", ".yaml": "text/cloud-config", ".txt": "text/cloud-config",
				".py": "text/x-shellscript", ".mime": "multipart/mixed", ".inc": "text/x-include-url", ".nodeconfig": "application/node.eks.aws"}
			text := groupWith(corpusImages[image], "") + "  additionalUserData:\n  - name: " + name + "\n    type: " + types[filepath.Ext(name)] + "\n    content: |\n"
			first := strings.Count(text, "\n")
			text += "      " + strings.ReplaceAll(strings.TrimSuffix(string(f.Data), "\n"), "\n", "\n      ") + "\n"
			piece := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + name
			for _, f := range lintExample(t, text) {
				lines = append(lines, fmt.Sprintf("%s %d %s", piece, max(f.Line-first, 0), f.Code))
			}
		}
	}
	return lines, pieces
}

// TestCorpus holds the findings on user data that people have written, each looked at by hand: testdata/corpus/findings.txt
// says of each whether it is true, and which are missing.
func TestCorpus(t *testing.T) {
	const file = "testdata/corpus/findings.txt"
	got, pieces := corpusFindings(t)
	data, err := os.ReadFile(file)
	if err != nil && !golden.Update() {
		t.Fatal(err)
	}
	var want []string
	verdicts := map[string]string{}
	count := map[string]int{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		count[f[3]]++
		verdicts[strings.Join(f[:3], " ")] = strings.Join(f[3:], " ")
		if f[3] != "missing" {
			want = append(want, strings.Join(f[:3], " "))
		}
	}
	if golden.Update() {
		var out strings.Builder
		// a new finding gets "?", which fails until somebody has judged it
		out.WriteString("# PIECE LINE CODE VERDICT: line 0 is the part's name or the group. A finding is true or false; one that is missing is not found.\n")
		for _, l := range got {
			verdict := verdicts[l]
			if verdict == "" {
				verdict = "?"
			}
			out.WriteString(l + " " + verdict + "\n")
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pieces < 60 || count["?"] > 0 || count["true"] < 100 {
		t.Errorf("%d pieces, %v", pieces, count)
	}
	if wrong, all := count["false"]+count["missing"], count["true"]+count["false"]+count["missing"]; wrong*100 > 2*all {
		t.Errorf("%d of %d findings are false or missing: more than 2 of 100", wrong, all)
	}
	index, err := os.ReadFile(filepath.Join(rulesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%d pieces: %d findings are true, %d are false, %d are missing", pieces, count["true"], count["false"], count["missing"])
	if !strings.Contains(strings.Join(strings.Fields(string(index)), " "), said) {
		t.Errorf("docs/rules/README.md does not say %q", said)
	}
}
