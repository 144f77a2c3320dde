package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// RuleInfo is what machines are told of a rule that a finding's Code names.
type RuleInfo struct {
	Code     string
	Name     string // a few words joined by hyphens
	Severity Severity
	Title    string
	Remedy   string
	URL      string
}

// jsonFinding is a finding as JSON prints it.
type jsonFinding struct {
	Code     string `json:"code,omitempty"`
	Severity string `json:"severity"`
	Position
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	URL     string `json:"url,omitempty"`
}

// JSON prints findings as a JSON list.
func JSON(w io.Writer, findings []Finding, rules []RuleInfo) error {
	list := []jsonFinding{}
	for _, f := range findings {
		j := jsonFinding{Code: f.Code, Severity: f.Severity.String(), Position: f.Position, Path: f.Path, Message: f.Message, Detail: f.Detail, Remedy: f.Remedy}
		if i := ruleIndex(rules, f.Code); i >= 0 {
			j.URL = rules[i].URL
		}
		list = append(list, j)
	}
	return encode(w, list)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func ruleIndex(rules []RuleInfo, code string) int {
	return slices.IndexFunc(rules, func(r RuleInfo) bool { return r.Code == code })
}

// GitHub prints findings as the commands by which GitHub Actions annotates a pull request.
func GitHub(w io.Writer, findings []Finding) error {
	var b strings.Builder
	for _, f := range findings {
		command := [...]string{"error", "warning", "notice"}[f.Severity]
		b.WriteString("::" + command + " ")
		var fields []string
		add := func(key, value string) {
			if value != "" && value != "0" {
				fields = append(fields, key+"="+escapeGitHub(value, true))
			}
		}
		add("file", Clean(filepath.ToSlash(f.File)))
		add("line", fmt.Sprint(f.Line))
		add("col", fmt.Sprint(f.Col))
		add("title", f.Code)
		message := f.Message
		if f.Remedy != "" {
			message += "\nhint: " + f.Remedy
		}
		message = strings.ReplaceAll(Clean(message), "\n    ", "\n") // line feeds are escaped here
		fmt.Fprintf(&b, "%s::%s\n", strings.Join(fields, ","), escapeGitHub(message, false))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escapeGitHub escapes what would end a command or, in a property, the property.
func escapeGitHub(s string, property bool) string {
	s = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
	if property {
		s = strings.NewReplacer(":", "%3A", ",", "%2C").Replace(s)
	}
	return s
}
