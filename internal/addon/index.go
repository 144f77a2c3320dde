package addon

import (
	"bytes"
	"encoding/json"
	"fmt"

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
		Addons []indexAddon `json:"addons"`
	}
	indexAddon struct {
		Name              string            `json:"name"`
		Version           string            `json:"version"`
		ID                string            `json:"id"`
		Manifest          string            `json:"manifest"`
		ManifestHash      string            `json:"manifestHash"`
		KubernetesVersion string            `json:"kubernetesVersion"`
		Selector          map[string]string `json:"selector"`
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
func (a *Addon) Files() ([]File, error) {
	manifest, err := a.Manifest()
	if err != nil {
		return nil, err
	}
	hash := sum(manifest)
	id := hash[:12]
	entry := indexAddon{
		Name: a.Name, Version: "1.0.0", ID: id,
		Manifest: fmt.Sprintf("%s-%s.yaml", a.Name, id), ManifestHash: hash, KubernetesVersion: kubernetesVersion,
		Selector: map[string]string{labelAddon: a.Name},
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
	data, err := yaml.Marshal(index{Kind: "Addons", Metadata: indexMeta{a.Name}, Spec: indexSpec{[]indexAddon{entry}}})
	if err != nil {
		return nil, err
	}
	files := []File{{entry.Manifest, manifest}}
	if a.status {
		files = append(files, a.monitoring()...)
	}
	return append(files, File{IndexName, data}), nil
}

// IndexOf returns the name of the addon that an index is of.
func IndexOf(data []byte) (string, error) {
	var i index
	if err := yaml.Unmarshal(data, &i); err != nil {
		return "", err
	}
	if i.Kind != "Addons" || i.Metadata.Name == "" {
		return "", fmt.Errorf("its kind is %q, not Addons", i.Kind)
	}
	return i.Metadata.Name, nil
}
