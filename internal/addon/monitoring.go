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
	return []File{
		{a.Name + "-dashboard.json", dashboard},
		{a.Name + "-prometheus.yaml", bytes.ReplaceAll(prometheus, []byte("@addon@"), []byte(a.Name))},
	}
}
