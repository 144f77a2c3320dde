package addon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// IndexName is the file that spec.addons of a cluster names.
const IndexName = "addon.yaml"

// kubernetesVersion is that of the newest field used, a container's appArmorProfile.
const kubernetesVersion = ">=1.30.0"

// File is a file of the addon.
type File struct {
	Name    string
	Content []byte
}

// Manifest returns the addon's objects as YAML documents.
func (a *Addon) Manifest() ([]byte, error) {
	var b bytes.Buffer
	for _, o := range a.Objects {
		doc, err := document(o)
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(doc)
	}
	return b.Bytes(), nil
}

// document writes an object as people do: without a status, which only the cluster has.
func document(object any) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}

// The index, as k8s.io/kops/channels/pkg/api/channel.go defines it; written out here in the order of its parts.
type (
	index struct {
		Kind     string    `json:"kind"`
		Metadata indexMeta `json:"metadata"`
		Spec     indexSpec `json:"spec"`
	}
	indexMeta struct {
		Name string `json:"name"`
	}
	indexSpec struct {
		Addons []any `json:"addons"`
	}
	indexAddon struct {
		Name              string            `json:"name"`
		Version           string            `json:"version"`
		ID                string            `json:"id"`
		Manifest          string            `json:"manifest"`
		ManifestHash      string            `json:"manifestHash"`
		KubernetesVersion string            `json:"kubernetesVersion"`
		Selector          map[string]string `json:"selector"`
		RollNodes         string            `json:"needsRollingUpdate,omitempty"`
		Prune             indexPrune        `json:"prune"`
	}
	indexPrune struct {
		Kinds []indexKind `json:"kinds"`
	}
	indexKind struct {
		Group         string   `json:"group,omitempty"`
		Kind          string   `json:"kind"`
		Namespaces    []string `json:"namespaces,omitempty"`
		LabelSelector string   `json:"labelSelector"`
	}
)

// Files returns the files of the addon, the index last: it speaks of the others. The manifest's name has its hash, so
// that nobody reads a new index and an old manifest: kops would remember the new hash and never look again.
//
// before is the index that is there, nil when there is none: entries of others in it are kept as they are.
func (a *Addon) Files(before []byte) ([]File, error) {
	manifest, err := a.Manifest()
	if err != nil {
		return nil, err
	}
	hash := sum(manifest)
	id := hash[:12]
	entry := indexAddon{
		Name: a.Name, Version: "1.0.0", ID: id,
		Manifest: fmt.Sprintf("%s-%s.yaml", a.Name, id), ManifestHash: hash, KubernetesVersion: kubernetesVersion,
		Selector: map[string]string{labelAddon: a.Name}, RollNodes: a.options.RollNodes,
	}
	for _, k := range []indexKind{
		{Kind: "ConfigMap", Namespaces: []string{namespace}},
		{Kind: "ServiceAccount", Namespaces: []string{namespace}},
		{Group: "apps", Kind: "DaemonSet", Namespaces: []string{namespace}},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
	} {
		k.LabelSelector = labelAddon + "=" + a.Name
		entry.Prune.Kinds = append(entry.Prune.Kinds, k)
	}
	data, err := indexWith(a.Name, entry, before)
	if err != nil {
		return nil, err
	}
	files := []File{{entry.Manifest, manifest}}
	if a.options.Status {
		files = append(files, a.monitoring()...)
	}
	rules, err := a.Readiness()
	if err != nil {
		return nil, err
	}
	if rules.Content != nil {
		files = append(files, rules)
	}
	return append(files, File{IndexName, data}), nil
}

// indexWith returns an index with the entry, in the place of the addon's own in the index before.
func indexWith(name string, entry indexAddon, before []byte) ([]byte, error) {
	doc := map[string]any{"kind": "Addons", "metadata": map[string]any{"name": name}}
	if before != nil {
		doc = map[string]any{}
		if err := yaml.Unmarshal(before, &doc); err != nil {
			return nil, err
		}
	}
	spec, _ := doc["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
	}
	doc["spec"] = spec
	addons, _ := spec["addons"].([]any)
	at := slices.IndexFunc(addons, func(e any) bool { return entryName(e) == name })
	if at < 0 {
		at, addons = len(addons), append(addons, nil)
	}
	addons[at] = entry
	spec["addons"] = addons
	return yaml.Marshal(doc)
}

// entryName returns the name of an index's entry.
func entryName(entry any) string {
	fields, _ := entry.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// Index is what an index says of the addon that it is of.
type Index struct {
	Name     string
	Manifest string // the file with its objects, "" when the index names none
}

// ReadIndex reads an index.
func ReadIndex(data []byte) (Index, error) {
	var i index
	if err := yaml.Unmarshal(data, &i); err != nil {
		return Index{}, err
	}
	if i.Kind != "Addons" || i.Metadata.Name == "" {
		return Index{}, fmt.Errorf("its kind is %q, not Addons", i.Kind)
	}
	// a reader takes the first document alone, and writing would lose the others
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 0; ; {
		doc, err := docs.Read()
		if err != nil {
			break
		}
		var content any
		if err := yaml.Unmarshal(doc, &content); err != nil || content != nil {
			n++
		}
		if n > 1 {
			return Index{}, errors.New("it has more than one document")
		}
	}
	out := Index{Name: i.Metadata.Name}
	for _, e := range i.Spec.Addons {
		if entryName(e) == out.Name {
			out.Manifest, _ = e.(map[string]any)["manifest"].(string)
		}
	}
	return out, nil
}
