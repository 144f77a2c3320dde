package instancegroups

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

const userDataKey = "additionalUserData"

// yamlEditor edits one group's additionalUserData.
type yamlEditor struct {
	*yamlDocument
	group      *Group
	spec       *yaml.Node
	specKey    *yaml.Node
	key, value *yaml.Node // of additionalUserData, or nil
	careful    bool       // see editGroups
	edits      []edit
}

// refusal says why a place cannot be edited, and what to do.
type refusal struct {
	node            *yaml.Node
	message, remedy string
}

func (r *refusal) Error() string { return r.message }

const writeBlock = "write it as a block: one key or one item a line, without braces and brackets"

func (g *Group) yamlEdits(careful bool) ([]edit, error) {
	e := &yamlEditor{yamlDocument: g.section.yaml, group: g, careful: careful}
	_, object := e.find(g.object.path)
	e.specKey, e.spec = pair(object, "spec")
	switch {
	case e.spec == nil || e.spec.Kind != yaml.MappingNode:
		return nil, &refusal{object, "the spec of this group is not written here", "write it out, without an alias or a merge key"}
	case e.spec.Style&yaml.FlowStyle != 0:
		return nil, &refusal{e.spec, "this spec is in flow style", writeBlock}
	case !e.alone(e.spec.Content[0]):
		return nil, &refusal{e.spec, "this spec does not begin on a line of its own", writeBlock}
	}
	e.key, e.value = pair(e.spec, userDataKey)
	if err := e.edit(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.start - b.start })
	return e.edits, nil
}

func (e *yamlEditor) edit() error {
	switch {
	case e.key == nil && len(e.group.parts) > 0:
		return &refusal{e.spec, "additionalUserData comes from a merge key", "write it out in this group"}
	case e.key == nil:
		return e.insertKey()
	case !e.alone(e.key):
		return &refusal{e.key, "additionalUserData does not stand on a line of its own", writeBlock}
	case refers(e.value):
		return &refusal{e.value, "additionalUserData holds an anchor or an alias", "write its parts out"}
	case isNull(e.value):
		return e.replaceNull()
	case e.value.Kind == yaml.SequenceNode && e.value.Style&yaml.FlowStyle != 0:
		return e.replaceFlow()
	case e.value.Kind == yaml.SequenceNode:
		return e.editBlock()
	}
	return &refusal{e.value, "additionalUserData is not a list", "make it a list"}
}

// refers says whether a node holds an anchor or an alias.
func refers(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || slices.ContainsFunc(n.Content, refers)
}

// insertKey writes additionalUserData into a spec that has none: where kops would print it when the keys are in kops'
// order, else at the end.
func (e *yamlEditor) insertKey() error {
	column := e.spec.Content[0].Column - 1
	var names []string
	for i := 0; i < len(e.spec.Content); i += 2 {
		names = append(names, e.spec.Content[i].Value)
	}
	i := len(names)
	if slices.IsSorted(names) {
		i, _ = slices.BinarySearch(names, userDataKey)
	}
	if i == 0 {
		return e.insert(e.specKey.Line, column, true)
	}
	before := e.spec.Content[2*i-1]
	line, ok := e.end(before, column, e.after(before))
	if !ok {
		return &refusal{before, "the end of this value cannot be found", "write it in a simpler form"}
	}
	// Comments that follow belong to what they follow when they are indented like it.
	for line < e.count() {
		spaces := leadingSpaces(e.line(line))
		if !bytes.HasPrefix(e.line(line)[spaces:], []byte("#")) || spaces < column || spaces == column && i < len(names) {
			break
		}
		line++
	}
	return e.insert(line, column, true)
}

// insert writes our parts before a line, under a new key or as they are.
func (e *yamlEditor) insert(line, column int, key bool) error {
	head := ""
	if key {
		head = strings.Repeat(" ", column) + userDataKey + ":\n"
		column += e.listIndent()
	}
	parts, err := e.print(column)
	if err != nil {
		return err
	}
	e.replaceLines(line, line, head, parts...)
	return nil
}

// print returns our parts as items of a list in a column.
func (e *yamlEditor) print(column int) ([]string, error) {
	printed := make([]string, len(e.group.ours))
	for i, u := range e.group.ours {
		var err error
		if printed[i], err = e.group.section.file.printer.part(u, column); err != nil {
			return nil, err
		}
	}
	return printed, nil
}

// listIndent returns how far lists are indented below their keys: as in the first list of the spec, or of the document.
// kops does not indent them.
func (e *yamlEditor) listIndent() int {
	for _, n := range []*yaml.Node{e.spec, e.root()} {
		if indent, ok := firstListIndent(n); ok {
			return indent
		}
	}
	return 0
}

func firstListIndent(n *yaml.Node) (int, bool) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle == 0 && len(v.Content) > 0 && v.Column >= k.Column {
				return v.Column - k.Column, true
			}
		}
	}
	for _, c := range n.Content {
		if indent, ok := firstListIndent(c); ok {
			return indent, true
		}
	}
	return 0, false
}

func (e *yamlEditor) replaceLines(from, to int, text string, parts ...string) {
	e.replace(e.lineStart(from), e.lineStart(to), text, parts...)
}

func (e *yamlEditor) replace(from, to int, text string, parts ...string) {
	start := e.group.section.start
	e.edits = append(e.edits, edit{start + e.source(from), start + e.source(to), text, parts})
}

// editBlock edits a block list: our items go, the new ones come behind the last item. All else keeps its bytes.
func (e *yamlEditor) editBlock() error {
	column := e.value.Column - 1
	if e.value.Style&yaml.TaggedStyle != 0 || e.byteAt(e.at(e.value.Line, e.value.Column)) != '-' || !e.alone(e.value) {
		return &refusal{e.value, "this list does not begin with a line of \"- \"", writeBlock}
	}
	items := e.value.Content
	starts := make([]int, len(items)+1)
	line := e.key.Line - 1
	for i, item := range items {
		var ok bool
		if line, ok = e.dash(item, column, line); !ok {
			return &refusal{item, "the begin of this item cannot be found", writeBlock}
		}
		starts[i] = line
	}
	starts[len(items)] = e.after(e.value)
	end, theirs := 0, 0
	for i, item := range items {
		var ok bool
		if end, ok = e.end(item, column, starts[i+1]); !ok {
			return &refusal{item, "the end of this item cannot be found", "write it in a simpler form"}
		}
		if !e.group.parts[i].ours() {
			theirs++
			continue
		}
		for e.careful && end < starts[i+1] && len(bytes.TrimSpace(e.line(end))) == 0 {
			end++
		}
		e.replaceLines(starts[i], end, "")
	}
	if len(e.group.ours) > 0 {
		return e.insert(end, column, false)
	}
	if theirs > 0 {
		return nil
	}
	colon, ok := e.colon(e.key)
	if !ok {
		return &refusal{e.key, "the \":\" of this key cannot be found", writeBlock}
	}
	return e.removeKey(colon, colon)
}

// removeKey removes a key whose list becomes empty. valueEnd is the offset behind what stands after its colon. A comment
// behind that stays, with "[]".
func (e *yamlEditor) removeKey(colon, valueEnd int) error {
	last := e.lineOf(valueEnd)
	if e.careful || len(bytes.TrimSpace(e.elided.text[valueEnd:e.lineStart(last+1)])) > 0 {
		e.replace(colon, valueEnd, " []")
		return nil
	}
	e.replaceLines(e.key.Line-1, last+1, "")
	return nil
}

// replaceNull writes our parts where the key has no value, or null.
func (e *yamlEditor) replaceNull() error {
	colon, ok := e.colon(e.key)
	at := e.at(e.value.Line, e.value.Column)
	switch {
	case !ok || e.value.Style != 0:
		return &refusal{e.value, "this null cannot be replaced", "remove it"}
	case e.value.Value == "":
		at = colon
	case e.value.Line != e.key.Line || !bytes.HasPrefix(e.elided.text[at:], []byte(e.value.Value)):
		return &refusal{e.value, "this null cannot be replaced", "remove it"}
	}
	e.replace(colon, at+len(e.value.Value), "")
	return e.insert(e.key.Line, e.spec.Content[0].Column-1+e.listIndent(), false)
}

// replaceFlow turns a list in brackets into a block list, with the user's parts as kops prints them.
func (e *yamlEditor) replaceFlow() error {
	colon, ok := e.colon(e.key)
	begin := e.at(e.value.Line, e.value.Column)
	end, closed := e.flowEnd(e.value)
	text := e.elided.text
	if !ok || !closed || begin < colon || len(bytes.TrimSpace(text[colon:begin])) > 0 || e.byteAt(begin) != '[' {
		return &refusal{e.value, "this list cannot be edited", writeBlock}
	}
	if e.hasComment(e.value, begin, end) {
		return &refusal{e.value, "this list in brackets holds a comment, which would be lost", writeBlock}
	}
	column := e.spec.Content[0].Column - 1 + e.listIndent()
	var b strings.Builder
	for _, p := range e.group.parts {
		if p.ours() {
			continue
		}
		s, err := printItem(p.source, column)
		if err != nil {
			return err
		}
		b.WriteString(s)
	}
	parts, err := e.print(column)
	if err != nil {
		return err
	}
	if b.Len() == 0 && len(parts) == 0 {
		return e.removeKey(colon, end)
	}
	e.replace(colon, end, "")
	line := e.lineOf(end) + 1
	e.replaceLines(line, line, b.String(), parts...)
	return nil
}
