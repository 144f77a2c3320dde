//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/e2e/pairs"
	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/boot"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/nodestatus"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/source"
)

// pairsNode serves what hooks download, and has units that wait for hooks: enabled, as an image has them. Of a part
// with bootcmd only the scripts of phase boot come before it.
var pairsNode = boothook("pairs.sh", fmt.Sprintf(`mkdir -p /srv/web
echo %s | base64 -d > /srv/web/blob
cat > /etc/systemd/system/pairs-web.service << .
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/usr/bin/python3 -m http.server %d --bind 127.0.0.1 --directory /srv/web
.
cat > '/etc/systemd/system/pairs-before@.service' << .
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/trial/bin/event "before %%i"
.
mkdir -p /etc/systemd/system/multi-user.target.wants
for i in $(seq -w 0 99); do ln -sf '/etc/systemd/system/pairs-before@.service' "/etc/systemd/system/multi-user.target.wants/pairs-before@h$i.service"; done
systemctl daemon-reload
systemctl start --no-block pairs-web
until curl -so /dev/null http://127.0.0.1:%d/blob; do sleep 0.1; done
`, base64.StdEncoding.EncodeToString([]byte(pairs.Blob)), pairs.Port, pairs.Port))

// pairHook is a hook of one phase.
type pairHook struct {
	pairs.Row
	index       int
	name, phase string // name is that of the unit
}

func (h pairHook) everyBoot() bool {
	return h.Value("run") == "every-boot" || h.phase == "boot" || h.phase == "pre-shutdown"
}

func (h pairHook) perImage() bool { return h.Value("run") == "once-per-image" }

// eventsOf are those of a boot: what is done once per image is verified on later boots.
func (h pairHook) eventsOf(first bool) []string {
	switch {
	case first || h.everyBoot():
		return h.events()
	case h.perImage() && h.Value("verify") != "":
		return []string{h.name + " verified"}
	}
	return nil
}

// events of one run of the hook.
func (h pairHook) events() (all []string) {
	env := ""
	if h.Value("env") != "" {
		env = " " + pairs.Env
	}
	switch h.Value("work") {
	case "script", "source file":
		all = append(all, h.name+env)
	case "source folder":
		all = append(all, h.name+" 1"+env, h.name+" 2")
	}
	if h.Value("verify") != "" {
		all = append(all, h.name+" verified")
	}
	return all
}

// Issue case 1: every two values of fields that a spec may give one hook work together: hooks run in order, are told
// and bring what they should, and their status says so, on the first boot and on the next.
func TestFieldsGoTogether(t *testing.T) {
	var plain, packed []pairs.Row
	for _, r := range pairs.Cover() {
		if r.Value("archive") == "" {
			plain = append(plain, r)
		} else {
			packed = append(packed, r)
		}
	}
	onSuites(t, func(t *testing.T, suite string) {
		testPairs(t, suite, false, plain)
		testPairs(t, suite, true, packed)
	})
}

func testPairs(t *testing.T, suite string, archive bool, rows []pairs.Row) {
	list := pairParts(t, archive, rows)
	n := newNode(t, suite, userData(t, join([]kops.UserData{pairsNode}, mutate(t, list))...))
	var hooks []pairHook
	for i, r := range rows {
		for _, phase := range r.Phases() {
			h := pairHook{r, i, pairs.Name(i), phase}
			if len(r.Phases()) > 1 {
				h.name += "-" + phase
			}
			hooks = append(hooks, h)
		}
	}
	for number := 1; number <= 2; number++ {
		r := n.boot(boot.Options{End: boot.PowerOff}).joins().fails()
		r.ranInOrder(hooks, number == 1)
		for _, h := range hooks {
			n.arrived(h, number == 1)
		}
	}
}

// pairParts writes the spec and its sources, and returns the parts.
func pairParts(t *testing.T, archive bool, rows []pairs.Row) []kops.UserData {
	t.Helper()
	dir := t.TempDir()
	for name, content := range pairs.Sources(rows, 0) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var r report.Report
	docs := hookspec.Decode(filepath.Join(dir, "hooks.yaml"), []byte(pairs.Spec("pairs", archive, rows, 0)), &r)
	file, err := instancegroups.Parse("ig.yaml", []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	var groups []*plan.Group
	if !r.HasErrors() {
		groups = plan.Make(context.Background(), docs, []*plan.Manifest{{Name: "ig.yaml", File: file}}, &source.Loader{}, &r)
	}
	if r.HasErrors() {
		for _, f := range r.Findings {
			t.Error(f.Message)
		}
		t.FailNow()
	}
	return groups[0].PlannedUserData()
}

// ranInOrder expects the hooks' events: by phase, weight and name, and each phase at its moment.
func (r *result) ranInOrder(hooks []pairHook, first bool) {
	r.t.Helper()
	moments := map[string][2]string{ // what comes before, and after
		"pre-nodeup": {"", "nodeup-start"}, "pre-kubelet": {"", "kubelet-start"}, "post-nodeup": {"nodeup-end", ""},
		"post-kubelet": {"kubelet-start", ""}, "pre-shutdown": {"settled", "kubelet-stop"}, "boot": {"", "nodeup-start"},
	}
	for _, phase := range slices.Sorted(maps.Keys(moments)) {
		var these []pairHook
		for _, h := range hooks {
			if h.phase == phase {
				these = append(these, h)
			}
		}
		slices.SortStableFunc(these, func(a, b pairHook) int {
			if d := pairs.Weight(a.index) - pairs.Weight(b.index); d != 0 {
				return d
			}
			return strings.Compare(a.name, b.name)
		})
		var want, all []string
		for _, h := range these {
			all = append(all, h.events()...)
			want = append(want, h.eventsOf(first)...)
		}
		if diff := cmp.Diff(want, r.Timeline.Only(all...)); diff != "" {
			r.t.Errorf("boot %d: events of phase %s (-want +got)\n%s", r.Number, phase, diff)
			continue
		}
		if len(want) > 0 && moments[phase][0] != "" {
			r.ordered(moments[phase][0], want[0])
		}
		if len(want) > 0 && moments[phase][1] != "" {
			r.ordered(want[len(want)-1], moments[phase][1])
		}
	}
	for _, h := range hooks {
		if h.Value("before") == "" {
			continue
		}
		unit := "before " + pairs.Name(h.index)
		if got := r.Timeline.Only(unit); len(got) != 1 {
			r.t.Errorf("boot %d: what waits for hook %s started %d times", r.Number, h.name, len(got))
		}
		for _, e := range h.eventsOf(first) {
			r.ordered(e, unit)
		}
	}
}

// arrived expects the hook's status, and what it was to bring.
func (n *node) arrived(h pairHook, first bool) {
	n.t.Helper()
	attempts, reason := 1, ""
	if h.perImage() && !first {
		attempts, reason = 0, "was done"
	}
	if h.phase == "boot" {
		return // neither status nor files
	}
	data, err := n.ReadFile(nodestatus.Dir + "/" + h.name + ".json")
	if err != nil {
		n.t.Errorf("hook %s has no status: %v", h.name, err)
	} else if s, err := nodestatus.Parse(data); err != nil {
		n.t.Errorf("hook %s: %v", h.name, err)
	} else if s.State != nodestatus.Succeeded || s.Attempts != attempts || s.ExitCode != 0 || s.Reason != reason || s.Phase != h.phase || s.Hook != h.name {
		n.t.Errorf("the status of hook %s is %s", h.name, data)
	}
	name := pairs.Name(h.index)
	if strings.Contains(h.Value("files"), "inline") {
		n.hasFile("/srv/pairs/"+name, []byte(pairs.Inline(name)), 0o640, 1, 33)
	}
	if strings.Contains(h.Value("files"), "url") {
		n.hasFile("/srv/pairs/"+name+".url", []byte(pairs.Blob), 0o755, 0, 0)
	}
	if h.Value("dropIns") != "" {
		n.hasFile("/etc/systemd/system/pairs-"+name+".service.d/90-kopshook-"+h.name+".conf", []byte(pairs.DropIn(name)), 0o644, 0, 0)
	}
	if h.Value("cloudConfig") != "" {
		if groups, err := n.ReadFile("/etc/group"); err != nil || !strings.Contains(string(groups), "\npairs-"+name+":") {
			n.t.Errorf("the cloudConfig of hook %s did nothing: %v", h.name, err)
		}
	}
	dir := "/opt/kopshook/hooks/" + h.name
	if h.Value("cleanup") == "on-success" && !h.everyBoot() {
		if _, err := n.Stat(dir); !os.IsNotExist(err) {
			n.t.Errorf("hook %s left its folder: %v", h.name, err)
		}
		return
	}
	switch h.Value("work") {
	case "script", "source file":
		n.hasFile(dir+"/script", []byte(pairs.Script), 0o700, 0, 0)
	case "source folder":
		n.hasFile(dir+"/10 first", []byte(pairs.First), 0o700, 0, 0)
		n.hasFile(dir+"/20-second", []byte(pairs.Second), 0o700, 0, 0)
	}
	if h.Value("verify") != "" {
		n.hasFile(dir+"/verify", []byte(pairs.Verify), fs.FileMode(0o700), 0, 0)
	}
}
