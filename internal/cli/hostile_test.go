package cli

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// hostileValues are values of YAML that a reader who trusts it never comes to the end of, or only without memory.
func hostileValues() map[string]string {
	laughs := "[&l0 [" + strings.Repeat("x, ", 9) + "x]"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf(", &l%d [%s]", i, strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10))
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	return map[string]string{
		"a list inside itself":       "&a [*a]",
		"a mapping inside itself":    "&a {b: *a}",
		"a list of parts of itself":  "&a [{name: x, content: *a, metadata: *a}]",
		"a merge of itself":          "&a {<<: *a}",
		"a billion laughs":           laughs + "]",
		"a deep list":                deep(9_000),
		"a deep mapping":             strings.Repeat("{a: ", 9_000) + strings.Repeat("}", 9_000),
		"a deeper list than is read": deep(100_000),
	}
}

var mappingLine = regexp.MustCompile(`(?m)^( *(?:- )?)([A-Za-z"][\w./"-]*):(?: .*)?$`)

// inPlaces returns documents with a value in the place of each key's value; of equal keys, the first.
func inPlaces(seed, value string) []string {
	var all []string
	seen := map[string]bool{}
	for _, m := range mappingLine.FindAllStringSubmatchIndex(seed, -1) {
		key := seed[m[4]:m[5]]
		if seen[key] {
			continue
		}
		seen[key] = true
		rest := strings.SplitAfter(seed[m[1]:], "\n")
		indent := m[3] - m[2]
		at := 1 // what the key held goes: all lines that are deeper than it
		for ; at < len(rest); at++ {
			line := strings.TrimRight(rest[at], "\n")
			if line != "" && len(line)-len(strings.TrimLeft(line, " ")) <= indent && !strings.HasPrefix(line[min(len(line), indent):], "- ") {
				break
			}
		}
		all = append(all, seed[:m[5]]+": "+value+"\n"+strings.Join(rest[at:], ""))
	}
	return all
}

// TestCommandsOnHostileDocuments holds every command to values that have no end, wherever a document can hold them:
// it ends by itself, soon, and within a small stack.
func TestCommandsOnHostileDocuments(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(256 << 20))
	var commands []inputCommand
	for _, c := range inputCommands() {
		if c.args[0] == "convert" {
			c.seeds = []string{"internal/convert/testdata/" + c.args[2] + "/input"}
		}
		commands = append(commands, c)
	}
	for _, c := range commands {
		seed := string(readSeeds(t, c)[0])
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			workFolder(t)
			for name, value := range hostileValues() {
				t.Run(name, func(t *testing.T) {
					docs := append([]string{value + "\n"}, inPlaces(seed, value)...)
					if len(value) > 500 { // they take their time, and are refused before their place matters
						docs = docs[:min(len(docs), 4)]
					}
					for _, doc := range docs {
						tryInput(t, c, []byte(doc))
					}
				})
			}
		})
	}
}
