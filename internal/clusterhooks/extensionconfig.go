package clusterhooks

import (
	"strings"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// ExtensionConfigKind of Cluster API says where a server of Runtime Extensions is, and for whom. It is taken as people have
// it: a file that they apply, or what kubectl get prints.
const ExtensionConfigKind = "ExtensionConfig"

// caAnnotation names the Secret whose ca.crt Cluster API writes into caBundle (api/runtime/v1beta2/extensionconfig_types.go).
const caAnnotation = "runtime.cluster.x-k8s.io/inject-ca-from-secret"

var extensionConfigObjects = []*strict.Object{
	{
		Name: "ExtensionConfig",
		Fields: []strict.Field{
			{Name: "apiVersion", Type: strict.String, Required: true, Enum: []string{"runtime.cluster.x-k8s.io/v1alpha1", "runtime.cluster.x-k8s.io/v1beta2"}},
			{Name: "kind", Type: strict.String, Required: true, Enum: []string{ExtensionConfigKind}},
			{Name: "metadata", Type: strict.OneObject, Required: true},
			{Name: "spec", Type: strict.OneObject, Required: true},
			{Name: "status", Type: strict.AnyMapping},
		},
	},
	{
		Name: "metadata",
		Fields: []strict.Field{
			{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, Says: dnsLabelSays},
			{Name: "annotations", Type: strict.StringMap},
			{Name: "labels", Type: strict.StringMap},
			{Name: "namespace"}, {Name: "generateName"}, {Name: "uid"}, {Name: "resourceVersion"}, {Name: "generation"}, {Name: "selfLink"},
			{Name: "creationTimestamp"}, {Name: "deletionTimestamp"}, {Name: "deletionGracePeriodSeconds"},
			{Name: "finalizers"}, {Name: "ownerReferences"}, {Name: "managedFields"},
		},
	},
	{
		Name: "spec",
		Fields: []strict.Field{
			{Name: "clientConfig", Type: strict.OneObject, Required: true},
			{Name: "namespaceSelector", Type: strict.OneObject},
			{Name: "settings", Type: strict.StringMap},
		},
	},
	{
		Name: "clientConfig",
		Fields: []strict.Field{
			*clientConfigObject.Field("url"), *clientConfigObject.Field("service"), *clientConfigObject.Field("caBundle"),
		},
	},
	{
		Name:   "namespaceSelector",
		Fields: []strict.Field{*selectorObject.Field("matchLabels"), *selectorObject.Field("matchExpressions")},
	},
	&serviceObject, &expressionObject,
}

// decodeExtensionConfigs reads the ExtensionConfigs of a file, each as a document of its own. They are for every cluster whose
// namespace is selected, see Cluster.label.
func decodeExtensionConfigs(file string, data []byte, r *report.Report) []*Doc {
	if !strings.Contains(string(data), ExtensionConfigKind) {
		return nil
	}
	var docs []*Doc
	hookspec.ReadKind(file, data, extensionConfigObjects, r, func(r *strict.Reader, v strict.Value) {
		e := Extension{Enabled: true, path: "spec", namePath: "metadata.name"}
		for field, v := range r.Fields(v, extensionConfigObjects[0]) {
			switch field {
			case "apiVersion", "kind":
				r.String(v)
			case "metadata":
				for field, v := range r.Fields(v, extensionConfigObjects[1]) {
					switch field {
					case "name":
						e.Name = r.String(v)
					case "annotations":
						if secret, ok := r.StringMap(v)[caAnnotation]; ok {
							e.ClientConfig.CASecret = checkSecret(r, v.Path(), secret)
						}
					}
				}
			case "spec":
				readExtensionConfigSpec(r, v, &e)
			}
		}
		docs = append(docs, &Doc{File: file, Name: e.Name, Extensions: []Extension{e}, pos: r.Doc.Pos})
	})
	return docs
}

func readExtensionConfigSpec(r *strict.Reader, v strict.Value, e *Extension) {
	for field, v := range r.Fields(v, extensionConfigObjects[2]) {
		switch field {
		case "clientConfig":
			for field, v := range r.Fields(v, extensionConfigObjects[3]) {
				readClientField(r, &e.ClientConfig, field, v)
			}
			checkAddress(r, v.Path(), extensionConfigObjects[3])
		case "namespaceSelector":
			e.Selector = new(Selector)
			for field, v := range r.Fields(v, extensionConfigObjects[4]) {
				readLabels(r, e.Selector, field, v)
			}
		case "settings":
			e.Settings = r.StringMap(v)
		}
	}
}

// checkSecret holds the annotation against Cluster API's form, NAMESPACE/NAME.
func checkSecret(r *strict.Reader, path, secret string) string {
	namespace, name, _ := strings.Cut(secret, "/")
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		r.Errorf(path, "write NAMESPACE/NAME", "annotation %s is %q, which names no Secret", caAnnotation, secret)
		return ""
	}
	return secret
}
