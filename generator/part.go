package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	cloudConfig = "text/cloud-config"
	boothook    = "text/cloud-boothook"

	// mergeHow stands in each cloud-config part: without it cloud-init keeps only the last part's lists
	// (cloudinit/handlers/cloud_config.py, _merge_part).
	mergeHow = `merge_how: "list(append)+dict(no_replace,recurse_list)+str()"` + "\n"
)

// part returns the hook's part.
func (h *hook) part() UserData {
	return UserData{"kopshook-" + dropInName(h) + ".yaml", cloudConfig, h.content(h.hash())}
}

// hash stands for everything in the hook's part. It is in a line of the part that is no comment, because kops edit
// takes a change of # lines only for no change (cmd/kops/edit_cluster.go, stripComments).
func (h *hook) hash() string {
	sum := sha256.Sum256([]byte(h.content("")))
	return hex.EncodeToString(sum[:6])
}

// content returns the hook's cloud-config. Keys stand in the order in which cloud-init takes them.
func (h *hook) content(hash string) string {
	var b strings.Builder
	b.WriteString("#cloud-config\n" + mergeHow)
	theirs := newMapping(h.CloudConfig)
	bootcmd := theirs.take("bootcmd")
	if h.Phase == Boot {
		bootcmd = h.bootcmd(hash) + bootcmd
	}
	if bootcmd != "" {
		b.WriteString("bootcmd:\n" + bootcmd)
	}
	files := theirs.take("write_files")
	if h.Phase != Boot {
		files = h.writeFiles(hash) + files
	}
	if files != "" {
		b.WriteString("write_files:\n" + files)
	}
	b.WriteString(theirs.rest())
	return b.String()
}

func (h *hook) writeFiles(hash string) string {
	var b strings.Builder
	for i, f := range h.nodeFiles(hash) {
		b.WriteString(writeFile(f.path, f.mode, f.content, h.Compress && i > 0)) // the unit is for people to read
	}
	return b.String()
}

// nodeFile is a file of ours on the node; it is root's.
type nodeFile struct {
	path    string
	mode    uint32
	content []byte
}

// nodeFiles returns what a hook needs on the node: its unit, then its scripts and what the runner puts in place.
func (h *hook) nodeFiles(hash string) []nodeFile {
	dir := hookDir(h.Name)
	files := []nodeFile{{"/etc/systemd/system/" + UnitName(h.Name), 0o644, []byte(h.unit(hash))}}
	for _, s := range h.Scripts {
		files = append(files, nodeFile{dir + "/" + s.Name, 0o700, s.Content})
	}
	if h.Verify != nil {
		files = append(files, nodeFile{dir + "/verify", 0o700, h.Verify})
	}
	staged := h.staged()
	for i, f := range staged {
		if f.isEmbedded() && embedded(staged, i) == i {
			files = append(files, nodeFile{fmt.Sprintf("%s/files/%d", dir, i), 0o600, f.Content})
		}
	}
	return files
}

// bootcmd returns the entry of a hook of phase boot. As a list of arguments it is a process of its own: all string
// entries together are one shell script, in which an exit or a syntax error ends everybody's commands
// (cloudinit/util.py, shellify).
func (h *hook) bootcmd(hash string) string {
	var args []string
	for _, s := range h.Scripts {
		args = []string{"env", "KOPSHOOK_HOOK=" + h.Name, "KOPSHOOK_PHASE=" + string(h.Phase), "KOPSHOOK_HASH=" + hash}
		args = append(args, environment(h.Env)...)
		command := execute(s.Name, s.Content)
		command = command[:len(command)-1]
		if isShell(command) {
			args = append(append(args, command...), "-c", string(s.Content), "kopshook-"+h.Name)
		} else { // not every interpreter takes a script as an argument
			args = append(args, "/bin/sh", "-c", `umask 77; printf %s "$1" > "$0"; shift; exec "$@" "$0"`, "/run/kopshook-boot-"+h.Name, string(s.Content))
			args = append(args, command...)
		}
	}
	var b strings.Builder
	for i, a := range args {
		b.WriteString([]string{"- -", "  -"}[min(i, 1)])
		switch {
		case strings.Contains(a, "\n"):
			b.WriteString(block(a, 2))
		case a == "env" || a == "-c":
			b.WriteString(" " + a + "\n")
		default:
			b.WriteString(" " + scalar(a) + "\n")
		}
	}
	return b.String()
}

// isShell says whether the command is a shell, perhaps called through env, and thus takes -c.
func isShell(command []string) bool {
	for i, c := range command {
		switch path.Base(c) {
		case "sh", "bash", "dash", "ksh", "zsh", "ash":
			return true
		case "env":
			if i == 0 {
				continue
			}
		}
		return false
	}
	return false
}

// mapping is a cloud-config mapping of the user's of which keys are taken one by one.
type mapping struct {
	content []*yaml.Node
}

func newMapping(n *yaml.Node) *mapping {
	if n == nil {
		return &mapping{}
	}
	return &mapping{append([]*yaml.Node(nil), n.Content...)}
}

// take removes a key whose value is a list and returns the list's entries.
func (m *mapping) take(key string) string {
	for i := 0; i+1 < len(m.content); i += 2 {
		if m.content[i].Value != key {
			continue
		}
		value := resolved(m.content[i+1])
		m.content = append(m.content[:i:i], m.content[i+2:]...)
		var b strings.Builder
		for _, n := range value.Content {
			writeEntry(&b, n, 0)
		}
		return b.String()
	}
	return ""
}

// rest returns what has not been taken.
func (m *mapping) rest() string {
	var b strings.Builder
	writePairs(&b, m.content, 0)
	return b.String()
}
