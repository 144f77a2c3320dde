package instancegroups

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/kopscodecs"

	"kopshook.dev/kopshook/internal/report"
)

const kopsGroup = "kops.k8s.io"

// oldVersion is what kops itself still rewrites to kops.k8s.io/v1alpha2 (pkg/kopscodecs/codecs.go:119).
const oldVersion = "kops/v1alpha2"

func isKops(apiVersion string) bool {
	return strings.HasPrefix(apiVersion, kopsGroup+"/") || strings.HasPrefix(apiVersion, "kops/")
}

// kopsKind returns the type of an object of kops. An error has a Path, a Message and a Remedy.
func kopsKind(d Document) (schema.GroupVersionKind, *Error) {
	gvk := schema.GroupVersionKind{Group: kopsGroup, Kind: d.Kind}
	switch d.APIVersion {
	case oldVersion, kopsGroup + "/v1alpha2":
		gvk.Version = "v1alpha2"
	case kopsGroup + "/v1alpha3":
		gvk.Version = "v1alpha3"
	default:
		return gvk, &Error{Path: "apiVersion", Message: fmt.Sprintf("kops has no apiVersion %q", d.APIVersion),
			Remedy: "use kops.k8s.io/v1alpha2 or kops.k8s.io/v1alpha3"}
	}
	if d.Kind == "" {
		return gvk, &Error{Path: "kind", Message: "the kind is missing", Remedy: "add a line: kind: InstanceGroup"}
	}
	if !kopscodecs.Scheme.Recognizes(gvk) {
		e := &Error{Path: "kind", Message: fmt.Sprintf("kops has no kind %q", d.Kind)}
		if near := report.Nearest(d.Kind, []string{"InstanceGroup", "Cluster", "SSHCredential", "Keyset"}); near != "" {
			e.Remedy = fmt.Sprintf("did you mean %q?", near)
		}
		return gvk, e
	}
	return gvk, nil
}

// lacksVersion says whether this would be an instance group if it said so.
func (d Document) lacksVersion() bool { return d.Kind == "InstanceGroup" && d.APIVersion == "" }

// strictDecoder is kops' decoder, with errors for what it would drop.
var strictDecoder = sync.OnceValue(func() runtime.Decoder {
	return serializer.NewCodecFactory(kopscodecs.Scheme, serializer.EnableStrict).UniversalDecoder(kops.SchemeGroupVersion)
})

// source returns an object's JSON for kops' decoder.
func (s *section) source(o object) []byte {
	v := o.value.get("apiVersion")
	if v.text(s.reading.json) != oldVersion {
		return s.reading.json[o.value.start:o.value.end]
	}
	return slices.Concat(s.reading.json[o.value.start:v.start], []byte(`"`+kopsGroup+`/v1alpha2"`), s.reading.json[v.end:o.value.end])
}

func decodeCluster(data []byte) (*Cluster, error) {
	obj, _, err := kopscodecs.Codecs.UniversalDecoder(kops.SchemeGroupVersion).Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	c, ok := obj.(*kops.Cluster)
	if !ok {
		return nil, fmt.Errorf("it decodes as %T", obj)
	}
	return &Cluster{Name: c.Name, Object: c}, nil
}

// decode fills the group. Object stays nil when kops cannot read it.
func (g *Group) decode() {
	defer func() {
		if r := recover(); r != nil {
			g.fail(g.errorf(nil, "", "kops' decoder gave up: %v", r))
		}
	}()
	s := g.section
	obj, gvk, err := strictDecoder().Decode(s.source(g.object), nil, nil)
	switch {
	case runtime.IsStrictDecodingError(err):
		strict, _ := runtime.AsStrictDecodingError(err)
		g.addStrictErrors(gvk.Version, strict.Errors())
	case err != nil:
		g.fail(s.decodeError(g.object, "InstanceGroup", err))
		return
	}
	ig, ok := obj.(*kops.InstanceGroup)
	if !ok {
		g.fail(g.errorf(nil, "", "kops cannot read this InstanceGroup: it decodes as %T", obj))
		return
	}
	for i := range ig.Spec.AdditionalUserData {
		part := &ig.Spec.AdditionalUserData[i]
		part.Content = s.reading.expand(part.Content)
	}
	g.Object = ig
	g.Name = ig.Name
	g.Labels = ig.Labels
	g.Cluster = ig.Labels[kops.LabelClusterName]
	g.NodeLabels = ig.Spec.NodeLabels
	g.Role = string(ig.Spec.Role)
	for _, item := range g.object.parts() {
		g.parts = append(g.parts, s.reading.part(&item))
	}

	if g.Name == "" {
		g.fail(g.errorf([]string{"metadata", "name"}, "add metadata.name", "the instance group has no name"))
	}
	if !slices.Contains(kops.AllInstanceGroupRoles, ig.Spec.Role) {
		g.badRole()
	}
}

// decodeError is what kops says of an object that it cannot decode, at the field.
func (s *section) decodeError(o object, kind string, err error) *Error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return s.errorAt(s.locate(o.path), nil, "", "kops cannot read this %s: %v", kind, err)
	}
	remedy := ""
	got := jsonType(wrong.Value)
	switch {
	case wrong.Type.Kind() == reflect.String && got != "a list" && got != "a mapping":
		remedy = "put it in quotes"
	case kind == "Cluster":
		remedy = "the versions of kops' API have different fields: compare apiVersion with what kops get cluster prints"
	}
	path := splitPath(wrong.Field)
	return s.errorAt(s.locate(append(slices.Clone(o.path), path...)), path, remedy, "kops cannot read %s: it must be %s, not %s", wrong.Field, yamlType(wrong.Type), got)
}

// yamlType is a Go type in the words of YAML.
func yamlType(t reflect.Type) string {
	switch t = pointee(t); t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	}
	return "a whole number"
}

// jsonType is what encoding/json calls a value ("array", "number 1.5"), in the words of YAML.
func jsonType(s string) string {
	switch s {
	case "array":
		return "a list"
	case "object":
		return "a mapping"
	case "bool":
		return "true or false"
	case "string", "number":
		return "a " + s
	}
	return strings.TrimPrefix(s, "number ")
}

func (g *Group) badRole() {
	roles := []string{"Node", "Master", "APIServer", "Bastion"}
	if strings.HasSuffix(g.APIVersion, "/v1alpha3") {
		roles[1] = "ControlPlane"
	}
	path := []string{"spec", "role"}
	if g.Role == "" {
		g.fail(g.errorf(path, "add spec.role: "+strings.Join(roles, ", "), "the instance group %q has no role", g.Name))
		return
	}
	remedy := "use one of " + strings.Join(roles, ", ")
	if near := report.Nearest(g.Role, roles); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", near)
	}
	g.fail(g.errorf(path, remedy, "kops has no role %q", g.Role))
}
