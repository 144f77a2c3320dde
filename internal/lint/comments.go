package lint

import (
	"fmt"
	"regexp"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
	"kopshook.dev/kopshook/internal/shell"
)

// checkComments looks for commands that a YAML comment cuts: in a plain scalar, " #" begins one.
func (p *pass) checkComments(config *pyyaml.Value) {
	for _, key := range []string{"bootcmd", "runcmd"} {
		list := config.Get(key)
		if !list.IsSequence() {
			continue
		}
		for _, item := range list.Items {
			comment := p.commentBehind(item)
			if comment == "" || !isCommand(comment) && shell.Parse(item.Str).Err == nil {
				continue
			}
			p.add("KH038", p.place(p.result.At(item)), fmt.Sprintf("YAML takes %q for a comment: the node runs only %q", comment, item.Str))
		}
	}
}

// commentBehind returns the comment that ends a plain scalar, "" when there is none.
func (p *pass) commentBehind(v *pyyaml.Value) string {
	place := p.result.At(v)
	if !v.IsString() || v.Style != 0 || place.Line == 0 || !p.theirs(place.Part) {
		return ""
	}
	content := p.g.Parts[place.Part].Content
	start := p.text(place.Part).Offset(place.Line, place.Col)
	line, _, _ := strings.Cut(content[start:], "\n")
	rest, ok := strings.CutPrefix(line, v.Str)
	if comment := strings.TrimLeft(rest, " \t"); ok && comment != rest && strings.HasPrefix(comment, "#") {
		return strings.TrimRight(comment, "\r")
	}
	return ""
}

// commandSigns are what a comment has that was meant as the rest of a command: a redirection, a pipe, a list.
var commandSigns = regexp.MustCompile(`>> ?[/$"']|[^-=]> ?[/$"']|&&|\|\||\| *(tee|sh|bash|grep|sed|awk|xargs|sudo|logger)\b|;\s*(then|do|done|fi)\b`)

func isCommand(comment string) bool { return commandSigns.MatchString(comment) }
