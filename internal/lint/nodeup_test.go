package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What nodeup and the kubelet make of user data, and where they make nothing of it.
func TestNodeupAndTheKubelet(t *testing.T) {
	script := func(lines ...string) string { return groupWith(ubuntu, "", lines...) }
	config := func(lines ...string) string {
		return groupWith(ubuntu, "") + "  additionalUserData:\n  - name: a.yaml\n    type: text/cloud-config\n    content: |\n      #cloud-config\n      " + strings.Join(lines, "\n      ") + "\n"
	}
	cluster := func(spec, group string) string {
		return "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: a.example.com}\nspec:\n  cloudProvider: aws\n" + spec + "---\n" +
			strings.Replace(group, "metadata:\n", "metadata:\n  labels: {kops.k8s.io/cluster: a.example.com}\n", 1)
	}
	later := func(group string) string { return strings.Replace(group, "00-a.sh", "zz-a.sh", 1) }
	bastion := func(group string) string { return strings.Replace(group, "role: Node", "role: Bastion", 1) }
	swapAllowed := groupWith(ubuntu, "  kubelet: {failSwapOn: false}\n", "swapon /swap.img")
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"reboot", script("reboot"), []string{"KH017"}},
		{"shutdown", script("shutdown -r now"), []string{"KH017"}},
		{"systemctl, if something is so", script("if test -e /x; then systemctl --no-wall reboot; fi"), []string{"KH017"}},
		{"reboot behind nodeup", later(script("reboot")), []string{"KH014"}},
		{"a reboot in ten minutes, and none", script("shutdown -r +10", "shutdown -c"), nil},
		{"a bastion has no nodeup", bastion(script("reboot")), nil},
		{"systemctl that asks", script("systemctl is-system-running"), nil},
		{"bootcmd", config("bootcmd:", "- reboot"), []string{"KH017"}},
		{"bootcmd that asks first", config("bootcmd:", "- test -e /done || { touch /done; reboot; }"), nil},
		{"bootcmd once", config("bootcmd:", "- cloud-init-per once kernel reboot"), nil},

		{"a hook", hookOf("pre-nodeup", []string{"reboot"}), []string{"KH017"}},
		{"a hook that asks first", hookOf("pre-nodeup", []string{"test -e /x || reboot"}), nil},
		{"a hook that ends the machine", hookOf("pre-shutdown", []string{"poweroff"}), nil},

		{"swap", script("swapon /swap.img"), []string{"KH090"}},
		{"swap on the next boot", script("echo '/swap.img none swap sw 0 0' >> /etc/fstab"), []string{"KH090"}},
		{"mounts", config("mounts:", "- [/dev/vdb, none, swap, sw]"), []string{"KH090"}},
		{"swap that the group allows", swapAllowed, nil},
		{"swap that the cluster allows", cluster("  kubelet: {failSwapOn: false}\n", script("swapon /swap.img")), nil},
		{"the group does not", cluster("  kubelet: {failSwapOn: false}\n", groupWith(ubuntu, "  kubelet: {failSwapOn: true}\n", "swapon /swap.img")), []string{"KH090"}},
		{"no swap", script("swapoff -a", "swapon --show", "echo '# /swap none swap' >> /etc/fstab"), nil},
		{"swap of size 0", config("swap: {filename: /swap.img, size: 0}"), nil},

		{"sed", script("sed -i s/a/b/ /etc/containerd/config.toml"), []string{"KH089"}},
		{"sed that prints", script("sed s/a/b/ /etc/containerd/config.toml"), nil},
		{"output of a program", script("containerd config default | tee /etc/containerd/config.toml"), []string{"KH089"}},
		{"another file", script("cp a.conf /etc/containerd/conf.d/a.toml"), nil},
		{"a hook writes it", hookOf("pre-nodeup", []string{"install -m 644 a /etc/sysconfig/kubelet"}), []string{"KH089"}},
		{"arguments that nobody reads", script("echo 'KUBELET_EXTRA_ARGS=--v=4' > /etc/default/kubelet"), []string{"KH089"}},
		{"chrony", cluster("", script("printf 'pool a\\n' > /etc/chrony/chrony.conf")), []string{"KH089"}},
		{"chrony of one's own", cluster("  ntp: {managed: false}\n", script("printf 'pool a\\n' > /etc/chrony/chrony.conf")), nil},
		{"ntp", cluster("", config("ntp: {servers: [10.0.0.1]}")), []string{"KH089"}},
		{"ntp that is off", cluster("", config("ntp: {enabled: false}")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, c.text))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whoever reads it, reads what the node runs.
func TestNoTextIsTurned(t *testing.T) {
	config := "- name: a.yaml\n  type: text/cloud-config\n  content: |\n    #cloud-config\n    bootcmd:\n    - \"echo \\u2067x\"\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a script":                      {hookOf("pre-nodeup", []string{"echo a # \u202e b"}), []string{"KH018"}},
		"each line":                     {hookOf("pre-nodeup", []string{"echo \u202a\u202b", "echo \u2069"}), []string{"KH018", "KH018"}},
		"verify":                        {hookOf("pre-nodeup", []string{"true"}, "verify: \"echo \u2066\""), []string{"KH018"}},
		"undo":                          {hookOf("daemon", []string{"true"}, "undo: \"echo \u2066\""), []string{"KH018"}},
		"a file":                        {hookOf("pre-nodeup", []string{"true"}, "files: [{path: /etc/a, content: \"\\u202d\"}]"), []string{"KH018"}},
		"a drop-in":                     {hookOf("pre-nodeup", []string{"true"}, "dropIns: [{unit: a.service, content: \"[Service]\\nNice=1\\n# \\u202c\\n\"}]"), []string{"KH018"}},
		"cloud-config":                  {hookOf("pre-nodeup", []string{"true"}, "cloudConfig: {timezone: \"\\u202e\"}"), []string{"KH018"}},
		"a part":                        {config, []string{"KH018"}},
		"a part, written as it is":      {strings.Replace(config, `\u2067`, "\u2067", 1), []string{"KH007", "KH018"}},
		"Hebrew, which needs no help":   {hookOf("pre-nodeup", []string{"echo \u05e9\u05dc\u05d5\u05dd"}), nil},
		"what else is not seen, or odd": {hookOf("pre-nodeup", []string{"echo '\u200b\u00a0'"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(lintExample(t, c.text))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
