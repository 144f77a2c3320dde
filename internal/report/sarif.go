package report

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// The parts of SARIF 2.1.0 that are used (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		Name             string       `json:"name"`
		ShortDescription sarifText    `json:"shortDescription"`
		Help             sarifText    `json:"help"`
		HelpURI          string       `json:"helpUri,omitempty"`
		Default          sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId,omitempty"`
		RuleIndex *int            `json:"ruleIndex,omitempty"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// SARIF prints findings for tools that collect those of many linters. version is that of the program.
func SARIF(w io.Writer, findings []Finding, rules []RuleInfo, version string) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "kopshook", Version: version, InformationURI: "https://kopshook.dev", Rules: []sarifRule{}}
	for _, r := range rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: r.Code, Name: r.Name, ShortDescription: sarifText{r.Title},
			Help: sarifText{r.Remedy}, HelpURI: r.URL, Default: sarifDefault{sarifLevel(r.Severity)}})
	}
	for _, f := range findings {
		result := sarifResult{RuleID: f.Code, Level: sarifLevel(f.Severity), Message: sarifText{f.Message}}
		if f.Remedy != "" {
			result.Message.Text += "\n" + f.Remedy
		}
		if i := ruleIndex(rules, f.Code); i >= 0 {
			result.RuleIndex = &i
		}
		var place sarifPhysical
		place.Artifact.URI = sarifURI(f.File)
		if f.Line > 0 {
			place.Region = &sarifRegion{f.Line, f.Col}
		}
		result.Locations = []sarifLocation{{place}}
		run.Results = append(run.Results, result)
	}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func sarifLevel(s Severity) string { return [...]string{"error", "warning", "note"}[s] }

// sarifURI is a relative reference for a relative path, so that it counts from the root of the repository.
func sarifURI(file string) string {
	slashed := filepath.ToSlash(filepath.Clean(file))
	u := url.URL{Path: slashed}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return strings.TrimPrefix(u.String(), "./")
}
