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
