package plan

import "kopshook.dev/kopshook/generator"

// Archive returns what the group's nodes read from a bucket, nil when that is nothing.
func (g *Group) Archive() (*generator.Object, error) {
	if len(g.Parts) == 0 {
		return nil, nil
	}
	return generator.Archive(generator.InstanceGroup{Cluster: g.Cluster, Name: g.Name, Role: g.Role}, g.Runtime, generatorHooks(g.Hooks))
}
