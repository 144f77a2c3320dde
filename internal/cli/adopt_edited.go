package cli

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// standIns finds, in the specs that were given, the hooks that adopt made of the groups' parts, whatever somebody has edited
// since. It returns the groups that the specs are for. A part goes from the manifest only where each of its hooks is found.
func (in *inputs) standIns(groups []*adoption) []*adoption {
	var found []*adoption
	for _, g := range groups {
		missing := g.standIn(in.Specs)
		if len(g.specs) == 0 && len(g.Taken) > 0 {
			in.Report.Warnf(report.Position{File: g.group.Manifest.Name, Line: g.group.Line}, "", "kopshook adopt -o writes a spec for it",
				"instance group %q stays as it is: none of the specs stands for its parts", g.label)
			continue
		}
		found = append(found, g)
		for _, m := range missing {
			part := m.parts[0]
			pos := report.Position{File: g.group.Manifest.Name}
			pos.Line, pos.Col = g.group.Position("spec", "additionalUserData", strconv.Itoa(g.items[part]), "name")
			in.Report.Errorf(pos, "", "keep the hook under that name, with enabled: false if it is not wanted any more; or remove the part",
				"part %q of instance group %q: the specs have no hook %q, which adopt makes of it", g.Parts[part].Name, g.label, m.name)
		}
	}
	if !slices.ContainsFunc(found, func(g *adoption) bool { return len(g.specs) > 0 }) && !in.Report.HasErrors() {
		in.Report.Errorf(report.Position{}, "", "give with -f the spec that kopshook adopt -o wrote", "none of the specs was made of parts of these instance groups")
	}
	return found
}

// madeHook is a hook that adopt makes, and the parts that it makes it of.
type madeHook struct {
	name  string
	parts []int
}

// standIn looks for a hook of the specs for each that adopt makes: one with its name, enabled or not, or one with its script.
func (g *adoption) standIn(specs []*hookspec.Doc) (missing []madeHook) {
	g.standsFor = map[string]string{}
	var made []madeHook
	for _, part := range g.Taken {
		for _, h := range g.HooksOf(part) {
			i := slices.IndexFunc(made, func(m madeHook) bool { return m.name == h.Name })
			if i < 0 {
				i = len(made)
				made = append(made, madeHook{name: h.Name})
			}
			made[i].parts = append(made[i].parts, part)
		}
	}
	for _, m := range made {
		doc, name := g.find(m, specs)
		if doc == nil {
			missing = append(missing, m)
			continue
		}
		g.standsFor[m.name] = name
		if !slices.Contains(g.specs, doc) {
			g.specs = append(g.specs, doc)
		}
	}
	return missing
}

func (g *adoption) find(m madeHook, specs []*hookspec.Doc) (*hookspec.Doc, string) {
	who := plan.Selectable(g.group.Group)
	for _, d := range specs {
		if d.Selects(who) && slices.Contains(d.HookNames(), m.name) {
			return d, m.name
		}
	}
	for _, h := range g.group.Hooks {
		for _, s := range h.Scripts {
			for _, part := range m.parts {
				if bytes.Equal(bytes.TrimSpace(s.Content), []byte(strings.TrimSpace(g.Parts[part].Content))) {
					return h.Doc, h.Name
				}
			}
		}
	}
	return nil, ""
}
