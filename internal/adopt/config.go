package adopt

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// commands are the keys of cloud-config that become scripts and files of hooks.
var commands = []string{"bootcmd", "runcmd", "write_files"}

// passedThrough returns what of the configuration goes into cloudConfig. A key without a value says nothing.
func passedThrough(config *pyyaml.Value) *pyyaml.Value {
	rest := config.Copy()
	rest.Entries = slices.DeleteFunc(slices.Clone(config.Entries), func(e pyyaml.Entry) bool {
		return e.Key.IsString() && slices.Contains(commands, e.Key.Str) || e.Value.Kind == pyyaml.Null
	})
	return rest
}

// checkConfig says why a configuration cannot be written into a spec.
func checkConfig(config *pyyaml.Value) error {
	for _, e := range config.Entries {
		if e.Key.IsString() && (e.Key.Str == "merge_how" || e.Key.Str == "merge_type") {
			return fmt.Errorf("%s stands in the merged cloud-config, and would say how kopshook's parts are merged", e.Key.Str)
		}
	}
	count := 0
	return checkValue(config, "", 0, &count)
}

func checkValue(v *pyyaml.Value, path string, depth int, count *int) error {
	const most, deepest = 10_000, 50 // more is no configuration that people write
	if *count++; *count > most || depth > deepest {
		return fmt.Errorf("the cloud-config is too large, or too deep, for a spec")
	}
	switch v.Kind {
	case pyyaml.Bytes, pyyaml.Date, pyyaml.DateTime, pyyaml.Set:
		return fmt.Errorf("%s is %s, which cannot be passed through", strings.TrimPrefix(path, "."), v.Kind.Noun())
	}
	for i, item := range v.Items {
		if err := checkValue(item, fmt.Sprintf("%s[%d]", path, i), depth+1, count); err != nil {
			return err
		}
	}
	for _, e := range v.Entries {
		if !e.Key.IsString() {
			return fmt.Errorf("the key %s is %s, no string", strings.TrimPrefix(path+"."+e.Key.String(), "."), e.Key.Kind.Noun())
		}
		if err := checkValue(e.Value, path+"."+e.Key.Str, depth+1, count); err != nil {
			return err
		}
	}
	return nil
}

// writeEntries writes the entries of a mapping, each on lines that begin with indent spaces, so that PyYAML reads the
// same from the part that the generator makes of it.
func writeEntries(b *strings.Builder, v *pyyaml.Value, indent int) {
	for _, e := range v.Entries {
		b.WriteString(strings.Repeat(" ", indent) + scalar(e.Key) + ":")
		writeValue(b, e.Value, indent, indent+2)
	}
}

// writeValue writes what follows "key:" or "-". Lists stand at indent, mappings at deeper.
func writeValue(b *strings.Builder, v *pyyaml.Value, indent, deeper int) {
	switch {
	case v.IsDict() && len(v.Entries) > 0:
		b.WriteByte('\n')
		writeEntries(b, v, deeper)
	case v.IsSequence() && len(v.Items) > 0:
		b.WriteByte('\n')
		for _, item := range v.Items {
			b.WriteString(strings.Repeat(" ", indent) + "-")
			var nested strings.Builder
			switch {
			case item.IsDict() && len(item.Entries) > 0:
				writeEntries(&nested, item, indent+2)
				b.WriteString(nested.String()[indent+1:]) // it begins on the line of the dash
			default:
				writeValue(b, item, indent+2, indent+2)
			}
		}
	case v.IsString() && strings.Contains(v.Str, "\n"):
		b.WriteString(text(v.Str, indent))
	default:
		b.WriteString(" " + scalar(v) + "\n")
	}
}

// scalar returns a value on one line: as it was written, where that means the same everywhere.
func scalar(v *pyyaml.Value) string {
	switch {
	case v.IsDict():
		return "{}"
	case v.IsSequence():
		return "[]"
	case v.Kind == pyyaml.Null:
		return "null"
	case v.Kind == pyyaml.Bool:
		return strings.ToLower(v.String())
	case v.IsString():
		if plain(v.Str, v) {
			return v.Str
		}
		return quoted(v.Str)
	case plain(v.Text, v):
		return v.Text
	}
	return v.String()
}

// plain says whether a text without quotes is the value, to PyYAML, and a scalar of that text to Go's reader.
func plain(s string, v *pyyaml.Value) bool {
	if s == "" || strings.ContainsAny(s, "\n\r\t") {
		return false
	}
	for _, c := range s {
		if c < ' ' || c > '~' {
			return false
		}
	}
	read, err := pyyaml.Load("- k: " + s + "\n")
	if err != nil || !read.IsSequence() || len(read.Items) != 1 || !read.Items[0].IsDict() {
		return false
	}
	if got := read.Items[0].Get("k"); got == nil || got.Kind != v.Kind || !pyyaml.Equal(got, v) {
		return false
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("- "+s+"\n"), &n); err != nil || len(n.Content) != 1 || len(n.Content[0].Content) != 1 {
		return false
	}
	n = *n.Content[0].Content[0]
	return n.Kind == yaml.ScalarNode && n.Value == s && n.Style == 0 && n.Tag != "!!null" && n.Tag != "!!merge" && n.LineComment == ""
}
