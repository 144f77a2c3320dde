package generator

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// FileChange is a file of a hook as it lies on the node, before and after; one of the two is nil where it comes or goes.
type FileChange struct {
	Path     string
	Old, New *File
}

// FileChanges compares the files that two hooks bring to the node, each of which may be nil: scripts, files and drop-ins.
// The units are not among them: they are made of the other fields. Of a hook that lies in a bucket before or after, nobody
// knows what differs: there are none.
func FileChanges(was, is *Written) []FileChange {
	var old, now []File
	if was != nil && was.InBucket() || is != nil && is.InBucket() {
		return nil
	}
	if was != nil {
		old = was.Files()
	}
	if is != nil {
		now = is.Files()
	}
	find := func(files []File, path string) *File {
		if i := slices.IndexFunc(files, func(f File) bool { return f.Path == path }); i >= 0 {
			return &files[i]
		}
		return nil
	}
	var changes []FileChange
	for i := range now {
		if o := find(old, now[i].Path); o == nil || o.text() != now[i].text() {
			changes = append(changes, FileChange{now[i].Path, o, &now[i]})
		}
	}
	for i := range old {
		if find(now, old[i].Path) == nil {
			changes = append(changes, FileChange{old[i].Path, &old[i], nil})
		}
	}
	return changes
}

// text is all of the file.
func (f *File) text() string {
	return strings.Join([]string{f.Path, f.ModeString(), f.Owner, f.SHA256, f.Secret, strings.Join(f.URLs, " "), string(f.Content)}, "\n")
}

// Files returns what lands on the node because of the hook, as the function Files does, but for its unit: scripts, files and
// drop-ins at their paths, what is in a bootcmd at /bootcmd/NAME, the user's cloud-config at /cloud-config/NAME.yaml. There
// are none of a hook that lies in a bucket.
func (w *Written) Files() []File {
	files, _ := w.read()
	return files
}

// read returns the hook's files on the node and the values of its fields, as far as they can be read.
func (w *Written) read() (files []File, fields map[string]string) {
	fields = map[string]string{"compress": "false", "archive": strconv.FormatBool(len(w.packed) > 0)}
	if n, err := strconv.Atoi(w.nnn); err == nil {
		fields["weight"] = strconv.Itoa(n - 500)
	}
	written := slices.Clone(w.packed)
	var part ownPart
	if w.part != "" {
		part = readPart(w.part)
		written = append(written, part.files...)
	}
	if part.compressed {
		fields["compress"] = "true"
	}
	boot := bootcmd{}
	if part.bootcmd != nil {
		fields["phase"] = "boot"
		boot.read(part.bootcmd, fields)
		if boot.script != nil {
			files = append(files, File{Path: "/bootcmd/" + w.Name, Mode: 0o700, Owner: "root:root", Content: boot.script})
		}
	}
	var placed []File
	dir := hookDir(w.Name) + "/"
	for _, f := range written {
		switch {
		case f.Path == "/etc/systemd/system/"+UnitName(w.Name):
			placed = readUnit(string(f.Content), fields)
		case path.Dir(f.Path)+"/" == dir:
			files = append(files, File{Path: f.Path, Mode: 0o700, Owner: "root:root", Content: f.Content})
		}
	}
	for _, f := range placed {
		if strings.HasPrefix(string(f.Content), stagedAt) {
			at := dir + strings.TrimPrefix(string(f.Content), stagedAt)
			f.Content = nil
			if i := slices.IndexFunc(written, func(w File) bool { return w.Path == at }); i >= 0 {
				f.Content = written[i].Content
			}
		}
		files = append(files, f)
	}
	if part.theirs != "" {
		files = append(files, File{Path: "/cloud-config/" + w.Name + ".yaml", Mode: 0o600, Owner: "root:root",
			Content: []byte("#cloud-config\n" + part.theirs)})
	}
	for i := range files {
		f := &files[i]
		switch field := w.fieldOf(f.Path); {
		case field == "files", field == "dropIns":
			fields[field] += f.text()
		case field == "script" && f.Path != dir+"script" && boot.script == nil: // one of a folder of scripts
			fields[field] += path.Base(f.Path) + "\n" + string(f.Content)
		default:
			fields[field] += string(f.Content)
		}
	}
	return files, fields
}

// fieldOf returns the field of the spec that brings a file.
func (w *Written) fieldOf(file string) string {
	switch dir := hookDir(w.Name); {
	case file == dir+"/verify":
		return "verify"
	case path.Dir(file) == dir, strings.HasPrefix(file, "/bootcmd/"):
		return "script"
	case strings.HasPrefix(file, "/cloud-config/"):
		return "cloudConfig"
	case strings.HasSuffix(file, ".d/90-kopshook-"+w.Name+".conf"):
		return "dropIns"
	}
	return "files"
}

// ownPart is what a hook's own part holds.
type ownPart struct {
	files      []File   // of ours
	compressed bool     // some of them
	bootcmd    []string // the command of a hook of phase boot
	theirs     string   // the rest: cloud-config of the user's
}

func readPart(content string) (p ownPart) {
	var part yaml.Node
	if yaml.Unmarshal([]byte(content), &part) != nil || len(part.Content) == 0 || part.Content[0].Kind != yaml.MappingNode {
		return p // somebody edited it
	}
	top := part.Content[0]
	var rest []*yaml.Node
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		switch {
		case key.Value == "merge_how":
			continue
		case key.Value == "write_files" && value.Kind == yaml.SequenceNode:
			value.Content = slices.DeleteFunc(value.Content, p.takeFile)
		case key.Value == "bootcmd" && value.Kind == yaml.SequenceNode:
			value.Content = slices.DeleteFunc(value.Content, p.takeCommand)
		default:
			rest = append(rest, key, value)
			continue
		}
		if len(value.Content) > 0 {
			rest = append(rest, key, value)
		}
	}
	top.Content = rest
	if hasAlias(top) { // nothing of ours: written out, it may have no end
		text, _ := yaml.Marshal(top)
		p.theirs = strings.TrimPrefix(string(text), "#cloud-config\n")
	} else {
		p.theirs = newMapping(top).rest()
	}
	return p
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// takeFile takes an entry of write_files, if it is ours.
func (p *ownPart) takeFile(entry *yaml.Node) bool {
	var e struct{ Path, Encoding, Content string }
	if entry.Decode(&e) != nil || hookOf(e.Path) == "" {
		return false
	}
	data := []byte(e.Content)
	switch e.Encoding {
	case "b64":
		data, _ = decodeBase64(e.Content)
	case "gz+b64":
		data, _ = decodeGzip(e.Content)
		p.compressed = true
	}
	p.files = append(p.files, File{Path: e.Path, Content: data})
	return true
}

// takeCommand takes an entry of bootcmd, if it is ours.
func (p *ownPart) takeCommand(entry *yaml.Node) bool {
	var words []string
	if p.bootcmd != nil || entry.Decode(&words) != nil || len(words) < 5 || words[2] != "KOPSHOOK_PHASE=boot" {
		return false
	}
	p.bootcmd = words[4:]
	return true
}

// bootcmd is the command of a hook of phase boot.
type bootcmd struct{ script []byte }

// read takes the script: the word after -c, or, of interpreters that take none, the one after the place where it is put.
func (b *bootcmd) read(words []string, fields map[string]string) {
	words = readEnv(words, fields)
	for i, w := range words {
		if strings.HasPrefix(w, "kopshook-") && i > 0 {
			b.script = []byte(words[i-1])
		}
		if strings.HasPrefix(w, "/run/kopshook-boot-") && i+1 < len(words) {
			b.script = []byte(words[i+1])
			return
		}
	}
}

// readEnv reads the variables that a command begins with, and returns the rest of it.
func readEnv(words []string, fields map[string]string) []string {
	var env []string
	for len(words) > 0 {
		name, _, ok := strings.Cut(words[0], "=")
		if !ok || !isVariable(name) {
			break
		}
		env, words = append(env, words[0]), words[1:]
	}
	fields["env"] = strings.Join(env, ", ")
	return words
}

// IsScript says whether a file of Written.Files is run by its hook.
func IsScript(f File) bool {
	return strings.HasPrefix(f.Path, "/bootcmd/") || strings.HasPrefix(f.Path, hookDir(""))
}

// stagedAt begins the content of a placed file whose bytes are another file's of the hook's folder.
const stagedAt = "\x00staged at "

// brought are the commands that put files in place, as placeFiles writes them.
var brought = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:` +
		`install -DT -m ([0-7]{4}) -o (\S+) -g (\S+) (files/[0-9]+) ("\S+?")` +
		`|/bin/sh /opt/kopshook/bin/(?:fetch ("\S+?")|cloud "\$0" ("\S+?") \S+) ([0-7]{4}) (\S+) (\S+)((?: "\$\{?[0-9]+\}?")+))`)
})

// placedBy returns the files that a hook's command puts in place: those of its user data with where their bytes are.
func placedBy(command []string) []File {
	i := slices.Index(command, "-exc")
	if i < 0 || len(command) < i+3 {
		return nil
	}
	text, args := command[i+1], command[i+2:]
	value := func(word string) string {
		n, err := strconv.Atoi(strings.Trim(word, `"${}`))
		if err != nil || n >= len(args) {
			return word
		}
		return args[n]
	}
	var files []File
	for _, m := range brought().FindAllStringSubmatch(text, -1) {
		if m[4] != "" {
			files = append(files, File{Path: value(m[5]), Mode: modeOf(m[1]), Owner: m[2] + ":" + m[3], Content: []byte(stagedAt + m[4])})
			continue
		}
		f := File{Path: value(m[6] + m[7]), Mode: modeOf(m[8]), Owner: m[9], SHA256: m[10]}
		for _, w := range strings.Fields(m[11]) {
			f.URLs = append(f.URLs, value(w))
		}
		if f.SHA256 == "-" {
			f.SHA256, f.Secret, f.URLs = "", f.URLs[0], nil
		}
		if n := len(files) - 1; n >= 0 && files[n].Path == f.Path { // mirrors of another kind
			files[n].URLs = append(files[n].URLs, f.URLs...)
			continue
		}
		files = append(files, f)
	}
	return files
}

func modeOf(digits string) (mode uint32) {
	fmt.Sscanf(digits, "%o", &mode)
	return mode
}
