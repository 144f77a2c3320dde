package plan

import (
	"slices"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
)

// Archive returns what the group's nodes read from a bucket, nil when that is nothing.
func (g *Group) Archive() (*generator.Object, error) {
	if len(g.Parts) == 0 || !slices.ContainsFunc(g.Hooks, func(h hookspec.Resolved) bool { return h.ArchiveURL != "" }) {
		return nil, nil
	}
	return generator.Archive(generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role}, g.Runtime, generatorHooks(g.Hooks))
}

// InBucket returns where the archive lies that the manifest names, and its SHA-256, "" where it names none.
func (g *Group) InBucket() (url, sum string) {
	for _, p := range g.Ours() {
		if url, sum, ok := generator.InBucket(p.Content); ok {
			return url, sum
		}
	}
	return "", ""
}

// Open says what lies in the bucket that the manifest names, so that HookChanges compares it.
func (g *Group) Open(files []generator.File) { g.pushed, g.changes = files, nil }

// planned returns what is to lie in the bucket that the group's parts name, nil where they name none.
func (g *Group) planned() []generator.File {
	for _, p := range g.Parts {
		url, sum, ok := generator.InBucket(p.Content)
		if !ok {
			continue
		}
		files, known := g.diffs.archives[url+sum]
		if !known {
			if o, err := g.Archive(); err == nil && o != nil {
				files, _ = o.Files() // what it holds was made here
			}
			if g.diffs.archives == nil {
				g.diffs.archives = map[string][]generator.File{}
			}
			g.diffs.archives[url+sum] = files
		}
		return files
	}
	return nil
}
