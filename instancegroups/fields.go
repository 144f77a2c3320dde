package instancegroups

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/kops/pkg/apis/kops/v1alpha2"
	"k8s.io/kops/pkg/apis/kops/v1alpha3"

	"kopshook.dev/kopshook/internal/report"
)

// addStrictErrors turns what kops' strict decoder says into errors and warnings. kops decodes leniently: it drops
// fields that it does not know without a word.
func (g *Group) addStrictErrors(version string, errs []error) {
	t := reflect.TypeFor[v1alpha2.InstanceGroup]()
	if version == "v1alpha3" {
		t = reflect.TypeFor[v1alpha3.InstanceGroup]()
	}
	for _, err := range errs {
		// sigs.k8s.io/json: `unknown field "spec.volumes[0].sice"`, `duplicate field "spec.role"`.
		what, quoted, ok := strings.Cut(err.Error(), " field ")
		path := splitPath(strings.Trim(quoted, `"`))
		if !ok || len(path) == 0 {
			g.fail(g.errorf(nil, "", "kops cannot read this InstanceGroup: %v", err))
			continue
		}
		name := path[len(path)-1]
		if what == "duplicate" {
			g.fail(g.errorf(path, "remove one of the two", "the field %q is there twice", name))
			continue
		}
		if near := report.Nearest(name, fieldNames(t, path[:len(path)-1])); near != "" {
			g.fail(g.errorf(path, fmt.Sprintf("did you mean %q?", near), "kops has no field %q here and would drop it", name))
			continue
		}
		g.warn(g.errorf(path, "remove it, unless your kops is newer and knows it", "kops has no field %q here and drops it", name))
	}
}

// splitPath splits "spec.volumes[0].size" into spec, volumes, 0, size.
func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// fieldNames returns the JSON names of the fields of the struct at a path below t, or nothing.
func fieldNames(t reflect.Type, path []string) []string {
	for _, name := range path {
		t = pointee(t)
		switch t.Kind() {
		case reflect.Slice, reflect.Map:
			t = t.Elem() // name is an index, or a key
		case reflect.Struct:
			f, ok := field(t, name)
			if !ok {
				return nil
			}
			t = f
		default:
			return nil
		}
	}
	var names []string
	if t = pointee(t); t.Kind() == reflect.Struct {
		eachField(t, func(name string, _ reflect.Type) { names = append(names, name) })
	}
	return names
}

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func field(t reflect.Type, name string) (found reflect.Type, ok bool) {
	eachField(t, func(n string, ft reflect.Type) {
		if n == name {
			found, ok = ft, true
		}
	})
	return found, ok
}

// eachField calls fn for every field that encoding/json sees in a struct.
func eachField(t reflect.Type, fn func(name string, t reflect.Type)) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name != "":
			fn(name, f.Type)
		case f.Anonymous:
			eachField(pointee(f.Type), fn)
		}
	}
}
