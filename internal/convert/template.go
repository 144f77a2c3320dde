package convert

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// template fills in what simple templates of a chart ask for: the release, the chart, the chart's own values, and the
// functions that hooks use. Whatever else a chart can do is Helm's business, which can render it.
func (c *converter) template(data []byte) []byte {
	if !bytes.Contains(data, []byte("{{")) {
		return data
	}
	const remedy = "render it with Helm first: helm template RELEASE CHART | kopshook convert --from helm -"
	release, values := c.templateData()
	filled, err := fill(string(data), values)
	if err != nil {
		line, text := templateError(err)
		c.report.Errorf(report.Position{File: c.file, Line: line}, "", remedy, "the template needs Helm: %s", text)
		return nil
	}
	c.Helm.Release = release
	c.report.Warnf(report.Position{File: c.file}, "", remedy+", for other values",
		"the templates are filled in for release %q and the chart's own values%s", release,
		map[bool]string{true: "; some have none, and are empty"}[bytes.Contains(filled, []byte("<no value>"))])
	return bytes.ReplaceAll(filled, []byte("<no value>"), nil) // as Helm does
}

// templateData reads Chart.yaml and values.yaml, which lie above a chart's templates.
func (c *converter) templateData() (release string, data map[string]any) {
	chart, values := map[string]any{}, map[string]any{}
	read := func(name string, into map[string]any) {
		for _, dir := range []string{"..", "."} {
			if c.ReadFile == nil {
				return
			}
			if b, err := c.ReadFile(filepath.Join(dir, name)); err == nil && yaml.Unmarshal(b, &into) == nil {
				return
			}
		}
	}
	read("Chart.yaml", chart)
	read("values.yaml", values)
	named := map[string]any{}
	for key, v := range chart { // .Chart.AppVersion is appVersion
		named[strings.ToUpper(key[:min(1, len(key))])+key[min(1, len(key)):]] = v
	}
	release = c.Helm.Release
	if release == "" {
		release, _ = chart["name"].(string)
	}
	if release == "" {
		release = "release-name" // helm template's own default
	}
	namespace := c.Helm.Namespace
	if namespace == "" {
		namespace = "default"
	}
	return release, map[string]any{
		"Chart": named, "Values": values,
		"Release": map[string]any{"Name": release, "Namespace": namespace, "Service": "Helm", "IsInstall": true, "IsUpgrade": false, "Revision": 1},
	}
}

// templateError takes the line and the reason out of "template: :5:10: executing ...".
func templateError(err error) (line int, text string) {
	for _, bound := range []error{errEndless, errLong} {
		if errors.Is(err, bound) {
			return 0, bound.Error()
		}
	}
	m := regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (?s:(.*))$`).FindStringSubmatch(err.Error())
	if m == nil {
		return 0, err.Error()
	}
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}
