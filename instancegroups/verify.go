package instancegroups

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// edit returns the edits of all groups of the section that change. Edits whose result cannot be proven right are errors.
func (s *section) edit(b *bodies) (edits []edit, errs []*Error) {
	var changed []*Group
	defer func() {
		// Positions come from a parser: what is wrong with them must not be a crash.
		if r := recover(); r != nil {
			edits, errs = nil, []*Error{changed[0].errorf(nil, writeBlock, "additionalUserData cannot be edited: %v", r)}
		}
	}()
	for _, g := range s.groups {
		if !g.changed() {
			continue
		}
		changed = append(changed, g)
		if err := g.checkOurs(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 || len(changed) == 0 {
		return nil, errs
	}
	var err error
	for _, careful := range []bool{false, true} {
		if edits, errs = editGroups(changed, careful); len(errs) > 0 {
			return nil, errs
		}
		if err = s.verify(b, edits, changed); err == nil {
			return edits, nil
		}
	}
	return nil, []*Error{changed[0].errorf([]string{"spec", userDataKey}, writeBlock,
		"additionalUserData cannot be edited without changing something else: %v", err)}
}

// editGroups edits groups. Careful edits take empty lines along with what they remove and keep the key: otherwise both
// may end up in a block scalar before them that keeps its last line breaks ("|+").
func editGroups(groups []*Group, careful bool) (edits []edit, errs []*Error) {
	for _, g := range groups {
		more, err := g.edits(careful)
		if err != nil {
			errs = append(errs, g.cannotEdit(err))
		}
		edits = append(edits, more...)
	}
	return edits, errs
}

func (g *Group) edits(careful bool) ([]edit, error) {
	if g.section.yaml == nil {
		return g.jsonEdits()
	}
	return g.yamlEdits(careful)
}

func (g *Group) cannotEdit(err error) *Error {
	var r *refusal
	if !errors.As(err, &r) {
		return g.errorf([]string{"spec", userDataKey}, "", "%v", err)
	}
	return g.section.errorAt(g.section.yaml.offset(r.node.Line, r.node.Column), []string{"spec", userDataKey}, r.remedy, "%s", r.message)
}

// checkOurs refuses parts that kops would change or take for the user's.
func (g *Group) checkOurs() *Error {
	for _, u := range g.ours {
		switch {
		case !strings.HasPrefix(u.Name, Prefix):
			return g.errorf(nil, "", "the part %q is not ours: its name must begin with %s", u.Name, Prefix)
		case g.APIVersion == oldVersion && rewritten(u.Content):
			return g.errorf([]string{"apiVersion"}, "write kops.k8s.io/v1alpha2 in this manifest",
				"kops would change the part %q: in a manifest of %s it replaces that text wherever it stands behind \"apiVersion:\"", u.Name, oldVersion)
		}
		if err := g.section.file.printer.check(u); err != nil {
			return g.errorf(nil, "encode its content", "the part %q cannot be in a manifest: %v", u.Name, err)
		}
	}
	return nil
}

// rewritten follows rewriteAPIGroup in kops' pkg/kopscodecs/codecs.go:121.
func rewritten(content string) bool {
	if !strings.Contains(content, oldVersion) {
		return false
	}
	for line := range strings.Lines(content) {
		if strings.Contains(line, "apiVersion:") && strings.Contains(line, oldVersion) {
			return true
		}
	}
	return false
}

// verify reads the section with its edits as kops does, and compares: nothing but the additionalUserData of the changed
// groups may differ, and there the user's parts must be as they were and ours as they were set.
func (s *section) verify(b *bodies, edits []edit, changed []*Group) error {
	src := splice(s.file.text.src, s.start, s.end, edits)
	if bytes.Contains(src, []byte("\n---\n")) {
		return errors.New("kops would cut the document in two")
	}
	now, err := s.read(b, src)
	if err != nil {
		return err
	}
	before, after := s.reading.objects(), now.objects()
	if len(before) != len(after) {
		return fmt.Errorf("%d objects become %d", len(before), len(after))
	}
	var old, new []*value
	for k, o := range before {
		i := len(old)
		if i == len(changed) || o.value != changed[i].object.value {
			continue
		}
		if err := changed[i].compareParts(&now, after[k]); err != nil {
			return err
		}
		old, new = append(old, o.value), append(new, after[k].value)
	}
	if !bytes.Equal(s.reading.without(old), now.without(new)) {
		return errors.New("other fields change")
	}
	return nil
}

// read reads the section with another source.
func (s *section) read(b *bodies, src []byte) (reading, error) {
	if s.yaml == nil {
		if !json.Valid(src) {
			return reading{}, errors.New("the result is not JSON")
		}
		return reading{json: src, root: parseJSON(src)}, nil
	}
	e := b.elide(src)
	r, err := readYAML(e.text)
	if err != nil || e.tokens == 0 {
		return r, err
	}
	if !r.tokensInPlace(e.tokens) {
		return readYAML(src)
	}
	r.bodies = b
	return r, nil
}

// compareParts compares the parts of the group in a new reading of it with what they should be.
func (g *Group) compareParts(r *reading, o object) error {
	want := g.UserData()
	items := o.parts()
	if len(items) != len(want) {
		return fmt.Errorf("%d parts come out as %d", len(want), len(items))
	}
	theirs := slices.DeleteFunc(slices.Clone(g.parts), func(p part) bool { return p.ours() })
	for i := range items {
		p := r.part(&items[i])
		extra := i < len(theirs) && theirs[i].extra
		if p.UserData != want[i] || p.extra != extra {
			return fmt.Errorf("the part %q comes out differently", want[i].Name)
		}
		if extra && !bytes.Equal(p.source, theirs[i].source) {
			return fmt.Errorf("the unknown fields of the part %q come out differently", want[i].Name)
		}
	}
	return nil
}

// without returns the document's JSON without the additionalUserData of some objects, which are in order.
func (r *reading) without(objects []*value) []byte {
	out := make([]byte, 0, len(r.json))
	from := 0
	for _, o := range objects {
		spec := o.get("spec")
		if spec == nil {
			continue
		}
		if i := spec.member(userDataKey); i >= 0 {
			start, end := memberRange(spec, i)
			out = append(out, r.json[from:start]...)
			from = end
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, append(out, r.json[from:]...)); err != nil {
		return nil
	}
	return compact.Bytes()
}
