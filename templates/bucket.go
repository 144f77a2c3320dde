package templates

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// readers holds, by the scheme of an address, the pieces of Python that read it from a node, in folder bucket.
var readers = map[string][]string{
	"s3":        {"cloud", "aws", "s3"},
	"gs":        {"cloud", "gcp", "gs"},
	"azureblob": {"cloud", "azure", "azureblob"},
	"https":     {"https"},
}

// secrets holds the same for stores of secrets.
var secrets = map[string][]string{
	"aws-ssm":            {"cloud", "aws", "aws-secrets"},
	"aws-secretsmanager": {"cloud", "aws", "aws-secrets"},
	"gcp-secretmanager":  {"cloud", "gcp", "gcp-secrets"},
	"azure-keyvault":     {"cloud", "azure", "azure-secrets"},
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
	return r.python(slices.Concat([]string{"common", "install"}, pieces, []string{"get", "attempt", "archive"})), nil
}

// Reader is the Python, to be compressed, that brings files of these schemes, of buckets and of stores of secrets.
func (r *Runtime) Reader(schemes []string) (string, error) {
	pieces := []string{"common"}
	for _, scheme := range schemes {
		those, bucket := readers[scheme]
		if bucket {
			those = append(slices.Clip(those), "get")
		} else if those = secrets[scheme]; those == nil {
			return "", fmt.Errorf("nodes cannot read %s", scheme)
		}
		for _, piece := range those {
			if !slices.Contains(pieces, piece) {
				pieces = append(pieces, piece)
			}
		}
	}
	return r.python(append(pieces, "attempt", "file")), nil
}

func (r *Runtime) python(pieces []string) string {
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(text(r.name, "bucket/"+piece+".py"))
	}
	return terse(b.String())
}

var (
	comments = regexp.MustCompile(`(?m)^ *# .*\n|  # .*$`)
	indents  = regexp.MustCompile(`(?m)^(?:    )+`)
	blanks   = regexp.MustCompile(`\n{2,}`)
	// a string, which stays as it is, or an operator
	operators = regexp.MustCompile(`"(?:[^"\\]|\\.)*"| *(?:[-+*/%<>=!|]+|[,:]) +`)
	words     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\.?[A-Za-z_]\w*`) // a string, an attribute, or a name
)

// long are names of ours that become one letter. None is a name that a call gives an argument, or that a scheme is found by.
var long = []string{
	"address", "had", "region", "path", "data", "want", "why", "place", "part", "size", "now", "machine", "who",
	"aws_meta", "body", "home", "skew", "names", "lines", "scope", "key", "there", "began", "text", "digest", "attempt",
}

// terse takes what Python does not need out of it: comments, blank lines, most of the indentation, blanks around operators,
// long names.
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
	python = words.ReplaceAllStringFunc(python, func(s string) string {
		if i := slices.Index(long, s); i >= 0 {
			return string(rune('A' + i))
		}
		return s
	})
	return blanks.ReplaceAllString(python, "\n")
}
