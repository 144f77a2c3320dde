package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/unitfile"
)

// unit is a systemd unit or a drop-in for one.
type unit struct {
	name   string // "x.service"
	dropIn bool
	file   *file
	lines  []setting
}

type setting = unitfile.Setting

// unitOf says which unit a file is, or is a drop-in for.
func unitOf(f *file) (u unit, ok bool) {
	name, dropIn, ok := unitfile.Of(f.path)
	return unit{name: name, dropIn: dropIn, file: f, lines: unitfile.Parse(f.text)}, ok
}

// values returns the words of a setting, from all lines that have it.
func (u *unit) values(key string) []string {
	var words []string
	for _, s := range u.lines {
		if s.Key == key {
			words = append(words, strings.Fields(s.Value)...)
		}
	}
	return words
}

func (u *unit) has(section, key string) bool {
	return slices.ContainsFunc(u.lines, func(s setting) bool { return s.Section == section && s.Key == key && s.Value != "" })
}

// Units that are reached only when cloud-init is through. It waits for multi-user.target, so whatever multi-user.target
// waits for must not wait for them.
var lateUnits = []string{"cloud-final.service", "cloud-init.target"}

// kubeUnits are what a gate holds up.
var kubeUnits = []string{"kubelet.service", "kops-configuration.service", "containerd.service"}

func (p *pass) checkUnits() { checkUnits(p, p.files, p.shells) }

// checkUnits looks at units and drop-ins among files.
func checkUnits(p adder, files []*file, shells []*shellText) {
	var units []unit
	for _, f := range files {
		if u, ok := unitOf(f); ok {
			units = append(units, u)
		}
	}
	for i := range units {
		u := &units[i]
		checkUnitOrder(p, u)
		checkUnitStart(p, u, files, shells)
		checkGate(p, u, units)
		checkPlace(p, u)
		checkStartPre(p, u)
	}
}

// checkStartPre looks at what kops' own units are to run before they start.
func checkStartPre(p adder, u *unit) {
	for _, s := range u.lines {
		if s.Key != "ExecStartPre" || s.Value == "" {
			continue
		}
		pos := u.file.place(s.Line, 1)
		switch u.name {
		case "kubelet.service":
			p.add("KH052", pos, "ExecStartPre of the kubelet: nodeup restarts a kubelet that is starting, and kills what ExecStartPre runs")
		case "kops-configuration.service":
			message := "ExecStartPre of kops-configuration.service: after a reboot the kubelet does not wait for it"
			if u.file.again {
				message += ", and it runs once more on each boot, since the line is appended again"
			}
			p.add("KH056", pos, message)
		}
	}
}

// checkPlace looks for units where packages put theirs.
func checkPlace(p adder, u *unit) {
	for _, dir := range []string{"/lib/systemd/system/", "/usr/lib/systemd/system/"} {
		if strings.HasPrefix(u.file.path, dir) {
			p.add("KH055", u.file.place(1, 1), fmt.Sprintf("%s is where packages put their units: an update may replace it, and some images cannot write there", u.file.path))
		}
	}
}

// checkUnitOrder finds orderings that make a cycle with cloud-init.
func checkUnitOrder(p adder, u *unit) {
	kube := func(w string) bool { return slices.Contains(kubeUnits, w) }
	gates := u.dropIn && kube(u.name) || slices.ContainsFunc(u.values("Before"), kube) || slices.ContainsFunc(u.values("RequiredBy"), kube)
	early := gates || slices.Contains(u.values("WantedBy"), "multi-user.target")
	for _, s := range u.lines {
		if s.Key != "After" {
			continue
		}
		for _, w := range strings.Fields(s.Value) {
			switch {
			case early && slices.Contains(lateUnits, w):
				p.add("KH050", u.file.place(s.Line, 1), fmt.Sprintf("%s: After=%s: cloud-init is through only after multi-user.target, which waits for this unit: a cycle, and systemd leaves out one of its jobs", u.name, w))
			case gates && w == "multi-user.target":
				p.add("KH050", u.file.place(s.Line, 1), fmt.Sprintf("%s: After=multi-user.target: that target waits for the kubelet, which waits for this unit: a cycle, and systemd leaves out one of its jobs", u.name))
			}
		}
	}
}

// checkUnitStart finds units that nothing starts.
func checkUnitStart(p adder, u *unit, files []*file, shells []*shellText) {
	if u.dropIn || strings.Contains(u.name, "@") || path.Ext(u.name) != ".service" && path.Ext(u.name) != ".timer" {
		return
	}
	bare := strings.TrimSuffix(u.name, path.Ext(u.name))
	for _, s := range shells {
		if s.starts(u.name) || s.starts(bare) {
			return
		}
	}
	for _, f := range files {
		if f != u.file && (strings.Contains(f.text, u.name) || path.Base(f.path) == u.name || strings.HasPrefix(path.Base(f.path), bare+".") && path.Ext(u.name) == ".service") {
			return
		}
	}
	why := "it has no [Install], and nothing starts it"
	if u.has("Install", "WantedBy") || u.has("Install", "RequiredBy") {
		why = "nothing enables it: WantedBy= does not count until systemctl enable has run"
	}
	p.add("KH051", u.file.place(1, 1), fmt.Sprintf("%s never starts: %s", u.name, why))
}

// checkGate finds gates that open when they should not, or stay shut when they should open.
func checkGate(p adder, u *unit, units []unit) {
	if u.dropIn || !slices.Contains(u.values("Type"), "oneshot") {
		return
	}
	gates := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(kubeUnits, w) })
	}
	is := gates(u.values("Before")) || gates(u.values("RequiredBy"))
	for _, other := range units {
		if other.dropIn && slices.Contains(kubeUnits, other.name) && slices.Contains(append(append(other.values("After"), other.values("Requires")...), other.values("BindsTo")...), u.name) {
			is = true
		}
	}
	if !is {
		return
	}
	for _, s := range u.lines {
		switch {
		case s.Key == "Restart" && s.Value != "no":
			p.add("KH053", u.file.place(s.Line, 1), fmt.Sprintf("%s holds the kubelet up, and has Restart=%s: before systemd 254 what waits for it fails at its first failure", u.name, s.Value))
		case strings.HasPrefix(s.Key, "Condition"):
			p.add("KH053", u.file.place(s.Line, 1), fmt.Sprintf("%s holds the kubelet up, and has %s=: a unit that is skipped for a condition counts as a success, and the kubelet starts", u.name, s.Key))
		}
	}
}
