package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// codes lints parts and returns "CODE line:col" for each finding of at least the severity warning.
func codes(t *testing.T, parts string, options ...func(*Group, *Options)) []string {
	t.Helper()
	data := []byte(manifestOf(strings.TrimPrefix(parts, "\n")))
	f, err := instancegroups.Parse("ig.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	g := &Group{Group: f.Groups()[0], File: "ig.yaml", Source: sourcemap.New(data)}
	var opts Options
	for _, p := range g.UserData() {
		g.Parts = append(g.Parts, cloudinit.Part(p))
	}
	for _, o := range options {
		o(g, &opts)
	}
	var got []string
	for _, f := range Check(g, opts) {
		got = append(got, fmt.Sprintf("%s %d:%d", f.Code, f.Line-12, f.Col-2))
	}
	return got
}

func TestPositionsAreThoseOfTheFile(t *testing.T) {
	for _, c := range []struct {
		name, parts string
		want        []string
	}{
		{"script", `
- name: 00-a.sh
  type: text/x-shellscript
  content: |
    #!/bin/sh
    echo "$(apt-get update)"
`, []string{"KH061 5:13"}},
		{"quoted on one line", `
- name: 00-a.sh
  type: text/x-shellscript
  content: "#!/bin/sh\n\tapt-get update\n"
`, []string{"KH061 3:26"}},
		{"inside of a block of a block", `
- name: a.yaml
  type: text/cloud-config
  content: |
    #cloud-config
    bootcmd:
    - |
      true
      systemctl start x
`, []string{"KH034 8:7"}},
		{"in an archive", `
- name: a.yaml
  type: text/cloud-config-archive
  content: |
    - type: text/x-shellscript
      filename: 00-x.sh
      content: |
        echo
`, []string{"KH015 7:9"}},
		{"behind a letter that takes two bytes", `
- name: 00-a.sh
  type: text/x-shellscript
  content: |
    #!/bin/sh
    echo ü "$(apt-get update)"
`, []string{"KH007 5:10", "KH061 5:15"}},
		{"a folded block is named as a whole", `
- name: 00-a.sh
  type: text/x-shellscript
  content: >
    #!/bin/sh

    apt-get update
`, []string{"KH061 3:3"}},
		{"behind parts of kopshook's", `
- name: kopshook-000-gate.sh
  type: text/cloud-boothook
  content: |
    #!/bin/sh
- name: 00-a.sh
  type: text/x-shellscript
  content: |
    #!/bin/sh
    apt-get update
- name: zz-b.sh
  type: text/x-shellscript
  content: |
    #!/bin/sh
`, []string{"KH061 9:5", "KH014 10:3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, codes(t, c.parts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPositionsWhenPartsWereMerged has kopshook's parts behind the user's in the user data, and before them in the file.
func TestPositionsWhenPartsWereMerged(t *testing.T) {
	got := codes(t, `
- name: kopshook-000-gate.sh
  type: text/cloud-boothook
  content: |
    #!/bin/sh
- name: zz-b.sh
  type: text/x-shellscript
  content: |
    #!/bin/sh
    apt-get update
`, func(g *Group, _ *Options) { g.Parts = append(g.Parts[1:], g.Parts[0]) })
	if diff := cmp.Diff([]string{"KH014 5:3", "KH061 9:5"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCommentsSwitchRulesOff(t *testing.T) {
	for _, c := range []struct {
		name, parts string
		want        []string
	}{
		{"on the line", "- name: 00-a.sh\n  type: text/x-shellscript\n  content: |\n    #!/bin/sh\n    apt-get update # kopshook: ignore=KH061\n", nil},
		{"on the line before", "- name: 00-a.sh\n  type: text/x-shellscript\n  content: |\n    #!/bin/sh\n    # kopshook: ignore=KH014,KH061\n    apt-get update\n", nil},
		{"in the manifest", "# kopshook: ignore=KH014\n- name: a.sh\n  type: text/x-shellscript\n  content: x\n", []string{"KH015 4:12"}},
		{"anywhere in a part, of what is about the part", "- name: a.sh\n  type: text/x-shellscript\n  content: |\n    #!/bin/sh\n    true\n    # kopshook: ignore=KH014\n", nil},
		{"another code", "- name: 00-a.sh\n  type: text/x-shellscript\n  content: |\n    #!/bin/sh\n    apt-get update # kopshook: ignore=KH062\n", []string{"KH061 5:5"}},
		{"too far away", "- name: 00-a.sh\n  type: text/x-shellscript\n  content: |\n    #!/bin/sh\n    # kopshook: ignore=KH061\n    true\n    apt-get update\n", []string{"KH061 7:5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, codes(t, c.parts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsFine holds rules back where they would cry wolf.
func TestWhatIsFine(t *testing.T) {
	script := func(lines ...string) string {
		return "- name: 00-a.sh\n  type: text/x-shellscript\n  content: |\n    #!/bin/bash\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	config := func(lines ...string) string {
		return "- name: a.yaml\n  type: text/cloud-config\n  content: |\n    #cloud-config\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	for _, c := range []struct{ name, parts string }{
		{"apt with the timeout in a variable", script(`APT="-o DPkg::Lock::Timeout=60"`, "export DEBIAN_FRONTEND=noninteractive", "apt-get $APT -qqy install x")},
		{"apt that is told in words", script("export DEBIAN_FRONTEND=noninteractive", "apt-get -o DPkg::Lock::Timeout=60 -o APT::Get::Assume-Yes=true install x", "apt-get -t stable -q=2 -oDPkg::Lock::Timeout=60 install x")},
		{"a function called apt", script(`apt() { command true; }`, "apt install x")},
		{"systemctl that does not wait", config("bootcmd:", "- systemctl --no-block start x", "- systemctl daemon-reload", "- systemctl enable x", "- systemctl is-active x || true")},
		{"systemctl start in a script", script("systemctl start x")},
		{"exit in a subshell", config("bootcmd:", "- (exit 1)", "- sh -c 'exit 1'", "- 'f() { exit 1; }'")},
		{"appending what is not there yet", config("bootcmd:", "- grep -q x /etc/hosts || echo x >> /etc/hosts", "- if ! grep -q y /etc/hosts; then echo y >> /etc/hosts; fi")},
		{"appending to a log", config("bootcmd:", "- date >> /var/log/boots.log", "- date >> /run/x")},
		{"a download that is checked", script("curl -fsSLo /run/x https://x.example.com/x", "sha256sum -c /etc/x.sum")},
		{"a question whether somebody answers", script("curl -sS -o /dev/null https://x.example.com/v2/", "wget -q -O /dev/null https://x.example.com/")},
		{"the metadata service", script("curl -s -o /run/id http://169.254.169.254/latest/meta-data/instance-id")},
		{"a file that bootcmd writes itself", config("bootcmd:", "- echo x > /etc/agent.conf", "write_files:", "- path: /etc/agent.conf", "  content: x")},
		{"no secrets", script("TOKEN=$(cat /run/token)", `password="${PASSWORD:?}"`, "curl -H \"Authorization: Bearer $TOKEN\" https://x.example.com/api", "PASSWORD_FILE=/etc/pw", "secret_name=changeme-please", `curl -u "$USER:$PASSWORD" https://x.example.com/u:password1`, "curl -H 'Authorization: Bearer '\"$TOKEN\" 'https://x.example.com/?token=changeme'")},
		{"other substitutions", script("source <(kubectl completion bash)", `IP=$(curl -s https://x.example.com/ip)`, `bash /opt/x "$(curl -s https://x.example.com/ip)"`)},
		{"units that bootcmd does not need yet", config("bootcmd:", "- systemctl daemon-reload", "- systemctl mask x.service", "- systemctl enable y", "write_files:", "- {path: /etc/systemd/system/x.service, content: \"[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=basic.target\\n\"}")},
		{"exec for output alone", config("bootcmd:", "- (exec true)", "- service --status-all")},
		{"arrays in bash", script("a=(1 2)", `[[ -n ${a[0]} ]]`)},
		{"python", "- name: 00-a.py\n  type: text/x-shellscript\n  content: |\n    #!/usr/bin/python3\n    if True:\n        pass\n"},
		{"users with default", config("users: [default, {name: a}]")},
		{"a unit started by a timer", config("write_files:", "- {path: /etc/systemd/system/x.service, content: \"[Service]\\nExecStart=/bin/true\\n\"}", "- {path: /etc/systemd/system/x.timer, content: \"[Timer]\\nOnBootSec=1m\\n\"}") + script("systemctl enable --now x.timer")},
		{"a unit of the last stage", config("write_files:", "- {path: /etc/systemd/system/x.service, content: \"[Unit]\\nAfter=cloud-final.service\\n[Service]\\nExecStart=/bin/true\\n\"}") + script("systemctl start x.service")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := slices.DeleteFunc(codes(t, c.parts), func(s string) bool { return RuleOf(s[:5]).Severity.String() == "info" })
			if len(got) > 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWhatIsFound(t *testing.T) {
	for _, c := range []struct {
		name, content, typ string
		want               []string
	}{
		{"sudo and friends", "#!/bin/sh\nsudo -E timeout 5m env A=b apt-get install -y x\n", cloudinit.TypeShellScript, []string{"KH061 5:5", "KH062 5:5"}},
		{"wget in a process substitution", "#!/bin/bash\nwget -O- https://x.example.com | sudo bash -s -- x\n", cloudinit.TypeShellScript, []string{"KH064 5:5"}},
		{"what shells run", "#!/bin/bash\nsh -c \"$(curl -fsSL https://x.example.com)\"\nsource <(curl https://x.example.com)\neval \"$(wget -qO- https://x.example.com)\"\n", cloudinit.TypeShellScript, []string{"KH064 5:14", "KH064 6:14", "KH064 7:13"}},
		{"commands of sh -c", "bootcmd:\n- [sh, -ec, 'echo x >> /etc/x']\n- bash -c 'systemctl start x'\n", cloudinit.TypeCloudConfig, []string{"KH033 5:7", "KH034 6:7"}},
		{"exec and service", "bootcmd:\n- exec true\n- service x start\n", cloudinit.TypeCloudConfig, []string{"KH035 5:7", "KH034 6:7"}},
		{"a unit in bootcmd", "bootcmd:\n- systemctl enable x\nwrite_files:\n- {path: /etc/systemd/system/x.service, content: \"[Service]\\nExecStart=/bin/true\\n\"}\n", cloudinit.TypeCloudConfig, []string{"KH032 5:7"}},
		{"list form of commands", "bootcmd:\n- [systemctl, start, x]\n", cloudinit.TypeCloudConfig, []string{"KH034 5:7"}},
		{"boothook", "#cloud-boothook\n#!/bin/sh\nsystemctl restart x\nexit 0\n", cloudinit.TypeBoothook, []string{"KH034 6:5"}},
		{"secrets of many kinds", "#!/bin/sh\nA=AKIAIOSFODNN7AAAAAAA\nurl=https://u:p4ssw0rd@x.example.com/\n-----BEGIN RSA PRIVATE KEY-----\ndb_password=correcthorse\n", cloudinit.TypeShellScript, []string{"KH070 5:7", "KH070 6:9", "KH070 7:5", "KH070 8:5"}},
		{"a password of curl, a header, an address", "#!/bin/sh\ncurl -u deploy:hunter2 https://x.example.com\ncurl -H 'Authorization: Basic ZGVwbG95Omh1bnRlcjI=' https://x.example.com\ncurl 'https://x.example.com/?token=abcdefgh'\n", cloudinit.TypeShellScript, []string{"KH070 5:5", "KH070 6:14", "KH070 7:33"}},
		{"a secret in base64", "write_files:\n- path: /etc/x\n  encoding: b64\n  content: " + "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==" + "\n", cloudinit.TypeCloudConfig, []string{"KH070 5:7"}},
		{"drop-in of the kubelet in a here-document", "#!/bin/sh\ncat > /etc/systemd/system/kubelet.service.d/x.conf <<EOF\n[Unit]\nAfter=multi-user.target\n[Service]\nExecStartPre=/bin/true\nEOF\n", cloudinit.TypeShellScript, []string{"KH050 7:5", "KH052 9:5"}},
		{"systemctl enable --now in bootcmd", "bootcmd:\n- systemctl enable --now x\n- systemctl enable --now --no-block y\n", cloudinit.TypeCloudConfig, []string{"KH034 5:7"}},
		{"gates that are let go too soon", "#!/bin/sh\ncat > /etc/systemd/system/a.service <<EOF\n[Unit]\nBefore=kubelet.service\n[Service]\nType=oneshot\nRestart=on-failure\nExecStart=/bin/true\nEOF\nsystemctl start --no-block a\n", cloudinit.TypeShellScript, []string{"KH053 10:5"}},
		{"a gate by a drop-in of the kubelet", "#!/bin/sh\ncat > /etc/systemd/system/a.service <<EOF\n[Unit]\nConditionFirstBoot=yes\n[Service]\nType=oneshot\nRestart=no\nExecStart=/bin/true\nEOF\ncat > /etc/systemd/system/kubelet.service.d/a.conf <<EOF\n[Unit]\nRequires=a.service\nEOF\n", cloudinit.TypeShellScript, []string{"KH053 7:5"}},
		{"tee with a here-document", "#!/bin/sh\nsudo tee /etc/systemd/system/x.service > /dev/null <<EOF\n[Service]\nExecStart=/bin/true\nEOF\n", cloudinit.TypeShellScript, []string{"KH051 6:5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := "- name: 00-a.sh\n  type: " + c.typ + "\n  content: |\n    " + strings.ReplaceAll(strings.TrimSuffix(c.content, "\n"), "\n", "\n    ") + "\n"
			if diff := cmp.Diff(c.want, codes(t, parts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
