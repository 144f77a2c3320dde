package lint

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"kopshook.dev/kopshook/internal/sourcemap"
)

// secretPatterns are what secrets look like. They are compiled when they are needed first.
var secretPatterns = sync.OnceValue(func() []secretPattern {
	p := func(what, expr string) secretPattern { return secretPattern{what, regexp.MustCompile(expr)} }
	return []secretPattern{
		p("a private key", `-----BEGIN ([A-Z]+ )*PRIVATE KEY-----`),
		p("an AWS access key", `\b(AKIA|ASIA)[0-9A-Z]{16}\b`),
		p("an AWS secret key", `(?i)aws_secret_access_key["']?\s*[=:]\s*["']?[A-Za-z0-9/+]{40}\b`),
		p("a Google API key", `\bAIza[0-9A-Za-z_-]{35}\b`),
		p("a Google service account key", `"private_key_id"\s*:`),
		p("a GitHub token", `\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b`),
		p("a GitLab token", `\bglpat-[A-Za-z0-9_-]{20,}\b`),
		p("a Slack token", `\bxox[abprs]-[A-Za-z0-9-]{10,}`),
		p("a JSON web token", `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
		p("a password in a URL", `\b[a-z][a-z0-9+.-]*://[^/\s:@'"$]+:[^/\s:@'"${]+@`),
		p("a password of curl", `\bcurl\b[^\n|;]*\s(-u\s*|--(proxy-)?user[ =])["']?[^\s:"'$]+:[^\s:"'${]{3,}`),
		p("a password or token in a header", `(?i)\bauthorization:\s*(basic|bearer|token)\s+[a-z0-9+/=._~-]{16,}`),
		p("a registry's password", `"auth"\s*:\s*"[A-Za-z0-9+/]{12,}={0,2}"`),
		p("a Tailscale key", `\btskey-[a-z]+-[A-Za-z0-9-]{8,}`),
		p("a bootstrap token", `\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),
		p(anyPassword, `(?i)[?&](password|secret|(private|access)?[_-]?token|api[_-]?key)=[^\s"'$<{(\[|&;*#]{8,}`),
		p(anyPassword, `(?i)(\b|-)[a-z0-9_-]*(password|passwd|secret|(api|access|auth|join|licen[cs]e|enrollment)[_-]?key|auth[_-]?token|[_-]token)["']?\s*[=:]\s*["']?[^\s"'$<{(\[|&;*#]{8,}`),
		p(anyPassword, `(?i)\s--[a-z-]*(password|auth-?key|api-?key|token)\s+["']?[^\s"'$<{(\[|&;*#/-][^\s"'$<{(\[|&;*#]{7,}`),
	}
})

// anyPassword is the pattern that looks at names, and so takes what is none for a secret.
const anyPassword = "a password or token"

type secretPattern struct {
	what string
	expr *regexp.Regexp
}

type secret struct {
	what      string
	line, col int
}

// findSecrets returns what looks like a secret, the most certain kind for each line.
func findSecrets(text string) []secret {
	var found []secret
	lines := map[int]bool{}
	places := sourcemap.New([]byte(text))
	for _, pattern := range secretPatterns() {
		for _, m := range pattern.expr.FindAllStringIndex(text, -1) {
			line, col := places.Place(m[0])
			if lines[line] || pattern.what == anyPassword && isPlaceholder(text[m[0]:m[1]]) {
				continue
			}
			lines[line] = true
			found = append(found, secret{pattern.what, line, col})
		}
	}
	return found
}

// Secrets names what in a text looks like a secret ("a private key"), each kind once.
func Secrets(text string) []string {
	var kinds []string
	for _, s := range findSecrets(text) {
		if !slices.Contains(kinds, s.what) {
			kinds = append(kinds, s.what)
		}
	}
	return kinds
}

// isPlaceholder: what people write where a secret is to be put, and names of files that hold one.
func isPlaceholder(s string) bool {
	_, value, _ := strings.Cut(strings.NewReplacer(":", "=", "\"", "", "'", "").Replace(s), "=")
	value = strings.ToLower(strings.TrimSpace(value))
	for _, word := range []string{"changeme", "example", "placeholder", "xxxx", "your-", "your_", "/", "true", "false", "none", "null", "file"} {
		if strings.HasPrefix(value, word) {
			return true
		}
	}
	return false
}
