package generator

import (
	"cmp"
	"slices"
	"strings"

	"kopshook.dev/kopshook/templates"
)

// hook is a Hook with what it needs to know of the others.
type hook struct {
	Hook
	runtime     *templates.Runtime
	predecessor string // the hook before it in its phase, "" for the first
}

// model is what Generate and Files are two views of.
type model struct {
	ig      InstanceGroup
	runtime *templates.Runtime
	hooks   []*hook // in the order in which they run
	gate    []gateEntry
}

// Generate returns the parts of user data that give the hooks to the instance group, in the order in which they have to
// stand behind all parts of the user's own: the gate, the runtime, one part per hook in the order in which they run
// (phase, weight, name). The order of hooks means nothing. Without hooks there are no parts. The error joins all that is
// wrong with the hooks.
//
// A hook's part depends on that hook alone and on the name of its predecessor; instance groups differ in the gate. Hooks
// with Archive have no parts of their own, but one together with each other and the runtime.
func Generate(ig InstanceGroup, runtime string, hooks []Hook) ([]UserData, error) {
	return assemble(ig, runtime, hooks, (*hook).part)
}

// Memo is Generate for many instance groups that share hooks: it makes each part once. The parts are those of Generate.
// The zero value is ready for use, by one goroutine at a time.
type Memo struct {
	parts map[memoKey]UserData
}

// memoKey is what a hook's part depends on. Two hooks that are not told apart by id must be equal.
type memoKey struct {
	id, predecessor, runtime string
}

// Generate is like the function of that name. ids holds, for each hook, a name under which no other hook was or will be
// given to the Memo.
func (m *Memo) Generate(ig InstanceGroup, runtime string, hooks []Hook, ids []string) ([]UserData, error) {
	if m.parts == nil {
		m.parts = map[memoKey]UserData{}
	}
	byName := map[string]string{}
	for i, h := range hooks {
		byName[h.Name] = ids[i]
	}
	return assemble(ig, runtime, hooks, func(h *hook) UserData {
		key := memoKey{byName[h.Name], h.predecessor, runtime}
		part, ok := m.parts[key]
		if !ok {
			part = h.part()
			m.parts[key] = part
		}
		return part
	})
}

func assemble(ig InstanceGroup, runtime string, hooks []Hook, part func(*hook) UserData) ([]UserData, error) {
	m, err := newModel(ig, runtime, hooks)
	if err != nil {
		return nil, err
	}
	parts := m.runtimeParts()
	if url := archiveURL(m.hooks); url != "" {
		reader, _, err := m.fromBucket(url)
		if err != nil {
			return nil, err
		}
		parts = []UserData{parts[0], reader}
	} else if len(parts) > 0 {
		if archive, ok := m.archive(parts[1:]); ok {
			parts = []UserData{parts[0], archive}
		}
	}
	for _, h := range m.hooks {
		if !h.packed() {
			parts = append(parts, part(h))
		} else if rest, ok := h.rest(); ok {
			parts = append(parts, rest)
		}
	}
	return parts, nil
}

func newModel(ig InstanceGroup, runtime string, hooks []Hook) (*model, error) {
	rt, err := templates.Get(runtime)
	if err != nil {
		return nil, err
	}
	if err := validate(ig, hooks); err != nil {
		return nil, err
	}
	m := &model{ig: ig, runtime: rt}
	for _, h := range hooks {
		m.hooks = append(m.hooks, &hook{Hook: h, runtime: rt})
	}
	slices.SortFunc(m.hooks, func(a, b *hook) int {
		return cmp.Or(cmp.Compare(phaseIndex(a.Phase), phaseIndex(b.Phase)), cmp.Compare(a.Weight, b.Weight), strings.Compare(a.Name, b.Name))
	})
	for i, h := range m.hooks[min(1, len(m.hooks)):] {
		if before := m.hooks[i]; before.Phase == h.Phase {
			h.predecessor = before.Name
		}
	}
	m.gate = gateEntries(m.hooks)
	return m, nil
}

var phases = []Phase{Boot, PreNodeup, PreKubelet, PostNodeup, PostKubelet, PreShutdown}

func phaseIndex(p Phase) int { return slices.Index(phases, p) }

// runtimeParts returns the gate, the runner and the helpers that some hook needs. Hooks of phase boot need none of them.
func (m *model) runtimeParts() []UserData {
	if len(m.gate) == 0 {
		return nil
	}
	parts := []UserData{
		{"kopshook-000-gate.sh", boothook, gateScript(m.runtime, m.ig, m.gate)},
		{"kopshook-001-runtime.sh", boothook, m.runtime.Run},
	}
	if slices.ContainsFunc(m.hooks, func(h *hook) bool { return len(h.RebootExitCodes) > 0 }) {
		parts = append(parts, UserData{"kopshook-002-reboot.sh", boothook, m.runtime.Reboot})
	}
	if helper := m.cloudHelper(); helper != "" {
		parts = append(parts, UserData{cloudName, boothook, helper})
	}
	if slices.ContainsFunc(m.hooks, (*hook).fetches) {
		parts = append(parts, UserData{"kopshook-003-fetch.sh", boothook, m.runtime.Fetch})
	}
	if slices.ContainsFunc(m.hooks, (*hook).asks) {
		parts = append(parts, UserData{"kopshook-004-facts.sh", boothook, m.runtime.Facts})
	}
	if slices.ContainsFunc(m.hooks, func(h *hook) bool { return h.Phase == PostKubelet }) {
		parts = append(parts, UserData{"kopshook-004-kubelet.sh", boothook, m.runtime.Kubelet})
	}
	return parts
}

// environment returns KEY=VALUE, sorted.
func environment(env map[string]string) []string {
	var list []string
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
}

// Files returns what lands on the node because of the hooks, for people and tests to look at: the gate, the runner and
// its helpers, the drop-ins that the gate writes, then of each hook its unit, its scripts, and the user's files where
// the runner puts them. Two kinds of things are no files on the node: what is in a bootcmd is shown below /bootcmd, the
// user's cloud-config below /cloud-config.
func Files(ig InstanceGroup, runtime string, hooks []Hook) ([]File, error) {
	m, err := newModel(ig, runtime, hooks)
	if err != nil {
		return nil, err
	}
	var files []File
	add := func(path string, mode uint32, content []byte) {
		files = append(files, File{Path: path, Mode: mode, Owner: "root:root", Content: content})
	}
	for _, p := range m.runtimeParts() {
		// cloudinit/handlers/boot_hook.py writes and runs them there; all but the gate install themselves
		path := "/var/lib/cloud/instance/boothooks/" + p.Name
		if name, ok := installed[p.Name]; ok {
			path = "/opt/kopshook/bin/" + name
			add(path, 0o755, []byte(Plain(p)))
			continue
		}
		add(path, 0o700, []byte(p.Content))
	}
	if url := archiveURL(m.hooks); url != "" {
		reader, _, err := m.fromBucket(url)
		if err != nil {
			return nil, err
		}
		add("/var/lib/cloud/instance/boothooks/"+reader.Name, 0o700, []byte(Plain(reader)))
	}
	files = append(files, dropIns(m.gate)...)
	for _, h := range m.hooks {
		if h.Phase == Boot {
			for _, s := range h.Scripts {
				add("/bootcmd/"+dropInName(h), 0o700, s.Content)
			}
		} else {
			add("/etc/systemd/system/"+UnitName(h.Name), 0o644, []byte(h.unit(h.hash())))
			for _, s := range h.Scripts {
				add(hookDir(h.Name)+"/"+s.Name, 0o700, s.Content)
			}
			if h.Verify != nil {
				add(hookDir(h.Name)+"/verify", 0o700, h.Verify)
			}
			files = append(files, h.staged()...)
		}
		if theirs := newMapping(h.CloudConfig); len(theirs.content) > 0 {
			add("/cloud-config/"+dropInName(h)+".yaml", 0o600, []byte("#cloud-config\n"+theirs.rest()))
		}
	}
	return files, nil
}

// installed names the boothooks that install themselves in /opt/kopshook/bin.
var installed = map[string]string{
	"kopshook-001-runtime.sh": "run",
	"kopshook-002-reboot.sh":  "reboot",
	cloudName:                 "cloud",
	"kopshook-003-fetch.sh":   "fetch",
	"kopshook-004-facts.sh":   "facts",
	"kopshook-004-kubelet.sh": "up",
}
