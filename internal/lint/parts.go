package lint

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
)

// kopsTypes are what kops takes (kops pkg/apis/kops/validation/instancegroup.go:421).
var kopsTypes = []string{
	cloudinit.TypeIncludeOnce, cloudinit.TypeInclude, cloudinit.TypeArchive, "text/upstart-job", cloudinit.TypeCloudConfig,
	cloudinit.TypePartHandler, cloudinit.TypeShellScript, cloudinit.TypeBoothook,
}

// checkParts looks at types, names and bytes of the user's parts.
func (p *pass) checkParts() {
	for i, part := range p.g.Parts {
		if !p.theirs(i) {
			continue
		}
		p.checkType(i, part)
		p.checkBytes(i, part)
	}
	p.checkOrder()
}

func (p *pass) checkType(i int, part cloudinit.Part) {
	pos := p.field(i, "type")
	switch {
	case part.Type == "":
		p.add("KH001", pos, fmt.Sprintf("part %q has no type", part.Name), wholePart(i))
	case !slices.Contains(kopsTypes, part.Type):
		near := ""
		if n := report.Nearest(part.Type, kopsTypes); n != "" {
			near = fmt.Sprintf("did you mean %s?", n)
		}
		opts := []option{wholePart(i)}
		switch {
		case cloudinit.Sniff(part.Content) == part.Type:
			opts = append(opts, declare(part.Type))
		case near != "":
			opts = append(opts, remedy("%s", near))
		}
		p.add("KH001", pos, fmt.Sprintf("kops refuses the type %s of part %q", part.Type, part.Name), opts...)
	case part.Type == cloudinit.TypeShellScript:
		switch s := cloudinit.Sniff(part.Content); {
		case s == "" || s == cloudinit.TypeShellScript:
		case !slices.Contains(kopsTypes, s):
			p.add("KH003", pos, fmt.Sprintf("part %q is declared as %s, and cloud-init takes it for %s", part.Name, part.Type, s), severity(report.Info), wholePart(i),
				remedy("leave the type: kops takes no %s, and cloud-init finds it by the first line; or write out what it is to become", s))
		default:
			p.add("KH003", pos, fmt.Sprintf("part %q is declared as %s, but cloud-init takes it for %s", part.Name, part.Type, s), severity(report.Warning), wholePart(i))
		}
	case cloudinit.Sniff(part.Content) == cloudinit.TypeJinja && !slices.ContainsFunc(p.found, func(f Finding) bool { return f.Code == "KH003" && f.part == i }):
		p.add("KH003", pos, fmt.Sprintf("part %q is declared as %s, so that cloud-init renders no template", part.Name, part.Type), wholePart(i), declare(cloudinit.TypeJinja))
	}
}

// declare says which type a part is to have whose contents begin like a type. Those that kops refuses cloud-init finds in
// scripts, which it looks into (cloudinit/user_data.py:132).
func declare(begins string) option {
	if slices.Contains(kopsTypes, begins) {
		return remedy("declare %s", begins)
	}
	return remedy("declare text/x-shellscript: kops takes no %s, and cloud-init finds it there by its first line", begins)
}

func (p *pass) checkBytes(i int, part cloudinit.Part) {
	content := part.Content
	cr := strings.IndexByte(content, '\r')
	if cr < 0 {
		return
	}
	line, col := p.text(i).Place(cr)
	opts := []option{wholePart(i)}
	message := fmt.Sprintf("part %q has lines that end in CRLF", part.Name)
	first, _, _ := strings.Cut(content, "\n")
	switch {
	case part.Type == cloudinit.TypeCloudConfig || part.Type == cloudinit.TypeArchive:
		opts = append(opts, severity(report.Warning))
	case strings.HasSuffix(first, "\r"):
		opts = append(opts, severity(report.Warning))
		message += ", which cloud-init makes LF since the first one does"
	default:
		message += ", and cloud-init leaves them since the first one does not: the shell takes the carriage return for a character"
	}
	var edits []Edit
	for at := range len(content) {
		if content[at] == '\r' && at+1 < len(content) && content[at+1] == '\n' {
			e := p.edit(i, at, at+1, "")
			if e == nil || e[0].Start == e[0].End {
				edits = nil
				break
			}
			edits = append(edits, e...)
		}
	}
	p.add("KH008", p.place(at(i, line, col)), message, append(opts, fix(edits...))...)
}

// checkOrder looks at what runs beside nodeup.
func (p *pass) checkOrder() {
	if p.g.Role == "Bastion" {
		return
	}
	for _, r := range p.result.Runs {
		if r.What != "script" || !p.theirs(r.Part) || r.Name <= cloudinit.NodeupName {
			continue
		}
		if r.Name == "runcmd" {
			p.add("KH036", p.place(r.At), "runcmd runs after nodeup.sh has started nodeup: it races with the kubelet, and a node whose runcmd fails joins all the same")
			continue
		}
		part := p.g.Parts[r.Part].Name
		p.add("KH014", p.field(r.Part, "name"), fmt.Sprintf("script %q sorts after nodeup.sh: it runs while nodeup installs and starts the kubelet", part), wholePart(r.Part))
	}
}
