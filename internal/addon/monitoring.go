package addon

import (
	"bytes"
	_ "embed"
)

var (
	//go:embed prometheus.yaml
	prometheus []byte
	//go:embed dashboard.json
	dashboard []byte
)

// monitoring returns what Prometheus and Grafana take. It is no part of the manifest: its kinds are those of the
// Prometheus operator, and kops applies nothing of an addon with a kind that the cluster does not know.
func (a *Addon) monitoring() []File {
	named := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("@addon@"), []byte(a.Name)) }
	return []File{
		{a.Name + "-dashboard.json", named(dashboard)},
		{a.Name + "-prometheus.yaml", named(prometheus)},
	}
}
