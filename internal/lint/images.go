package lint

import (
	"fmt"
	"slices"
	"strings"
)

// lacking are commands that images which kops supports do not have, by what the names of such images contain. Images
// of somebody's own may have anything. All of them lack docker, which kops does not install, and nvidia-smi, which comes
// with the driver.
var lacking = []struct {
	image    string // its name
	marks    []string
	commands []string
}{
	{"Ubuntu", []string{"099720109477/ubuntu", "ssm:/aws/service/canonical/", "ubuntu-os-cloud/"}, []string{"aws", "jq", "docker", "nvidia-smi", "yum", "dnf", "grubby", "amazon-linux-extras"}},
	{"Debian", []string{"136693071363/debian", "ssm:/aws/service/debian/", "debian-cloud/"}, []string{"docker", "nvidia-smi", "yum", "dnf", "grubby", "snap", "amazon-linux-extras"}},
	{"Amazon Linux", []string{"137112412989/al20", "ssm:/aws/service/ami-amazon-linux"}, []string{"docker", "nvidia-smi", "apt-get", "apt", "snap"}},
	{"Red Hat Enterprise Linux", []string{"309956199498/rhel", "rhel-cloud/"}, []string{"aws", "jq", "docker", "nvidia-smi", "apt-get", "apt", "snap"}},
	{"Rocky Linux", []string{"792107900819/rocky", "rocky-linux-cloud/"}, []string{"aws", "jq", "docker", "nvidia-smi", "apt-get", "apt", "snap"}},
}

// knownImage names the maker's image that an image is, "" when it is none that is known.
func knownImage(image string) string {
	for _, l := range lacking {
		if slices.ContainsFunc(l.marks, func(m string) bool { return strings.HasPrefix(strings.ToLower(image), m) }) {
			return l.image
		}
	}
	return ""
}

// imageWithout names the images among some that lack a command, "" when none is known to.
func imageWithout(images []string, command string) string {
	for _, image := range images {
		for _, l := range lacking {
			if slices.Contains(l.commands, command) && knownImage(image) == l.image {
				return l.image
			}
		}
	}
	return ""
}

// checkCommands looks for commands that the images of the nodes do not have, and that nothing before them installs or
// asks for. All are the pieces of shell that run before it, itself included; installed are packages of cloud-config.
func checkCommands(p adder, s *shellText, all []*shellText, images []string, installed ...string) {
	if len(images) == 0 {
		return
	}
	told := map[string]bool{}
	for i := range s.Commands {
		c := &s.Commands[i]
		name := c.Name()
		if told[name] || c.Guarded && asks(s, name) {
			continue
		}
		image := imageWithout(images, name)
		if image == "" {
			continue
		}
		told[name] = true
		if asks(s, name) || slices.ContainsFunc(installed, func(pkg string) bool { return provides(pkg, name) }) {
			continue
		}
		if slices.ContainsFunc(all, func(other *shellText) bool { return installs(other, name) }) {
			continue
		}
		p.add("KH067", s.place(c.Line, c.Col), fmt.Sprintf("%s has no %s, and nothing here installs it", image, name))
	}
}

// checkImage looks at the commands of the user's parts.
func (p *pass) checkImage() {
	var packages []string
	for _, r := range p.result.Runs {
		if r.What == "packages" {
			for _, item := range r.Items {
				packages = append(packages, item.Text)
			}
		}
	}
	for _, s := range p.shells {
		checkCommands(p, s, p.shells, []string{p.g.Object.Spec.Image}, packages...)
	}
}

// asks says whether a script looks whether a command is there.
func asks(s *shellText, name string) bool {
	return slices.ContainsFunc(s.Commands, func(c command) bool {
		return c.Is("command", "which", "type", "hash") && c.Has(name) || c.Is(name) && strings.Contains(s.Text, "-v "+name)
	})
}

// installs says whether a script installs what has a command: by a package manager, or by hand under its name.
func installs(s *shellText, name string) bool {
	return slices.ContainsFunc(slices.Concat(s.Commands, s.Calls), func(c command) bool {
		switch {
		case c.Is(name), c.Is("command", "which", "type", "hash"):
			return false
		case c.Is("apt-get", "apt", "dnf", "yum", "zypper", "snap", "pip", "pip3", "dpkg", "rpm", "install", "cp", "mv", "ln", "curl", "wget", "chmod", "tar", "unzip", "sh", "bash", "amazon-linux-extras"):
			return slices.ContainsFunc(c.Words[1:], func(w string) bool { return provides(w, name) })
		}
		return strings.HasPrefix(c.Name(), "./") && provides(c.Name(), name)
	})
}

// provides says whether a package, an address or a file is likely to bring a command.
func provides(what, name string) bool {
	what = strings.ToLower(what)
	switch name {
	case "nvidia-smi":
		return strings.Contains(what, "nvidia") || strings.Contains(what, "cuda")
	case "aws":
		return strings.Contains(what, "awscli") || strings.HasSuffix(what, "/aws") || strings.Contains(what, "aws/install")
	}
	return strings.Contains(what, name)
}
