// Package addon holds the scripts of the kops addon: they run in its pods and, by their hand, on the nodes.
package addon

import _ "embed"

var (
	// Run is what the pod of a DaemonSet runs: it brings hooks to the node and has systemd run them.
	//go:embed run.sh
	Run []byte
	// Hook is its counterpart on the node.
	//go:embed hook.sh
	Hook []byte
	// Check is the plugin of node-problem-detector: it reads a status file.
	//go:embed check.sh
	Check []byte
	// Verified is its plugin, too: it says whether the pod of a spec is ready.
	//go:embed verified.sh
	Verified []byte
)
