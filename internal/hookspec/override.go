package hookspec

import (
	"maps"
	"reflect"

	"kopshook.dev/kopshook/internal/strict"
)

// override changes h as the override's hook o at path p says: a field that is given replaces the hook's, env is merged
// key by key, and of script and source the one that is given replaces the other. origin notes, for each field and for
// each key of env, the path of the mapping that gave it.
func (d *Doc) override(h *Hook, origin map[string]string, p string, o *Hook) {
	for _, f := range hookObject.Fields {
		if f.Name != "env" && d.Given(strict.Join(p, f.Name)) {
			origin[f.Name] = p
		}
	}
	switch {
	case o.Script != nil && o.Source == nil:
		h.Source = nil
	case o.Source != nil && o.Script == nil:
		h.Script = nil
	}
	before, name, phase := h.Env, h.Name, h.Phase
	fields, by := reflect.ValueOf(h).Elem(), reflect.ValueOf(o).Elem()
	for i := range fields.NumField() {
		if !by.Field(i).IsZero() {
			fields.Field(i).Set(by.Field(i))
		}
	}
	h.Name, h.Phase = name, phase // they cannot be overridden
	if len(o.Env) > 0 {
		h.Env = maps.Clone(o.Env)
		for name, value := range before {
			if _, given := o.Env[name]; !given {
				h.Env[name] = value
			}
		}
		for name := range o.Env {
			origin[strict.Join("env", name)] = p
		}
	} else {
		h.Env = before
	}
}

// fieldPath returns the path of a field ("script", "files[0].mode", "env.DRIVER") of the hook at p: where an override
// gave it, that of the override's.
func fieldPath(p string, origin map[string]string, field string) string {
	for f := field; f != ""; f = strict.Parent(f) {
		if by, ok := origin[f]; ok {
			return by + "." + field
		}
	}
	return p + "." + field
}
