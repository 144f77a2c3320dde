package hookspec

import "maps"

// override changes h as the override's hook o at path p says: a field that is given replaces the hook's, env is merged
// key by key, and of script and source the one that is given replaces the other. origin notes, for each field and for
// each key of env, the path of the mapping that gave it.
func (d *Doc) override(h *Hook, origin map[string]string, p string, o *Hook) {
	for _, f := range hookObject.Fields {
		if f.Name != "env" && d.given(join(p, f.Name)) {
			origin[f.Name] = p
		}
	}
	switch {
	case o.Script != nil && o.Source == nil:
		h.Source = nil
	case o.Source != nil && o.Script == nil:
		h.Script = nil
	}
	replace(&h.Weight, o.Weight)
	replace(&h.Run, o.Run)
	replace(&h.Script, o.Script)
	replace(&h.Source, o.Source)
	replace(&h.Verify, o.Verify)
	replace(&h.Timeout, o.Timeout)
	replace(&h.Attempts, o.Attempts)
	replace(&h.RetryDelay, o.RetryDelay)
	replace(&h.OnFailure, o.OnFailure)
	replace(&h.Compress, o.Compress)
	replace(&h.Cleanup, o.Cleanup)
	replace(&h.CloudConfig, o.CloudConfig)
	replace(&h.Enabled, o.Enabled)
	if o.Before != nil {
		h.Before = o.Before
	}
	if o.RebootExitCodes != nil {
		h.RebootExitCodes = o.RebootExitCodes
	}
	if o.Files != nil {
		h.Files = o.Files
	}
	if o.DropIns != nil {
		h.DropIns = o.DropIns
	}
	if len(o.Env) > 0 {
		env := map[string]string{}
		maps.Copy(env, h.Env)
		maps.Copy(env, o.Env)
		h.Env = env
		for name := range o.Env {
			origin[join("env", name)] = p
		}
	}
}

func replace[T any](field **T, by *T) {
	if by != nil {
		*field = by
	}
}

// fieldPath returns the path of a field ("script", "files[0].mode", "env.DRIVER") of the hook at p: where an override
// gave it, that of the override's.
func fieldPath(p string, origin map[string]string, field string) string {
	for f := field; f != ""; f = parent(f) {
		if by, ok := origin[f]; ok {
			return by + "." + field
		}
	}
	return p + "." + field
}
