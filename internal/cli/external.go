package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

func externalCommand() *cli.Command {
	return &cli.Command{
		Name:      "external",
		Usage:     "run as the program of Terraform's external data source",
		UsageText: `program = ["kopshook", "external"]`,
		Description: `Reads the query of Terraform's external data source on standard input, a JSON object of strings, and prints the result,
another. Errors go to standard error, and nothing to standard output then.

The query:
   specs       hook specs: a file or folder, or jsonencode() of a list of them
   spec        hook specs as text: file("hooks.yaml") or yamlencode({...})
   manifests   kops manifests: a file, or jsonencode() of a list of them
   manifest    kops manifests as text
   strict      "true" takes warnings as errors
   fetch       "true" fetches remote sources that are neither vendored nor cached
At least one of specs and spec, and one of manifests and manifest.

The result, of which all but manifest are JSON, for jsondecode():
   additional_user_data   by instance group, the list of {name, type, content} that hooks make
   manifest               the manifests with all merged, as kopshook merge prints them
   warnings               a list of what is odd: Terraform shows nothing of a program that succeeds
   sha256                 by instance group, a checksum of its list: for triggers

Examples:
   kopshook external < examples/terraform/query.json`,
		Flags: offlineFlags(),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return report.Hint("give files in the query", "external takes no files: it reads a query on standard input")
			}
			result, err := external(c)
			if err != nil {
				return err
			}
			return printJSON(c.App.Writer, result)
		},
	}
}

// queryKeys are what a query may hold.
var queryKeys = []string{"specs", "spec", "manifests", "manifest", "strict", "fetch"}

// external answers a query. The provider runs it at every plan, with its own environment and working directory; it
// takes a result only when the exit code is 0 and standard output one JSON object of strings
// (terraform-provider-external internal/provider/data_source.go).
func external(c *cli.Context) (map[string]string, error) {
	data, err := readInput(c.Context, "-", c.App.Reader)
	if err != nil {
		return nil, err
	}
	query, err := parseQuery(data)
	if err != nil {
		return nil, err
	}
	var warnings bytes.Buffer
	in := newInputs(false, &warnings)
	if in.strict, err = queryBool(query, "strict"); err != nil {
		return nil, err
	}
	fetch, err := queryBool(query, "fetch")
	if err != nil {
		return nil, err
	}
	if err := in.readQuery(c, query); err != nil {
		return nil, err
	}
	answer, err := in.answer(c, fetch || c.Bool("fetch"))
	if err != nil {
		if _, werr := c.App.ErrWriter.Write(warnings.Bytes()); werr != nil {
			return nil, werr
		}
		return nil, err
	}
	answer["warnings"] = marshal(lines(warnings.String()))
	return answer, nil
}

// readQuery reads the files and texts that a query names.
func (in *inputs) readQuery(c *cli.Context, query map[string]string) error {
	var specs []string
	var errs []error
	for _, name := range queryList(query, "specs", &errs) {
		files, err := specFiles(name)
		if err != nil {
			errs = append(errs, err)
		}
		specs = append(specs, files...)
	}
	manifests := queryList(query, "manifests", &errs)
	if err := refuseTwice(slices.Concat(specs, manifests), "name it once"); err != nil {
		errs = append(errs, err)
	}
	var read []plan.File
	for i, name := range slices.Concat(specs, manifests) {
		if name == "-" {
			errs = append(errs, report.Hint("give text in spec or manifest", "standard input is the query, and no file"))
			continue
		}
		data, err := readInput(c.Context, name, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		read = append(read, plan.File{Name: name, Data: data, SpecsOnly: i < len(specs)})
	}
	for _, key := range []string{"spec", "manifest"} {
		if s, ok := query[key]; ok {
			read = append(read, plan.File{Name: "query." + key, Data: []byte(s), SpecsOnly: key == "spec"})
		}
	}
	in.Read(read...)
	return errors.Join(errs...)
}

// answer makes the result of a query, all but the warnings.
func (in *inputs) answer(c *cli.Context, fetch bool) (map[string]string, error) {
	if len(in.Specs) == 0 && !in.Report.HasErrors() {
		return nil, report.Hint("add it to the query of the data source", "the query gives no hook specs: `specs` or `spec` is missing")
	}
	if len(in.Manifests) == 0 && !in.Report.HasErrors() {
		return nil, report.Hint("add it to the query of the data source", "the query gives no instance groups: `manifests` or `manifest` is missing")
	}
	o, err := in.mergeOptions(c, plan.Sizes(report.Warning), plan.Arrival, plan.Hopeless, plan.Removals)
	if err != nil {
		return nil, err
	}
	o.Loader, o.Write = newOfflineLoader(c, fetch), true
	out, err := in.merge(c, o)
	if err != nil {
		return nil, err
	}
	parts, sums := map[string][]generator.UserData{}, map[string]string{}
	for _, g := range out.Groups {
		if _, twice := parts[g.Name]; twice {
			return nil, report.Hint("query the clusters one by one", "there is an instance group %q in two clusters", g.Name)
		}
		parts[g.Name] = append([]generator.UserData{}, g.Parts...)
		sums[g.Name] = fmt.Sprintf("%x", sha256.Sum256([]byte(marshal(parts[g.Name]))))
	}
	var manifest strings.Builder
	if err := writeJoined(&manifest, out); err != nil {
		return nil, err
	}
	return map[string]string{
		"additional_user_data": marshal(parts),
		"manifest":             manifest.String(),
		"sha256":               marshal(sums),
	}, nil
}

// parseQuery reads a JSON object of strings, strictly.
func parseQuery(data []byte) (map[string]string, error) {
	const remedy = `Terraform sends a JSON object of strings, such as {"specs": "hooks.yaml", "manifests": "cluster.yaml"}`
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, report.Hint(remedy, "there is no query on standard input")
	}
	query, seen := map[string]string{}, map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	token, err := dec.Token()
	if err == nil && token != json.Delim('{') {
		return nil, report.Hint(remedy, "the query is no JSON object")
	}
	var errs []error
	for err == nil && dec.More() {
		if token, err = dec.Token(); err != nil {
			break
		}
		key := token.(string) // of an object, JSON takes no other
		var value any
		if err = dec.Decode(&value); err != nil {
			break
		}
		text, isText := value.(string)
		switch {
		case !slices.Contains(queryKeys, key):
			errs = append(errs, unknownKey(key))
		case seen[key]:
			errs = append(errs, report.Hint("keep one of them", "`%s` is in the query twice", key))
		case value == nil: // not given
		case value == true || value == false:
			errs = append(errs, report.Hint(fmt.Sprintf(`write "%t", a string`, value), "`%s` of the query is no string", key))
		case !isText:
			errs = append(errs, report.Hint("write jsonencode() around lists and mappings", "`%s` of the query is no string", key))
		}
		if seen[key] = true; isText {
			query[key] = text
		}
	}
	if err == nil {
		_, err = dec.Token() // the closing brace
	}
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			return nil, report.Hint(remedy, "there is something behind the query")
		}
	}
	if err != nil {
		return nil, report.Hint(remedy, "the query is not JSON: %w", err)
	}
	return query, errors.Join(errs...)
}

func unknownKey(key string) error {
	remedy := "the keys are " + strings.Join(queryKeys, ", ")
	if near := report.Nearest(key, queryKeys); near != "" {
		remedy = fmt.Sprintf("did you mean `%s`?", near)
	}
	return report.Hint(remedy, "the query has the unknown key %q", key)
}

// queryList returns a value that is one text, or a JSON list of texts.
func queryList(query map[string]string, key string, errs *[]error) []string {
	s, ok := query[key]
	if !ok {
		return nil
	}
	list := []string{s}
	if strings.HasPrefix(strings.TrimSpace(s), "[") {
		if err := json.Unmarshal([]byte(s), &list); err != nil {
			*errs = append(*errs, report.Hint(`write it as jsonencode(["a.yaml", "b.yaml"])`, "`%s` of the query is no JSON list of strings: %w", key, err))
			return nil
		}
	}
	if slices.Contains(list, "") || len(list) == 0 {
		*errs = append(*errs, report.Hint("name a file, or leave it out", "`%s` of the query is empty", key))
		return nil
	}
	return list
}

func queryBool(query map[string]string, key string) (bool, error) {
	s, ok := query[key]
	if !ok {
		return false, nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, report.Hint(`write "true" or "false"`, "`%s` of the query is %q", key, s)
	}
	return b, nil
}

// marshal returns v as JSON, for values that always have one.
func marshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// lines splits text into lines, a remedy with the line before it.
func lines(s string) []string {
	list := []string{}
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "  "); ok && len(list) > 0 {
			list[len(list)-1] += "; " + strings.TrimSpace(rest)
			continue
		}
		list = append(list, line)
	}
	return list
}
