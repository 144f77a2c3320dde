//go:build e2e

package e2e

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/e2e/page"
	"kopshook.dev/kopshook/internal/boot"
)

const license = `
- name: license
  attempts: 2
  retryDelay: 1s
  script: |
    #!/bin/sh
    /trial/bin/event license
    echo "looking for a license"
    [ -e /etc/license ] || { echo "there is no license in /etc/license" >&2; exit 7; }
- name: driver
  weight: 10
  script: |
    #!/bin/sh
    /trial/bin/event driver
`

// untilJoined waits in a scenario until the kubelet is up.
const untilJoined = `
for i in $(seq 600); do systemctl is-active --quiet kubelet && break; sleep 0.1; done
systemctl is-active kubelet > /dev/null && /trial/bin/event joined
`

// troubleshooting is docs/troubleshooting.md: for each way in which a node can be left out the commands that let it in.
type troubleshooting struct {
	t    *testing.T
	rows map[string]string // commands by what keeps the node out
	used map[string]bool
}

func newTroubleshooting(t *testing.T) *troubleshooting {
	t.Helper()
	text, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	p := &troubleshooting{t, map[string]string{}, map[string]bool{}}
	commands := page.Commands(t, "../docs/troubleshooting.md")
	_, table, _ := strings.Cut(string(text), "\n## What keeps a node out\n")
	table, _, _ = strings.Cut(table, "\n## ")
	link := regexp.MustCompile(`\[([^\]]+)\]\(#([a-z-]+)\)`)
	for _, line := range strings.Split(table, "\n")[3:] {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			continue
		}
		row, way := strings.TrimPrefix(cells[0], "| "), link.FindStringSubmatch(cells[2])
		if way == nil || commands[way[1]] == "" || strings.ReplaceAll(strings.ToLower(way[1]), " ", "-") != way[2] {
			t.Fatalf("%s: %q is no way out with commands", row, cells[2])
		}
		p.rows[row] = commands[way[1]]
	}
	return p
}

// wayOut returns the commands of a row, once.
func (p *troubleshooting) wayOut(row string) string {
	p.t.Helper()
	if p.rows[row] == "" || p.used[row] {
		p.t.Fatalf("docs/troubleshooting.md has no row %q, or it was run before", row)
	}
	p.used[row] = true
	return "/trial/bin/event way-out\n" + p.rows[row] + untilJoined
}

// docs/troubleshooting.md: what it says to look at is there, and each way out that it names lets the node join.
func TestTroubleshooting(t *testing.T) {
	commands := page.Commands(t, "../docs/troubleshooting.md")
	look := ""
	for _, heading := range []string{"2. The hooks", "3. Why it failed", "4. What waits", "5. cloud-init", "6. nodeup"} {
		if commands[heading] == "" {
			t.Fatalf("docs/troubleshooting.md has no commands under %q", heading)
		}
		look += "echo '== " + heading + "'\n" + commands[heading]
	}
	again := commands["Run one hook again"]
	const id = "i-0123456789abcdef0"
	onSuites(t, func(t *testing.T, suite string) {
		page := newTroubleshooting(t)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		// joins expects that the kubelet starts when the way out is taken, and not before.
		joins := func(r *result) *result {
			t.Helper()
			return r.happens("settled", "way-out", "kubelet-start").happens("way-out", "joined")
		}

		data := userData(t, parts(t, spec("license", license))...)
		n := newNode(t, suite, data)
		r := joins(n.boot(boot.Options{Scenario: look + "touch /etc/license\n" + page.wayOut("a hook failed") + again + "systemctl disable kops-configuration"}))
		r.happens("license", "license", "settled", "way-out", "license", "driver", "nodeup-start", "kubelet-start", "license")
		for _, text := range []string{
			"kopshook-license.service", "there is no license in /etc/license", `"state":"failed"`, "Assertion failed",
			"AssertPathExists=/run/kopshook/ok/license",
		} {
			r.contains("output of the commands", r.Scenario, text)
		}
		r.contains("console", r.Console, "there is no license in /etc/license")
		r.contains("console", r.Console, `kopshook: {"hook":"license","phase":"pre-nodeup","state":"failed","reason":"script: exit status 7","attempts":2,"exitCode":7,`)

		joins(n.boot(boot.Options{Scenario: page.wayOut("kops-configuration is disabled") + "touch /etc/cloud/cloud-init.disabled"}))

		r = joins(n.boot(boot.Options{Scenario: "systemctl --failed; rm /etc/cloud/cloud-init.disabled\n" + page.wayOut("cloud-init is disabled") +
			"systemctl revert kubelet kops-configuration"}))
		r.contains("failed units", r.Scenario, "kopshook-license.service").
			contains("console", r.Console, `"state":"failed","reason":"no gate on this boot"`)
		n.hasStatus("license", "succeeded", "")

		joins(n.boot(boot.Options{Scenario: page.wayOut("the drop-ins were reverted")}))

		// as on EC2, where cloud-init asks for the user data on every boot: one hook goes, and one comes
		stays, _, _ := strings.Cut(license, "- name: driver\n")
		changed := userData(t, parts(t, spec("license", stays+"- {name: more, weight: 20, script: \"#!/bin/sh\\n/trial/bin/event more\"}\n"))...)
		must(n.RemoveAll("/var/lib/cloud/instances/" + id + "/obj.pkl"))
		must(n.Seed(changed, id))
		joins(n.boot(boot.Options{Scenario: page.wayOut("the user data of the instance was changed")})).happens("settled", "way-out", "more", "kubelet-start").never("driver")
		n.hasStatus("driver", "skipped", "not in user data")

		must(n.RemoveSeed())
		r = joins(n.boot(boot.Options{Scenario: "systemctl --failed\n" + page.wayOut("cloud-init found no data source")}))
		r.contains("failed units", r.Scenario, "kopshook-license.service").
			contains("console", r.Console, `"state":"failed","reason":"no gate on this boot"`)
		n.hasStatus("license", "failed", "no gate on this boot")
		must(n.Seed(changed, id))
		r = n.boot(boot.Options{Scenario: "cloud-init init\n" + killsKubelet +
			page.wayOut("the gate ran twice on one boot")})
		r.happens("kubelet-start", "settled", "kubelet-start", "way-out", "joined").never("license", "driver", "more").fails()
		n.hasStatus("license", "succeeded", "")

		theirs := cloudConfig("theirs.yaml", "write_files:\n- {path: /etc/issue/x, content: hi}\n")
		n = newNodeOf(t, boot.Config{Suite: suite, DiskSize: 96 << 20, UserData: userData(t, join([]kops.UserData{theirs}, parts(t, spec("license", license)))...)})
		joins(n.boot(boot.Options{Scenario: "touch /etc/license; rm /etc/issue\n" + page.wayOut("a part of the user data was lost") +
			"dd if=/dev/zero of=/full bs=1M; dd if=/dev/zero of=/full2 bs=1", End: boot.Cut}))
		r = joins(n.boot(boot.Options{Scenario: "rm /full /full2\n" + page.wayOut("the disk is full")}))
		r.contains("console", r.Console, `"state":"failed","reason":"no gate on this boot"`)

		once := boothook("theirs.sh", "[ ! -e /run/once ] || exit 0\ntouch /run/once\nmkdir -p /etc/systemd/system\n: > /etc/systemd/system/kubelet.service.d\n")
		hangs := strings.Replace(license, "#!/bin/sh\n", "#!/bin/sh\n    \"$KOPSHOOK_FIRST_BOOT\" || sleep 600\n", 1)
		hangs = strings.Replace(hangs, "attempts: 2\n", "attempts: 2\n  run: every-boot\n", 1)
		n = newNode(t, suite, userData(t, join([]kops.UserData{once}, parts(t, spec("license", hangs)))...))
		r = joins(n.boot(boot.Options{Scenario: "rm /etc/systemd/system/kubelet.service.d; touch /etc/license\n" + page.wayOut("the gate could not write")}))
		r.contains("console", r.Console, `kopshook: {"part":"gate","state":"failed","reason":"cloud-init-output.log"}`)
		r = n.boot(boot.Options{Limit: 30 * time.Second, Scenario: page.wayOut("a hook hangs")})
		r.happens("way-out", "kubelet-start").happens("way-out", "joined").never("license")
		n.hasStatus("license", "skipped", "")

		if diff := cmp.Diff(slices.Sorted(maps.Keys(page.rows)), slices.Sorted(maps.Keys(page.used))); diff != "" {
			t.Errorf("rows of docs/troubleshooting.md that no boot has run (-page +run)\n%s", diff)
		}
	})
}
