package adopt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// Group is an instance group with parts of its user's. Parts of kopshook's are not among them.
type Group struct {
	Name    string
	Cluster string // may be empty
	Role    string
	Parts   []cloudinit.Part
	Options cloudinit.Options
	// Reserved are the names of the hooks that the group has already.
	Reserved []string
	// Remarks are said in comments of the hooks that are made of a part, by its number.
	Remarks map[int][]string
}

// Adopted is what becomes of a group's parts.
type Adopted struct {
	Group
	// Today is what the nodes see of the parts.
	Today *cloudinit.Result
	// Taken are the parts whose work is done by hooks, by their numbers; they are to be taken out of the manifest.
	Taken []int
	// Kept says why parts stay in the manifest, by their numbers.
	Kept map[int]string

	hooks    []*hook
	left     map[int]string // parts of which something is in no hook, and why nodes do not get it
	recipe   *nodeupRecipe  // of the parts recipeOf, or nil
	recipeOf []int
	whole    bool // cloud-config is taken over as a whole, or not at all
}

// Adopt makes hooks of a group's parts.
func Adopt(g Group) *Adopted {
	a := &Adopted{Group: g, Kept: map[int]string{}}
	a.Today = cloudinit.ReadParts(nil, g.Role, g.Parts, g.Options)
	a.keep()
	for {
		a.makeHooks()
		if a.unsaved() || a.settle() || a.spoiled() {
			continue
		}
		if a.whole || !a.divided() || len(a.prove().Broken) == 0 {
			break
		}
		a.whole = true
		a.keepConfig()
	}
	for i := range g.Parts {
		if a.takes(i) {
			a.Taken = append(a.Taken, i)
		}
	}
	return a
}

// takes says whether hooks are made of a part.
func (a *Adopted) takes(part int) bool {
	_, kept := a.Kept[part]
	return !kept && part >= 0 && part < len(a.Parts)
}

// keepPart keeps a part in the manifest; the first reason counts.
func (a *Adopted) keepPart(part int, format string, args ...any) {
	if a.takes(part) {
		a.Kept[part] = fmt.Sprintf(format, args...)
	}
}

func (a *Adopted) keepAll(format string, args ...any) {
	for i := range a.Parts {
		a.keepPart(i, format, args...)
	}
}

// isScript tells what cloud-init takes a part for.
func isScript(t string) bool {
	return strings.HasPrefix(t, cloudinit.TypeShellScript) || t == cloudinit.TypeBoothook
}

// keep finds the parts that no hook can stand for.
func (a *Adopted) keep() {
	if l := a.Today.Fatal(); l != nil {
		a.keepAll("no node of the group gets any of its user data today, nor nodeup.sh, since %s: fix that first", l.Why)
		return
	}
	for _, l := range a.Today.Lost {
		a.keepLost(l)
	}
	for _, f := range a.Today.Parts {
		switch {
		case f.Lost:
		case f.Type == cloudinit.TypePartHandler:
			a.keepAll("the part handler %s decides on the node what becomes of parts", f.Name)
		case !isScript(f.Type) && f.Type != cloudinit.TypeCloudConfig && f.Type != cloudinit.TypeArchive:
			a.keepPart(f.Part, "cloud-init takes it for %s, which no hook stands for", f.Type)
		}
	}
	for _, r := range a.Today.Runs {
		if r.What == "script" && r.Name == cloudinit.NodeupName && r.Part >= 0 {
			a.keepAll("%s replaces kops' own nodeup.sh, so that neither nodeup nor hooks would run", a.Parts[r.Part].Name)
		}
		if strings.HasPrefix(r.What, "script") && r.Name < cloudinit.NodeupName && strings.Contains(r.Content, "kops-configuration") {
			a.keepPart(r.Part, "it is about kops-configuration.service, whose start waits for hooks already when they run")
		}
		if unit := waitsFor(r.Content); strings.HasPrefix(r.What, "script") && r.Name < cloudinit.NodeupName && unit != "" {
			a.keepPart(r.Part, "it starts %s, which waits for hooks of phase pre-nodeup", unit)
		}
		if a.Role == "Bastion" && strings.HasPrefix(r.What, "script") {
			a.keepPart(r.Part, "a bastion has no kubelet: its hooks are of phase boot, which runs on every boot")
		}
	}
	a.keepRecipe()
	a.keepConfig()
}

// keepLost keeps parts for something in them that does not arrive as it was written.
func (a *Adopted) keepLost(l cloudinit.Loss) {
	switch l.Kind {
	case cloudinit.Unpredictable:
		a.keepPart(l.Part, "what becomes of it is decided on the node: %s", l.Why)
	case cloudinit.Cut:
		a.keepPart(l.Part, "line %d is the boundary that kops puts between parts, so that the part ends there", l.Line)
	case cloudinit.CannotRun:
		a.keepPart(l.Part, "it does not run today: %s", l.Why)
	case cloudinit.LostPart:
		if _, ok := a.lostScript(l.Part); !ok {
			a.keepPart(l.Part, "no node gets it today: %s", l.Why)
		}
	}
}

// keepConfig keeps parts of cloud-config that hooks cannot stand for; all parts of it, where what one of them does depends
// on the others. Of scripts with the same name it keeps all or none.
func (a *Adopted) keepConfig() {
	a.unfit()
	why := ""
	for _, f := range a.Today.Parts {
		if reason, kept := a.Kept[f.Part]; a.whole && kept && !a.noneOf(f) && !isScript(f.Type) && why == "" {
			why = fmt.Sprintf("cloud-config is merged with %s, which stays: %s", f.Name, reason)
		}
	}
	for _, f := range a.Today.Parts {
		if !isScript(f.Type) && why != "" {
			a.keepPart(f.Part, "%s", why)
		}
	}
	for _, l := range a.Today.Lost {
		if l.Kind != cloudinit.Overwritten || a.takes(l.Part) && a.takes(l.By.Part) {
			continue
		}
		if _, ok := a.lostScript(l.Part); ok && a.takes(l.By.Part) == a.takes(l.Part) {
			continue
		}
		a.keepPart(l.Part, "it does not run today, since %s, which stays", l.Why)
		a.keepPart(l.By.Part, "%s would run without it: today %s", l.Name, l.Why)
	}
}

// divided says whether some of the cloud-config is taken over and some stays.
func (a *Adopted) divided() bool {
	taken, kept := false, false
	for _, f := range a.Today.Parts {
		if !isScript(f.Type) && !a.noneOf(f) && f.Part >= 0 {
			taken, kept = taken || a.takes(f.Part), kept || !a.takes(f.Part)
		}
	}
	return taken && kept
}

// noneOf says whether nothing of a part reaches a node.
func (a *Adopted) noneOf(f cloudinit.Fate) bool {
	alone := !slices.ContainsFunc(a.Today.Parts, func(other cloudinit.Fate) bool { return other.Part == f.Part && other.Type != f.Type })
	return f.Lost || alone && slices.ContainsFunc(a.Today.Lost, func(l cloudinit.Loss) bool { return l.Kind == cloudinit.LostPart && l.Part == f.Part })
}

// unfit keeps parts of which something in the effective cloud-config cannot become a hook.
func (a *Adopted) unfit() {
	for _, l := range a.Today.Lost {
		if l.Kind == cloudinit.LostInit {
			for _, f := range a.Today.Parts {
				if !isScript(f.Type) {
					a.keepPart(f.Part, "%s do not take effect today, since %s: fix that first", l.What, l.Why)
				}
			}
		}
	}
	for _, r := range a.Today.Runs {
		switch {
		case r.Part < 0:
		case r.File != nil && r.File.URL != "":
			a.keepPart(r.Part, "%s is fetched from %s without a checksum: make it a hook's file with url and sha256", r.File.Path, r.File.URL)
		case r.File != nil && a.neededEarly(r.File.Path) != "":
			a.keepPart(r.Part, "%s is there before %s reads it today; files of hooks are placed later", r.File.Path, a.neededEarly(r.File.Path))
		case a.Role == "Bastion" && (r.File != nil || r.What == "runcmd"):
			a.keepPart(r.Part, "a bastion has no kubelet: its hooks are of phase boot, which places no files and runs on every boot")
		}
	}
	for _, e := range passedThrough(a.Today.Config).Entries {
		err := checkConfig(&pyyaml.Value{Kind: pyyaml.Dict, Entries: []pyyaml.Entry{e}})
		if err == nil && a.Role == "Bastion" {
			err = errors.New("a bastion has no kubelet: its hooks are of phase boot, which takes no cloud-config")
		}
		if err == nil {
			continue
		}
		part := a.configPart(e)
		a.keepPart(part, "%v", err)
		if part < 0 {
			a.whole = true
			a.keepPart(a.firstConfig(), "%v", err)
		}
	}
}

// early are files that something reads between cloud-init's init stage and nodeup, by the folder that they are in or
// below.
var early = []struct {
	reader  string
	keys    []string // that make cloud-init call it; none: it is there on every node
	folders []string
}{
	{"cloud-init", nil, []string{"/etc/cloud/"}},
	{"sshd", nil, []string{"/etc/ssh/"}},
	{"systemd", nil, []string{"/etc/systemd/system/kops-configuration.service", "/etc/systemd/system.conf"}},
	{"a package manager", []string{"packages", "package_update", "package_upgrade", "apt", "yum_repos", "snap"},
		[]string{"/etc/apt/", "/etc/yum", "/etc/dnf/", "/etc/pki/", "/usr/share/keyrings/", "/etc/dpkg/", "/usr/sbin/policy-rc.d", "/etc/ssl/", "/usr/local/share/ca-certificates/"}},
	{"ca_certs", []string{"ca_certs", "ca-certs"}, []string{"/usr/local/share/ca-certificates/", "/etc/pki/", "/etc/ssl/"}},
	{"ntp", []string{"ntp"}, []string{"/etc/chrony", "/etc/ntp"}},
}

// neededEarly says who reads a file before hooks place theirs, "" when nobody does.
func (a *Adopted) neededEarly(path string) string {
	for _, e := range early {
		used := len(e.keys) == 0
		for _, k := range e.keys {
			used = used || a.Today.Config.Get(k) != nil
		}
		for _, folder := range e.folders {
			if used && strings.HasPrefix(path, folder) {
				return e.reader
			}
		}
	}
	return ""
}
