package convert

import (
	"bytes"
	"strings"

	"kopshook.dev/kopshook/internal/shell"
)

func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shell.Word(w)
	}
	return strings.Join(quoted, " ")
}

// script puts lines below #!/bin/sh.
func script(lines ...string) string {
	return "#!/bin/sh\n" + strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// isShell says whether a script is one for a shell that knows export.
func isShell(content []byte) bool {
	first, _, _ := bytes.Cut(content, []byte("\n"))
	if !bytes.HasPrefix(first, []byte("#!")) {
		return false
	}
	words := strings.Fields(strings.TrimPrefix(string(first), "#!"))
	for _, w := range words {
		switch w[strings.LastIndex(w, "/")+1:] {
		case "env":
			continue
		case "sh", "bash", "dash", "ash", "ksh", "zsh":
			return true
		}
		return false
	}
	return false
}

// afterShebang puts lines behind the first line of a script.
func afterShebang(content []byte, lines ...string) string {
	first, rest, _ := strings.Cut(string(content), "\n")
	return first + "\n" + strings.Join(lines, "\n") + "\n" + rest
}
