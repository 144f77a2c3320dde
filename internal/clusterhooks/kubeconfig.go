package clusterhooks

import (
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/file"
)

// maxConfig bounds what is read of a configuration file.
const maxConfig = 16 << 20

// kubeconfig is the part of a kubeconfig that kops looks at.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster string `yaml:"cluster"`
		} `yaml:"context"`
	} `yaml:"contexts"`
	Clusters []struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server string `yaml:"server"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
}

// readKubeconfig merges the files of KUBECONFIG, or reads ~/.kube/config: of several, the first that says something
// wins. Files that are missing or broken say nothing.
func readKubeconfig(getenv func(string) string) kubeconfig {
	files := filepath.SplitList(getenv("KUBECONFIG"))
	if len(files) == 0 {
		files = []string{filepath.Join(getenv("HOME"), ".kube", "config")}
	}
	var all kubeconfig
	for _, name := range files {
		data, err := file.Read(name, maxConfig)
		var one kubeconfig
		if err != nil || yaml.Unmarshal(data, &one) != nil {
			continue
		}
		if all.CurrentContext == "" {
			all.CurrentContext = one.CurrentContext
		}
		all.Contexts = append(all.Contexts, one.Contexts...)
		all.Clusters = append(all.Clusters, one.Clusters...)
	}
	return all
}

// currentCluster is the cluster of the current context, which kops takes when no other is named (cmd/kops/root.go:294).
func (k *kubeconfig) currentCluster() string {
	for _, c := range k.Contexts {
		if c.Name == k.CurrentContext {
			return c.Context.Cluster
		}
	}
	return ""
}

// server is the API endpoint of a cluster, "" when it is not there.
func (k *kubeconfig) server(cluster string) string {
	for _, c := range k.Clusters {
		if c.Name == cluster {
			return c.Cluster.Server
		}
	}
	return ""
}

// StateStore is where kops keeps the clusters that the command is about.
func (c *Command) StateStore(getenv func(string) string) string {
	return findStore(c.Option("state"), c.Option("config"), getenv)
}

// StateStore is where kops keeps its clusters: option, which is what --state says, KOPS_STATE_STORE, or kops'
// configuration file (cmd/kops/root.go:195); "" when none says it.
func StateStore(option string, getenv func(string) string) string {
	return findStore(option, "", getenv)
}

func findStore(store, config string, getenv func(string) string) string {
	if store == "" {
		store = getenv("KOPS_STATE_STORE")
	}
	if store == "" {
		store = configuredStore(config, getenv)
	}
	return strings.TrimSuffix(store, "/")
}

func configuredStore(config string, getenv func(string) string) string {
	files := []string{filepath.Join(getenv("HOME"), ".kops.yaml"), filepath.Join(getenv("HOME"), ".kops", "config")}
	if config != "" {
		files = []string{config}
	}
	for _, name := range files {
		data, err := file.Read(name, maxConfig)
		if err != nil {
			continue
		}
		var config map[string]any
		if yaml.Unmarshal(data, &config) != nil {
			return ""
		}
		for key, value := range config {
			if store, ok := value.(string); ok && strings.EqualFold(key, "kops_state_store") {
				return store
			}
		}
		return ""
	}
	return ""
}
