// Package templates holds what lands on the node, by runtime version. The bytes of a released runtime are frozen: user
// data made of them decides whether kops replaces machines.
package templates

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed v1
var files embed.FS

// runtimes from the oldest to the newest.
var runtimes = []string{"v1"}

// Default is the runtime of specs that name none.
const Default = "v1"

// Runtime is one version of what lands on the node. @NAME@ in a text stands for what generator puts there. Comments of
// the files are for who changes them: of those that fill lines only the second line, which says what a file is, is kept.
type Runtime struct {
	Gate        string // boothook; @cluster@, @group@, @role@ and @hooks@
	Run         string // boothook that installs itself as /opt/kopshook/bin/run
	Reboot      string // boothook that installs itself as /opt/kopshook/bin/reboot, for hooks with rebootExitCodes
	Fetch       string // boothook that installs itself as /opt/kopshook/bin/fetch, for files with a URL
	Archive     string // boothook; @hash@ and @archive@
	Bake        string // script for an image that is being made; @cluster@, @group@, @role@ and @hooks@
	Kubelet     string // boothook that installs itself as /opt/kopshook/bin/up, for phase post-kubelet
	Facts       string // boothook that installs itself as /opt/kopshook/bin/facts, for hooks that ask for its variables
	Hook        string // unit of a hook; @order@, @timeout@ and @run@
	PreShutdown string // unit of a hook of phase pre-shutdown; the same
	Cloud       string // boothook that installs itself as /opt/kopshook/bin/cloud, for secrets and files of buckets; @reader@
	FromBucket  string // boothook in place of Archive where that lies in a bucket; @reader@, @url@ and @sum@

	name string
}

// Runtimes returns the names of all runtimes, the newest last.
func Runtimes() []string { return append([]string(nil), runtimes...) }

// Newest returns the name of the newest runtime.
func Newest() string { return runtimes[len(runtimes)-1] }

// Get returns a runtime by name; the empty name is Default.
func Get(name string) (*Runtime, error) {
	if name == "" {
		name = Default
	}
	if r, ok := read()[name]; ok {
		return &r, nil
	}
	return nil, fmt.Errorf("there is no runtime %q: choose one of %s", name, strings.Join(runtimes, ", "))
}

// read holds all runtimes, read once: merging asks for one for each group.
var read = sync.OnceValue(func() map[string]Runtime {
	all := map[string]Runtime{}
	for _, r := range runtimes {
		all[r] = Runtime{
			Gate:        text(r, "gate.sh"),
			Run:         text(r, "run.sh"),
			Reboot:      text(r, "reboot.sh"),
			Fetch:       text(r, "fetch.sh"),
			Archive:     text(r, "archive.sh"),
			Bake:        text(r, "bake.sh"),
			Kubelet:     text(r, "kubelet.sh"),
			Facts:       text(r, "facts.sh"),
			Hook:        text(r, "hook.service"),
			PreShutdown: text(r, "pre-shutdown.service"),
			Cloud:       text(r, "cloud.sh"),
			FromBucket:  text(r, "bucket.sh"),
			name:        r,
		}
	}
	return all
})

func text(runtime, name string) string {
	b, err := files.ReadFile(runtime + "/" + name)
	if err != nil {
		panic(err) // embedded: cannot fail in a binary whose tests passed
	}
	var kept strings.Builder
	n := 0
	for line := range strings.Lines(string(b)) {
		if n++; n <= 2 || !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
