package instancegroups

import (
	"bytes"
	"strconv"
	"strings"

	"k8s.io/kops/pkg/apis/kops"
	sigsyaml "sigs.k8s.io/yaml"
)

// reading is what kops' parser makes of a document: JSON.
type reading struct {
	json   []byte
	root   value
	bodies *bodies // set when json holds tokens for elided bodies
}

// readYAML decodes as kops does (sigs.k8s.io/yaml over yaml.v2, which reads YAML 1.1), but refuses duplicate keys.
func readYAML(src []byte) (reading, error) {
	data, err := sigsyaml.YAMLToJSONStrict(src)
	if err != nil {
		if err = onlyMerged(src, err); err == nil {
			data, err = sigsyaml.YAMLToJSON(src)
		}
	}
	if err != nil {
		return reading{}, err
	}
	return reading{json: data, root: parseJSON(data)}, nil
}

// tokensInPlace says whether n tokens, and no others, are in r, each as the whole content of a part.
func (r *reading) tokensInPlace(n int) bool {
	found := 0
	for _, o := range r.objects() {
		for _, item := range o.parts() {
			if _, ok := tokenNumber(item.get("content").text(r.json)); ok {
				found++
			}
		}
	}
	return found == n && bytes.Count(r.json, []byte(tokenPrefix)) == n
}

// object is a mapping that may be a Kubernetes object: the document itself, or an item of the list that it is.
type object struct {
	path  []string
	value *value
}

// parts returns the values in spec.additionalUserData.
func (o object) parts() []value {
	v := o.value.get("spec", "additionalUserData")
	if v == nil {
		return nil
	}
	return v.items
}

func (r *reading) objects() []object {
	root := &r.root
	if root.kind == '[' {
		return mappings(nil, root)
	}
	if items := root.get("items"); items != nil && items.kind == '[' && isList(root.get("kind").text(r.json)) {
		return mappings([]string{"items"}, items)
	}
	return []object{{nil, root}}
}

// isList says whether objects of a kind hold others in "items": List, or kops' InstanceGroupList.
func isList(kind string) bool { return strings.HasSuffix(kind, "List") }

func mappings(path []string, list *value) []object {
	var all []object
	for i := range list.items {
		if list.items[i].kind == '{' {
			all = append(all, object{append(path[:len(path):len(path)], strconv.Itoa(i)), &list.items[i]})
		}
	}
	return all
}

// part is an item of additionalUserData as it is in a file.
type part struct {
	kops.UserData
	source []byte // JSON, maybe with a token
	extra  bool   // it has fields besides name, type and content
	taken  bool   // see Group.TakeUserData
}

// ours says whether the part is to go when new ones are set.
func (p *part) ours() bool { return p.taken || strings.HasPrefix(p.Name, Prefix) }

// part reads an item of additionalUserData.
func (r *reading) part(item *value) part {
	p := part{source: item.source(r.json)}
	for _, m := range item.members {
		switch m.key {
		case "name":
			p.Name = m.value.text(r.json)
		case "type":
			p.Type = m.value.text(r.json)
		case "content":
			p.Content = r.expand(m.value.text(r.json))
		default:
			p.extra = true
		}
	}
	return p
}

// expand returns the content that a decoded string stands for.
func (r *reading) expand(s string) string {
	if r.bodies == nil {
		return s
	}
	return r.bodies.expand(s)
}
