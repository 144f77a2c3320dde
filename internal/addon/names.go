package addon

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Labels that objects carry.
const (
	labelAddon    = "kopshook.dev/addon" // prune finds objects by it
	labelSpec     = "kopshook.dev/spec"
	labelName     = "app.kubernetes.io/name"
	labelInstance = "app.kubernetes.io/instance" // the DaemonSet, also on its pods
	labelManaged  = "app.kubernetes.io/managed-by"
)

// againAnnotation of a DaemonSet's pod template has hooks run again: words HOOK=VALUE, any value that was not there before.
const againAnnotation = "kopshook.dev/again"

// namespace is where everything of the addon lives.
const namespace = "kube-system"

// The limit of a DaemonSet's name: its pods' names add six characters, and are at most 63 as a host name.
const maxDaemonSetName = 57

// fit returns s, shortened to max characters where it is longer; a hash of all of s keeps shortened names apart.
func fit(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.TrimRight(s[:max-9], "-.") + "-" + sum([]byte(s))[:8]
}

// setName is the name of a DaemonSet, and of what goes with it, of an addon. Two addons of a cluster must not make one
// name: where the addon's has a dash, "a-b" with "c" would meet "a" with "b-c", so a hash tells where the words end.
func setName(addon string, words ...string) string {
	words = append([]string{addon}, words...)
	name := strings.Join(words, "-")
	if strings.Contains(addon, "-") {
		name += "-" + sum([]byte(strings.Join(words, ".")))[:8]
	}
	return fit(name, maxDaemonSetName)
}

// sum is SHA-256 in hex.
func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
