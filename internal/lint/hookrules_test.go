package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hookOf is a spec with one hook; lines are those of its script, more are further fields.
func hookOf(phase string, script []string, more ...string) string {
	text := "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: a}\nspec:\n  runtime: v1\n  selector: {names: [nodes]}\n  hooks:\n  - name: a\n    phase: " + phase + "\n"
	for _, m := range more {
		text += "    " + m + "\n"
	}
	return text + "    script: |\n      " + strings.Join(append([]string{"#!/bin/sh"}, script...), "\n      ") + "\n"
}

// found returns the codes of findings, without those of the codes in but.
func found(findings []Finding, but ...string) (codes []string) {
	for _, f := range findings {
		if !strings.Contains(strings.Join(but, " "), f.Code) {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func TestHooksThatWaitForThemselves(t *testing.T) {
	before := "before: [docker.service]"
	for _, c := range []struct {
		name, phase, command string
		want                 []string
		more                 []string
	}{
		{"kubelet", "pre-nodeup", "systemctl restart kubelet", []string{"KH039"}, nil},
		{"kubelet beside nodeup", "pre-kubelet", "systemctl try-restart kubelet.service", []string{"KH039"}, nil},
		{"nodeup", "pre-nodeup", "service kops-configuration restart", []string{"KH039"}, nil},
		{"containerd", "pre-nodeup", "systemctl start containerd", []string{"KH039"}, nil},
		{"a unit of before", "pre-kubelet", "systemctl reload-or-restart docker", []string{"KH039"}, []string{before}},
		{"in verify", "pre-nodeup", "true", []string{"KH039"}, []string{"verify: systemctl restart kubelet"}},
		{"another unit", "pre-nodeup", "systemctl restart docker", nil, nil},
		{"it does not wait", "pre-nodeup", "systemctl restart --no-block kubelet", nil, nil},
		{"only when it runs", "pre-nodeup", "systemctl is-active -q kubelet && systemctl restart kubelet", nil, nil},
		{"afterwards", "post-kubelet", "systemctl restart kubelet", nil, nil},
		{"enabled, not started", "pre-nodeup", "systemctl enable docker", nil, []string{before}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, hookOf(c.phase, []string{c.command}, c.more...)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAnImageDoesNotKeep(t *testing.T) {
	for _, c := range []struct {
		name, run, command string
		want               []string
		more               []string
	}{
		{"a module", "once-per-image", "modprobe nfs", []string{"KH069"}, nil},
		{"a service", "once-per-image", "systemctl enable --now docker", []string{"KH069"}, nil},
		{"a mount", "once-per-image", "sudo mount /dev/sdb /mnt", []string{"KH069"}, nil},
		{"the kernel's settings", "once-per-image", "sysctl --system", []string{"KH069"}, nil},
		{"a disk", "once-per-image", "mkfs.ext4 /dev/sdb", []string{"KH069"}, nil},
		{"the machine's name", "once-per-image", `register "$KOPSHOOK_NODE_NAME"`, []string{"KH069"}, nil},
		{"its metadata", "once-per-image", "curl -fs http://169.254.169.254/latest/meta-data/instance-id", []string{"KH069"}, nil},
		{"verify does it again", "once-per-image", "modprobe nfs", nil, []string{"verify: modprobe nfs"}},
		{"verify does something else", "once-per-image", "modprobe nfs", []string{"KH069"}, []string{"verify: modprobe nfsd"}},
		{"a module is removed", "once-per-image", "modprobe -r nouveau", nil, nil},
		{"a unit for later", "once-per-image", "systemctl enable docker", nil, nil},
		{"once per instance", "once-per-instance", "modprobe nfs", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, hookOf("pre-nodeup", []string{c.command}, append(c.more, "run: "+c.run)...)), "KH067")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailuresThatNobodySees(t *testing.T) {
	const copies = "cp agent /usr/local/bin/agent"
	for _, c := range []struct {
		name   string
		script []string
		want   []string
		more   []string
	}{
		{"in the middle", []string{copies, "echo done"}, []string{"KH068"}, nil},
		{"in an if", []string{"if [ -e agent ]; then", copies, "echo x", "fi", "echo done"}, []string{"KH068"}, nil},
		{"said once", []string{copies, copies, "echo done"}, []string{"KH068"}, nil},
		{"the last command", []string{"echo begin", copies}, nil, nil},
		{"set -e", []string{"set -eu", copies, "echo done"}, nil, nil},
		{"errexit by name", []string{"set -o errexit", copies, "echo done"}, nil, nil},
		{"with a remedy of its own", []string{copies + " || exit 1", "echo done"}, nil, nil},
		{"it looks at the status", []string{copies, "[ $? = 0 ] || exit", "echo done"}, nil, nil},
		{"a condition", []string{"if ! " + copies + "; then exit 1; fi", "echo done"}, nil, nil},
		{"verify says it", []string{copies, "echo done"}, nil, []string{"verify: test -x /usr/local/bin/agent"}},
		{"what may fail", []string{"rm -f /tmp/x", "mkdir -p /x", "echo done"}, nil, nil},
		{"in the background", []string{"cp -r /a /b &", "wait"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, hookOf("pre-nodeup", c.script, c.more...)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDownloadsOfHooksAreWarnings(t *testing.T) {
	for script, want := range map[string]string{
		"curl -fsSLo /usr/local/bin/x https://x.example.com/x": "KH065 warning",
		"curl -fsS https://x.example.com/ready":                "",
	} {
		got := ""
		for _, f := range lintExample(t, hookOf("pre-nodeup", []string{script})) {
			got = f.Code + " " + f.Severity.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

// groupWith is an instance group with further lines of its spec, and a script part.
func groupWith(image, more string, script ...string) string {
	text := strings.Replace(exampleGroup, "image: debian/debian-13-amd64-20260101", "image: "+image, 1)
	text, _, _ = strings.Cut(text, "  additionalUserData:")
	text += more
	if len(script) > 0 {
		text += "  additionalUserData:\n  - name: 00-a.sh\n    type: text/x-shellscript\n    content: |\n      #!/bin/sh\n      " + strings.Join(script, "\n      ") + "\n"
	}
	return text
}

const (
	ubuntu = "099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20250610"
	amazon = "137112412989/al2023-ami-2023.7.20250609.0-kernel-6.1-x86_64"
)

func TestCommandsThatAnImageLacks(t *testing.T) {
	for _, c := range []struct {
		name, image string
		script      []string
		want        []string
	}{
		{"aws on Ubuntu", ubuntu, []string{"aws s3 ls"}, []string{"KH067"}},
		{"aws on Amazon Linux", amazon, []string{"aws s3 ls"}, nil},
		{"docker", amazon, []string{"docker ps", "docker images"}, []string{"KH067"}},
		{"jq in a substitution", ubuntu, []string{`echo "$(jq -r .a /etc/a.json)"`}, []string{"KH067"}},
		{"an image of somebody's own", "ami-0123456789abcdef0", []string{"aws s3 ls", "nvidia-smi"}, nil},
		{"installed before", ubuntu, []string{"DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=60 install -y jq awscli nvidia-utils-580", "jq . /a", "aws s3 ls", "nvidia-smi -L"}, nil},
		{"installed by hand", ubuntu, []string{"curl -fsSLo /usr/local/bin/jq https://x.example.com/jq", "jq . /a"}, nil},
		{"asked for", ubuntu, []string{"if command -v docker > /dev/null; then docker ps; fi"}, nil},
		{"only a word", ubuntu, []string{"echo aws jq docker"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, groupWith(c.image, "", c.script...)), "KH080 KH065")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTwoDrivers(t *testing.T) {
	gpu := func(enabled, more string) string {
		return "  containerd: {nvidiaGPU: {enabled: " + enabled + more + "}}\n"
	}
	install := "DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=60 install -y "
	for _, c := range []struct {
		name, image, spec, script string
		want                      []string
	}{
		{"the driver's package", ubuntu, gpu("true", ""), install + "nvidia-headless-580-server", []string{"KH084"}},
		{"NVIDIA's installer", ubuntu, gpu("true", ""), "sh /opt/NVIDIA-Linux-x86_64-580.95.run --silent", []string{"KH084"}},
		{"a function of its own", ubuntu, gpu("true", ""), "apt() { apt-get \"$@\"; }; apt install cuda-drivers", []string{"KH084"}},
		{"the same package", ubuntu, gpu("true", ", package: nvidia-headless-580-server"), install + `"nvidia-headless-$V-server"`, nil},
		{"the toolkit alone", ubuntu, gpu("true", ""), install + "nvidia-container-toolkit", nil},
		{"switched off", ubuntu, gpu("false", ""), install + "nvidia-headless-580-server", nil},
		{"where kops installs none", amazon, gpu("true", ""), install + "nvidia-headless-580-server", nil},
		{"kops has nothing to do with it", ubuntu, "", install + "nvidia-headless-580-server", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, groupWith(c.image, c.spec, c.script)), "KH080 KH061 KH062 KH067")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTwoDriversOfClusterAndHook: the Cluster enables kops' driver, a hook brings another.
func TestTwoDriversOfClusterAndHook(t *testing.T) {
	cluster := "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: main.example.com}\nspec:\n  containerd: {nvidiaGPU: {enabled: true}}\n---\n"
	group := strings.Replace(groupWith(ubuntu, ""), "metadata:\n", "metadata:\n  labels: {kops.k8s.io/cluster: main.example.com}\n", 1)
	hook := "---\n" + hookOf("pre-nodeup", []string{"DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=60 install -y nvidia-open"})
	if diff := cmp.Diff([]string{"KH084"}, found(lintExample(t, cluster+group+hook), "KH092")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := found(lintExample(t, group+hook), "KH092"); got != nil {
		t.Errorf("without the cluster: %v", got)
	}
}

func TestWarmPools(t *testing.T) {
	pool := func(fields string) string { return "  warmPool: {" + fields + "}\n" }
	wait := func(phase string, attempts int, timeout string) string {
		return "---\n" + hookOf(phase, []string{"exec /opt/x"}, fmt.Sprintf("attempts: %d", attempts), "timeout: "+timeout, "retryDelay: 10s")
	}
	for _, c := range []struct {
		name, pool, hooks string
		want              []string
	}{
		{"as long as it takes", pool("enableLifecycleHook: true"), wait("pre-nodeup", 1, "10m"), nil},
		{"a second too long", pool("enableLifecycleHook: true"), wait("pre-nodeup", 1, "601s"), []string{"KH085"}},
		{"too long with its delay", pool("enableLifecycleHook: true"), wait("pre-nodeup", 2, "296s"), []string{"KH085"}},
		{"a longer time", pool("enableLifecycleHook: true, lifecycleHookTimeout: 3600"), wait("pre-nodeup", 2, "29m"), nil},
		{"a shorter time", pool("enableLifecycleHook: true, lifecycleHookTimeout: 60"), wait("pre-nodeup", 1, "61s"), []string{"KH085"}},
		{"pre-kubelet", pool("enableLifecycleHook: true"), wait("pre-kubelet", 1, "1h"), []string{"KH087"}},
		{"nothing waits", pool("enableLifecycleHook: true"), "---\n" + hookOf("post-nodeup", []string{"exec /opt/x"}, "timeout: 1h"), nil},
		{"no lifecycle hook", pool("minSize: 1"), wait("pre-nodeup", 1, "1m"), []string{"KH086"}},
		{"no pool", "", wait("pre-nodeup", 3, "1h"), nil},
		{"a pool that is off", pool("maxSize: 0"), wait("pre-nodeup", 3, "1h"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, groupWith(ubuntu, c.pool)+c.hooks), "KH092")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]string{"KH086"}, found(lintExample(t, groupWith(ubuntu, pool("minSize: 1"), "true")))); diff != "" {
		t.Errorf("a script of the user's (-want +got):\n%s", diff)
	}
}

// TestWarmPoolOfTheCluster: what the group does not say it has of the cluster, but a group's time goes over the cluster's.
func TestWarmPoolOfTheCluster(t *testing.T) {
	cluster := "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: main.example.com}\nspec:\n  cloudProvider: aws\n  warmPool: {enableLifecycleHook: true, lifecycleHookTimeout: 1200}\n---\n"
	hook := "---\n" + hookOf("pre-nodeup", []string{"exec /opt/x"}, "attempts: 1", "timeout: 15m")
	for spec, want := range map[string][]string{
		"": nil,
		"  warmPool: {lifecycleHookTimeout: 60}\n": {"KH085"},
		"  warmPool: {maxSize: 0}\n":               nil,
	} {
		group := strings.Replace(groupWith(ubuntu, spec), "metadata:\n", "metadata:\n  labels: {kops.k8s.io/cluster: main.example.com}\n", 1)
		if diff := cmp.Diff(want, found(lintExample(t, cluster+group+hook))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", spec, diff)
		}
	}
}

func TestCommandsThatACommentCuts(t *testing.T) {
	config := func(lines ...string) string {
		return "- name: a.yaml\n  type: text/cloud-config\n  content: |\n    #cloud-config\n    runcmd:\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	for _, c := range []struct {
		name, line string
		want       []string
	}{
		{"a redirection", "- echo a=1 # the limit >> /etc/agent.conf", []string{"KH038"}},
		{"a pipe", "- echo a # b | tee /etc/x", []string{"KH038"}},
		{"a list", "- echo a # b && echo c", []string{"KH038"}},
		{"a quote that stays open", `- echo "a # b"`, []string{"KH038"}},
		{"a comment", "- systemctl daemon-reload # units changed", nil},
		{"a comment with an arrow", "- sync # a -> b, see https://x.example.com/?a&b", nil},
		{"in quotes", "- 'echo a # the limit >> /etc/agent.conf'", nil},
		{"no comment without a space", "- echo a#b >> /etc/agent.conf", nil},
		{"a comment of its own", "# echo a >> /etc/agent.conf\n    - sync", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, config(c.line)), "KH036")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
