package schema

import (
	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/strict"
)

// Patterns of texts. Where the decoder is stricter than a pattern can be, they let pass what it may take.
const (
	duration  = `^(?:[0-9]+(?:\.[0-9]*)?(?:ns|us|µs|ms|s|m|h))+$`
	variable  = `^[A-Za-z_][A-Za-z0-9_]*$`
	unit      = `^[A-Za-z0-9:_.\\@-]+\.(?:service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$`
	waiting   = `^[A-Za-z0-9:_.\\@-]+\.(?:service|timer|target)$`
	section   = `^(?:[ \t]*(?:[#;].*)?\r?\n)*[ \t]*\[.*\][ \t]*(?:\r?\n|$)`
	aPath     = `^/(?:.*[^/])?$`
	notAPath  = `[\x00-\x1f\x7f]|//|/\.\.?(?:/|$)|^/$|^/(?:opt|run|var/lib)/kopshook(?:/|$)|^/etc/systemd/system/(?:.*/)?kopshook-[^/]*$`
	webURL    = `^[hH][tT][tT][pP][sS]?://[!-"$-.0->A-~]+([/?][!"$-~]*)?$` // no user or password, no fragment
	noText    = `^\s*$`
	shebang   = `^#![ \t]*/`
	notAGlob  = `[{},]|\[!`
	oneLine   = `^[^\n\r\x00]*$`
	ownPrefix = `^KOPSHOOK_`
)

// addRules adds what the table of fields does not say.
func addRules(definitions node, objects []*strict.Object) {
	for _, name := range []string{"clusters", "names", "excludeNames"} {
		list := property(definitions, "selector", name)
		list["minItems"] = 1
		items := list["items"].(node)
		items["minLength"], items["not"] = 1, node{"pattern": notAGlob}
	}
	property(definitions, "selector", "roles")["minItems"] = 1

	for _, hook := range []string{"hook", partialHook} {
		set(property(definitions, hook, "script"), "pattern", shebang)
		set(property(definitions, hook, "source"), "pattern", oneLine)
		property(definitions, hook, "source")["not"] = node{"pattern": noText}
		for _, script := range []string{"verify", "undo"} {
			property(definitions, hook, script)["not"] = node{"pattern": noText}
		}
		env := property(definitions, hook, "env")
		env["patternProperties"] = node{
			variable:  env["additionalProperties"],
			ownPrefix: refuse("names that begin with KOPSHOOK_ are kopshook's own"),
		}
		env["additionalProperties"] = false
		before := property(definitions, hook, "before")
		before["uniqueItems"] = true
		set(before["items"].(node), "pattern", waiting)
		property(definitions, hook, "rebootExitCodes")["uniqueItems"] = true
		property(definitions, hook, "cloudConfig")["properties"] = node{
			"bootcmd":     refuse("use a hook with phase: boot"),
			"runcmd":      refuse("use script, with a phase"),
			"write_files": refuse("use files"),
			"merge_how":   refuse("it is set by kopshook"),
			"merge_type":  refuse("it is set by kopshook"),
		}
		property(definitions, hook, "cloudConfig")["additionalProperties"] = node{"not": node{"type": "null"}}
		definitions[hook].(node)["not"] = node{"required": []string{"script", "source"}}
	}
	hook := definitions["hook"].(node)
	property(definitions, "hook", "name")["not"] = node{"enum": hookspec.ReservedNames}
	property(definitions, "hook", "phase")["anyOf"].([]any)[1].(node)["uniqueItems"] = true
	hook["anyOf"] = []any{
		node{"required": []string{"script"}},
		node{"required": []string{"source"}},
		node{"required": []string{"files"}, "properties": node{"files": node{"minItems": 1}}},
		node{"required": []string{"dropIns"}, "properties": node{"dropIns": node{"minItems": 1}}},
		node{"required": []string{"cloudConfig"}, "properties": node{"cloudConfig": node{"minProperties": 1}}},
	}
	hook["allOf"] = append(phaseRules(objects),
		when(node{"run": node{"enum": []string{generator.EveryBoot, generator.OncePerImage}}, "cleanup": node{"const": "on-success"}},
			node{"cleanup": refuse("goes with run: once-per-instance only: the next boot needs the script again")}),
		when(node{"run": node{"const": generator.OncePerImage}},
			node{"cloudConfig": refuse("does not go with run: once-per-image: cloud-init applies it on each machine")}),
		when(node{"phase": node{"anyOf": []any{inPhase(hookspec.PostNodeup), inPhase(hookspec.PostKubelet), inPhase(hookspec.Daemon)}}},
			node{"run": node{"not": node{"const": generator.OncePerImage}, "errorMessage": "once-per-image goes with phases pre-nodeup and pre-kubelet"}}),
		when(node{"phase": node{"type": "array", "minItems": 2}},
			node{"dropIns": refuse("does not go with several phases"), "cloudConfig": refuse("does not go with several phases")}))

	set(property(definitions, "file", "path"), "pattern", aPath)
	property(definitions, "file", "path")["not"] = node{"pattern": notAPath}
	set(property(definitions, "file", "source"), "pattern", oneLine)
	property(definitions, "file", "source")["not"] = node{"pattern": noText}
	for _, alternative := range property(definitions, "file", "url")["anyOf"].([]any) {
		n := alternative.(node)
		if items, ok := n["items"].(node); ok {
			n = items
		}
		n["pattern"] = webURL + "|" + generator.BucketURLPattern
	}
	set(property(definitions, "file", "secret"), "pattern", "^("+generator.SecretPattern+")$")
	file := definitions["file"].(node)
	var oneOf []any
	for _, content := range []string{"content", "contentBase64", "source", "url", "secret"} {
		oneOf = append(oneOf, node{"required": []string{content}})
	}
	file["oneOf"] = oneOf
	file["dependencies"] = node{"url": []string{"sha256"}, "sha256": []string{"url"}}

	set(property(definitions, "dropIn", "unit"), "pattern", unit)
	set(property(definitions, "dropIn", "content"), "pattern", section)
}

// phaseRules refuse the fields that do not go with a phase.
func phaseRules(objects []*strict.Object) []any {
	var rules []any
	for _, o := range objects {
		if o.Name != "hook" {
			continue
		}
		for _, phase := range hookspec.Phases {
			refused := node{}
			for i := range o.Fields {
				f := &o.Fields[i]
				r := f.Refused(phase)
				switch {
				case r == nil:
				case r.Except != "":
					refused[f.Name] = node{"const": value(r.Except), "errorMessage": "does not go with phase " + string(phase) + ": " + r.Why}
				default:
					refused[f.Name] = refuse("does not go with phase " + string(phase) + ": " + r.Why)
				}
			}
			if len(refused) > 0 {
				rules = append(rules, when(node{"phase": inPhase(phase)}, refused))
			}
		}
	}
	return rules
}

// inPhase is the schema of a field phase that names this one.
func inPhase(phase hookspec.Phase) node {
	is := node{"const": string(phase)}
	return node{"anyOf": []any{is, node{"type": "array", "contains": is}}}
}

// when is: where all these fields are given and like this, then those are like that.
func when(given, then node) node {
	var names []string
	for _, name := range []string{"phase", "run", "cleanup"} {
		if given[name] != nil {
			names = append(names, name)
		}
	}
	return node{"if": node{"properties": given, "required": names}, "then": node{"properties": then}}
}

// refuse is the schema of a field that must not be there: null, and not null. Editors show errorMessage for a wrong
// type; of "not" the YAML language server says only that it matches.
func refuse(why string) node {
	return node{"type": "null", "not": node{"type": "null"}, "errorMessage": why}
}

func property(definitions node, object, name string) node {
	return definitions[object].(node)["properties"].(node)[name].(node)
}

// set sets a key that the table must not have set.
func set(n node, key string, v any) {
	if n[key] != nil {
		panic("schema: " + key + " is there already")
	}
	n[key] = v
}
