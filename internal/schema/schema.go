// Package schema makes the JSON Schema of hook specs, for editors and validators, from the table of fields that decodes
// them (internal/hookspec/fields.go). What the table does not know, rules.go adds: which fields go together, and what
// texts look like.
//
// It is draft 7, which every editor's YAML support reads. A schema cannot say all: its test names what it lets pass.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/strict"
)

// ID names the schema of apiVersion v1alpha1. It is a name, not an address to fetch: `kopshook schema` prints the schema.
const ID = "https://kopshook.dev/schema/v1alpha1.json"

// node is a schema. encoding/json sorts its keys, so that its bytes are always the same.
type node = map[string]any

// Print returns the schema as indented JSON.
func Print() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(document())
	return b.Bytes(), err
}

func document() node {
	objects := hookspec.Objects()
	definitions := node{}
	for _, o := range objects[1:] {
		definitions[o.Name] = object(o, o.Fields, true)
		if o.Name == "hook" {
			definitions[partialHook] = object(o, without(o.Fields, "name", "phase"), false)
		}
	}
	addRules(definitions, objects)
	root := object(objects[0], objects[0].Fields, true)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = ID
	root["title"] = hookspec.Kind
	root["definitions"] = definitions
	return root
}

// partialHook is a hook in an override: nothing is required, and it has neither name nor phase.
const partialHook = "hookOverride"

func without(fields []strict.Field, names ...string) []strict.Field {
	var kept []strict.Field
	for _, f := range fields {
		if !slices.Contains(names, f.Name) {
			kept = append(kept, f)
		}
	}
	return kept
}

// object is the schema of a mapping with known keys.
func object(o *strict.Object, fields []strict.Field, complete bool) node {
	properties := node{}
	var required []string
	for i := range fields {
		properties[fields[i].Name] = field(&fields[i])
		if fields[i].Required && complete {
			required = append(required, fields[i].Name)
		}
	}
	n := node{"type": "object", "description": o.Doc, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

// field is the schema of a field's value.
func field(f *strict.Field) node {
	n := ofType(f)
	n["description"] = describe(f)
	if f.Default != "" {
		n["default"] = value(f.Default)
	}
	return n
}

func ofType(f *strict.Field) node {
	text := node{"type": "string"}
	if len(f.Enum) > 0 {
		text["enum"] = f.Enum
	}
	if f.Pattern != "" {
		text["pattern"] = "^(?:" + f.Pattern + ")$"
		text["patternErrorMessage"] = "must be " + f.Says
	}
	if f.MaxLength > 0 {
		text["maxLength"] = f.MaxLength
	}
	number := node{"type": "integer", "minimum": f.Min, "maximum": f.Max}
	switch f.Type {
	case strict.StringOrList:
		list := node{"type": "array", "items": text, "minItems": 1}
		return node{"anyOf": []any{text, list}}
	case strict.StringList:
		return node{"type": "array", "items": text}
	case strict.StringMap:
		return node{"type": "object", "additionalProperties": text}
	case strict.Integer:
		return number
	case strict.IntegerList:
		return node{"type": "array", "items": number}
	case strict.Boolean:
		return node{"type": "boolean"}
	case strict.Span:
		return node{"type": "string", "pattern": duration, "patternErrorMessage": "must be a number with a unit, such as 90s, 20m or 1h30m"}
	case strict.AnyMapping:
		return node{"type": "object"}
	case strict.OneObject:
		return reference(f.Of.Name)
	case strict.ObjectList:
		return node{"type": "array", "items": reference(f.Of.Name)}
	case strict.ObjectsByName:
		return node{"type": "object", "additionalProperties": reference(partialHook)}
	}
	return text
}

// reference is wrapped: beside $ref, draft 7 ignores everything, also descriptions.
func reference(name string) node {
	return node{"allOf": []any{node{"$ref": "#/definitions/" + name}}}
}

// describe is a field's text for people, with its defaults.
func describe(f *strict.Field) string {
	text := f.Doc
	if f.Default != "" {
		text += " Default: " + f.Default
		byValue := map[string][]string{}
		var order []string
		for _, d := range f.DefaultIn {
			if byValue[d.Value] == nil {
				order = append(order, d.Value)
			}
			byValue[d.Value] = append(byValue[d.Value], string(d.Phase))
		}
		for _, v := range order {
			text += fmt.Sprintf("; in phase %s: %s", strings.Join(byValue[v], ", "), v)
		}
		text += "."
	}
	return text
}

// value reads what one writes in YAML.
func value(text string) any {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		panic(err) // a mistake in the table of fields, which the tests find
	}
	return v
}
