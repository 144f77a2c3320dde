package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
	"kopshook.dev/kopshook/internal/waits"
)

// kopsDriver says whether kops installs an NVIDIA driver on the group's nodes, which, and where the manifest says so: the
// instance group's containerd settings go over the cluster's, field by field (kops pkg/apis/nodeup/config.go:435), and
// nodeup installs the driver on Ubuntu alone (nodeup/pkg/model/nvidia.go).
func (p *pass) kopsDriver() (pos report.Position, pkg string, does bool) {
	pos = report.Position{File: p.g.File, Line: p.g.Line}
	image := strings.ToLower(p.g.Object.Spec.Image)
	for _, other := range []string{"debian", "al2023", "amzn", "amazon-linux", "rhel", "rocky", "fedora"} {
		if strings.Contains(image, other) {
			return pos, "", false
		}
	}
	pkg = kops.NvidiaDefaultDriverPackage
	apply := func(c *kops.ContainerdConfig) bool {
		if c == nil || c.NvidiaGPU == nil {
			return false
		}
		if c.NvidiaGPU.DriverPackage != "" {
			pkg = c.NvidiaGPU.DriverPackage
		}
		if c.NvidiaGPU.Enabled != nil {
			does = *c.NvidiaGPU.Enabled
		}
		return true
	}
	if p.g.ClusterObject != nil {
		apply(p.g.ClusterObject.Object.Spec.Containerd)
	}
	if apply(p.g.Object.Spec.Containerd) {
		pos.Line, pos.Col = p.g.Position("spec", "containerd", "nvidiaGPU")
	}
	return pos, pkg, does
}

// checkDriver looks for a second NVIDIA driver: nodeup installs its own over it, and the kernel's part and the libraries
// may be of two versions then.
func (p *pass) checkDriver() {
	pos, pkg, does := p.kopsDriver()
	if !does {
		return
	}
	const message = "installs an NVIDIA driver, and nodeup installs another over it, since containerd.nvidiaGPU is enabled"
	for _, s := range p.shells {
		if c := driverInstall(s.Script, pkg); c != nil {
			p.add("KH084", s.place(c.Line, c.Col), firstOf(c)+" "+message)
		}
	}
	for _, h := range p.hookScripts() {
		if driverInstall(shell.Parse(h.text), pkg) != nil {
			p.add("KH084", pos, fmt.Sprintf("hook %q of %q %s", h.name, p.g.Name, message))
		}
	}
}

// driverInstall finds the command that installs a driver, not just its container toolkit, and another than kops' package.
func driverInstall(s *shell.Script, kopsPackage string) *command {
	commands := slices.Concat(s.Commands, s.Calls)
	for i := range commands {
		c := &commands[i]
		managers := c.Is("apt-get", "apt", "dnf", "yum", "zypper") && c.Has("install", "module")
		if strings.Contains(path.Base(c.Name()), "NVIDIA-Linux") || c.Is("sh", "bash", "/bin/sh", "/bin/bash") && slices.ContainsFunc(c.Words, func(w string) bool { return strings.Contains(w, "NVIDIA-Linux") }) || c.Is("ubuntu-drivers") && c.Has("install", "autoinstall") {
			return c
		}
		if managers && slices.ContainsFunc(c.Words, func(w string) bool { return isDriver(w) && !matches(w, kopsPackage) }) {
			return c
		}
	}
	return nil
}

// matches says whether a word with variables in it may be a name.
func matches(word, name string) bool {
	ok, _ := path.Match(anyVariable.ReplaceAllString(word, "*"), name)
	return ok
}

var anyVariable = regexp.MustCompile(`\$[A-Za-z0-9_]*(\(\))?`)

// isDriver tells the driver's packages: nvidia-driver-580-server, nvidia-headless-580, cuda-drivers, nvidia-open.
func isDriver(pkg string) bool {
	for _, prefix := range []string{"nvidia-driver", "nvidia-headless", "nvidia-open", "nvidia-dkms", "kmod-nvidia", "cuda-drivers", "linux-modules-nvidia", "nvidia-$"} {
		if strings.HasPrefix(pkg, prefix) {
			return true
		}
	}
	return false
}

// hookScript is a script of a hook that arrives on the nodes.
type hookScript struct{ name, text string }

// hookScripts are those that kopshook's parts bring, or fetch.
func (p *pass) hookScripts() []hookScript {
	const dir = "/opt/kopshook/hooks/"
	var scripts []hookScript
	add := func(file, text string) {
		rest, ok := strings.CutPrefix(file, dir)
		name, rest, _ := strings.Cut(rest, "/")
		if ok && !strings.HasPrefix(rest, "files/") && strings.HasPrefix(text, "#!") {
			scripts = append(scripts, hookScript{name, text})
		}
	}
	for _, r := range p.result.Runs {
		switch {
		case p.theirs(r.Part):
		case r.File != nil:
			add(r.File.Path, r.Content)
		case waits.IsArchive(r):
			files, _ := waits.Unpacked(r, p.g.Archive)
			for _, f := range files {
				add(f.Path, string(f.Content))
			}
		}
	}
	return scripts
}
