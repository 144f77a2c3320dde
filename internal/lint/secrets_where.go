package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// What makes a secret readable, by where it lands.
const (
	inUserData  = "in user data: every pod of the node may read it, and whoever may describe instances"
	inConfigMap = "in a ConfigMap: whoever may read those of kube-system may read it, and whoever sees the manifest"
)

// checkSecrets looks for secrets in all parts, also in those that kopshook made of hooks. What a part hides in base64 or
// packs is looked at, too.
func (p *pass) checkSecrets() {
	said := map[report.Position]bool{}
	say := func(pos report.Position, s secret, file string) {
		if file != "" {
			p.add("KH070", pos, file+": "+s.what+" "+inUserData)
			return
		}
		line := report.Position{File: pos.File, Line: pos.Line}
		if !said[line] {
			p.add("KH070", pos, s.what+" "+inUserData)
		}
		said[line] = true
	}
	for i, part := range p.g.Parts {
		if !p.theirs(i) {
			p.checkOwnSecrets(i, say)
			continue
		}
		for _, s := range findSecrets(part.Content) {
			say(p.place(at(i, s.line, s.col)), s, "")
		}
	}
	for _, f := range p.files {
		if f.entry == nil || !f.entry.Get("encoding").Truth() {
			continue
		}
		for _, s := range findSecrets(f.text) {
			say(f.place(1, 1), s, f.path)
		}
	}
	p.configs(func(_ int, config *pyyaml.Value) {
		eachString(config, nil, func(path []string, v *pyyaml.Value) {
			if what := passwordAt(path, v.Str); what != "" {
				say(p.place(p.result.At(v)), secret{what: what}, "")
			}
		})
	})
}

// checkOwnSecrets looks at a part that is named as kopshook's are, if it stands in the file as it is.
func (p *pass) checkOwnSecrets(part int, say func(pos report.Position, s secret, file string)) {
	content := p.g.Parts[part].Content
	item := -1
	for i, u := range p.g.Object.Spec.AdditionalUserData {
		if u.Name == p.g.Parts[part].Name && u.Content == content {
			item = i
		}
	}
	if item < 0 {
		return // it is made of hooks, which are looked at where they are written
	}
	whole := report.Position{File: p.g.File}
	whole.Line, whole.Col = p.g.Position("spec", "additionalUserData", fmt.Sprint(item), "content")
	var m sourcemap.Map
	if p.g.Source != nil {
		m = p.g.Source.Map(whole.Line, whole.Col, content)
	}
	place := func(line, col int) report.Position {
		pos := whole
		if i := p.text(part).Offset(line, col); i < len(m) {
			pos.Line, pos.Col = p.g.Source.Place(m[i])
		}
		return pos
	}
	plain := map[string]bool{}
	for _, s := range findSecrets(content) {
		plain[s.what] = true
		say(place(s.line, s.col), s, "")
	}
	for _, fate := range p.result.Parts {
		if fate.Config == nil || fate.At.Part != part {
			continue
		}
		eachString(fate.Config, nil, func(path []string, v *pyyaml.Value) {
			if what := passwordAt(path, v.Str); what != "" {
				in := p.result.At(v)
				say(place(in.Line, in.Col), secret{what: what}, "")
			}
		})
	}
	packed := func(path, text string) {
		for _, s := range findSecrets(text) {
			if !plain[s.what] {
				say(whole, s, path)
			}
		}
	}
	files, _ := generator.Archived(content)
	for _, f := range files {
		packed(f.Path, string(f.Content))
	}
	for _, r := range p.result.Runs {
		if r.File != nil && r.Part == part {
			packed(r.File.Path, r.Content)
		}
	}
}

// eachString calls f for each string of a configuration, with the keys that lead to it. Lists add no key.
func eachString(v *pyyaml.Value, path []string, f func(path []string, v *pyyaml.Value)) {
	switch {
	case v.IsString():
		f(path, v)
	case v.IsSequence():
		for _, item := range v.Items {
			eachString(item, path, f)
		}
	case v.IsDict():
		for _, e := range v.Entries {
			eachString(e.Value, append(slices.Clip(path), e.Key.String()), f)
		}
	}
}

// passwordAt says what secret a string of a cloud-config is by the keys that lead to it, "" if none
// (cloud-init's modules cc_set_passwords and cc_users_groups).
func passwordAt(path []string, text string) string {
	key := path[len(path)-1:]
	switch {
	case len(path) == 0:
		return ""
	case path[0] == "chpasswd" && key[0] == "list":
		for line := range strings.Lines(text) {
			if _, password, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && isPassword(password) {
				return "a password"
			}
		}
		return ""
	case path[0] == "user" || path[0] == "users" || path[0] == "chpasswd" || len(path) == 1:
		if slices.Contains([]string{"password", "passwd", "hashed_passwd", "plain_text_passwd"}, key[0]) && isPassword(text) {
			return "a password"
		}
	}
	return ""
}

// isPassword: cloud-init makes passwords itself where it reads R or RANDOM; * and ! let nobody in.
func isPassword(s string) bool {
	return s != "" && s != "R" && s != "RANDOM" && s[0] != '*' && s[0] != '!' && !isPlaceholder("password="+s)
}

// checkSecrets looks for secrets in all that a hook brings to the node. Scripts and files were read already.
func (p *hookPass) checkSecrets(shells []*shellText, files []*file) {
	for _, s := range shells {
		p.secrets(s.Text, s.place)
	}
	for _, f := range files {
		p.secrets(f.text, f.place)
	}
	for _, key := range slices.Sorted(maps.Keys(p.h.Env)) {
		p.secrets(key+"="+p.h.Env[key], func(int, int) report.Position { return p.h.Pos("env." + key) })
	}
	for i, f := range p.h.Files {
		for j, u := range f.URLs {
			p.secrets(u, func(int, int) report.Position {
				if len(f.URLs) > 1 {
					return p.h.Pos(fmt.Sprintf("files[%d].url[%d]", i, j))
				}
				return p.h.Pos(fmt.Sprintf("files[%d].url", i))
			})
		}
	}
	if p.h.CloudConfig != nil {
		p.configSecrets()
	}
}

func (p *hookPass) secrets(text string, place func(line, col int) report.Position) {
	where := inUserData
	if p.h.Phase == hookspec.Daemon {
		where = inConfigMap
	}
	for _, s := range findSecrets(text) {
		p.add("KH070", place(s.line, s.col), s.what+" "+where)
	}
}

// eachScalar calls f for each scalar below n, with its key, nil for items of lists, and the keys that lead to it.
func eachScalar(n, key *yaml.Node, path []string, f func(n, key *yaml.Node, path []string)) {
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			eachScalar(item, nil, path, f)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			eachScalar(n.Content[i+1], n.Content[i], append(slices.Clip(path), n.Content[i].Value), f)
		}
	case yaml.ScalarNode:
		f(n, key, path)
	}
}

// configSecrets looks at the strings of a hook's cloudConfig.
func (p *hookPass) configSecrets() {
	eachScalar(p.h.CloudConfig, nil, nil, func(n, key *yaml.Node, path []string) {
		prefix := path[len(path)-1] + ": " // what a value is, its name may say
		text := prefix + n.Value
		if what := passwordAt(path, n.Value); what != "" && len(findSecrets(text)) == 0 {
			p.add("KH070", p.nodePlace(n, key, 1, 1), what+" "+inUserData)
		}
		p.secrets(text, func(line, col int) report.Position {
			if line == 1 {
				col = max(col-len(prefix), 1)
			}
			return p.nodePlace(n, key, line, col)
		})
	})
}

// nodePlace finds a place in a string of cloudConfig; key is nil for items of lists.
func (p *hookPass) nodePlace(n, key *yaml.Node, line, col int) report.Position {
	pos := p.h.Pos("cloudConfig")
	if n.Line == 0 {
		return pos
	}
	pos.Line, pos.Col = n.Line, n.Column
	if key == nil || p.h.Source == nil {
		return pos
	}
	m := p.h.Source.Map(key.Line, key.Column, n.Value)
	if i := sourcemap.New([]byte(n.Value)).Offset(line, col); i < len(m) {
		pos.Line, pos.Col = p.h.Source.Place(m[i])
	}
	return pos
}
