package templates

import (
	"fmt"
	"regexp"
	"strings"
)

// readers holds, by the scheme of an address, the pieces of Python that read it from a node, in folder bucket.
var readers = map[string][]string{
	"s3":        {"cloud", "aws", "s3"},
	"gs":        {"cloud", "gcp", "gs"},
	"azureblob": {"cloud", "azure", "azureblob"},
	"https":     {"https"},
}

// Schemes returns the schemes of buckets that nodes can read.
func Schemes() []string { return []string{"s3", "gs", "azureblob", "https"} }

// Bucket is the text of the part that brings an archive from a bucket: a shell script, to be compressed, with what reads
// the scheme and nothing else of it, since bytes are scarce. Its arguments are the address and the SHA-256.
func (r *Runtime) Bucket(scheme string) (string, error) {
	pieces, ok := readers[scheme]
	if !ok {
		return "", fmt.Errorf("nodes cannot read %s://", scheme)
	}
	var python strings.Builder
	for _, piece := range append(append([]string{"common"}, pieces...), "get", "archive") {
		python.WriteString(text(r.name, "bucket/"+piece+".py"))
	}
	return strings.Replace(text(r.name, "bucket/install.sh"), "@python@", terse(python.String()), 1), nil
}

var (
	comments = regexp.MustCompile(`(?m)^ *# .*\n|  # .*$`)
	indents  = regexp.MustCompile(`(?m)^(?:    )+`)
	blanks   = regexp.MustCompile(`\n{2,}`)
	// a string, which stays as it is, or an operator
	operators = regexp.MustCompile(`"(?:[^"\\]|\\.)*"| *(?:[-+*/%<>=!|]+|[,:]) +`)
)

// terse takes what Python does not need out of it: comments, blank lines, most of the indentation, blanks around operators.
// The pieces keep to double quotes, and to one statement on a line.
func terse(python string) string {
	python = comments.ReplaceAllString(python, "")
	python = indents.ReplaceAllStringFunc(python, func(s string) string { return strings.Repeat("\t", len(s)/4) })
	python = operators.ReplaceAllStringFunc(python, func(s string) string {
		if s[0] == '"' {
			return s
		}
		return strings.TrimSpace(s)
	})
	return blanks.ReplaceAllString(python, "\n")
}
