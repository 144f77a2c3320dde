package lint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
	"kopshook.dev/kopshook/internal/source"
	"kopshook.dev/kopshook/internal/sourcemap"
)

// Hook is a hook of a spec with all its bytes.
type Hook struct {
	*hookspec.Resolved
	Source *sourcemap.Text // of the spec's file; nil when positions inside of scripts are not to be told
	Images []string        // of the instance groups that get the hook, as kops names them
}

// CannotSucceed returns the findings for which a hook keeps nodes of a cloud out, whatever happens. Merging asks it of all hooks,
// so it looks at no more than that takes.
func CannotSucceed(h *Hook, cloud kops.CloudProviderID) []Finding {
	p := &hookPass{h: h}
	scripts, shells := p.shells()
	checkShells(p, shells, h.Images)
	p.checkHookShells(scripts, shells)
	return slices.DeleteFunc(append(p.found, CheckCloud(h, cloud)...), func(f Finding) bool { return f.Effect < HookFails })
}

// shells are the hook's scripts, and those with its verify.
func (p *hookPass) shells() (scripts, all []*shellText) {
	for _, s := range p.h.Scripts {
		scripts = append(scripts, p.shell(string(s.Content), p.scriptPlace(s)))
	}
	all = slices.Clone(scripts)
	if p.h.Verify != nil {
		all = append(all, p.shell(string(p.h.Verify), p.textPlace("verify", string(p.h.Verify))))
	}
	if undo := p.h.Said.Undo; undo != nil && p.h.Phase == hookspec.Daemon {
		all = append(all, p.shell(*undo, p.textPlace("undo", *undo)))
	}
	return scripts, all
}

// CheckHook looks at a hook's scripts, files and drop-ins.
func CheckHook(h *Hook) []Finding {
	p := &hookPass{h: h}
	scripts, shells := p.shells()
	var files []*file
	for i, f := range h.Files {
		field := fmt.Sprintf("files[%d]", i)
		place := func(int, int) report.Position { return h.Pos(field + ".path") }
		if c := h.Said.Files[i].Content; c != nil {
			place = p.textPlace(field+".content", *c)
		}
		files = append(files, &file{path: f.Path, text: string(f.Content), place: place})
	}
	for i, d := range h.DropIns {
		place := p.textPlace(fmt.Sprintf("dropIns[%d].content", i), d.Content)
		files = append(files, &file{path: "/etc/systemd/system/" + d.Unit + ".d/hook.conf", text: d.Content, place: place})
	}
	p.checkLineEnds(scripts)
	p.checkSecrets(shells, files)
	p.checkDirection(shells, files)
	checkShells(p, shells, h.Images)
	p.checkHookShells(scripts, shells)
	files = append(files, written(shells)...)
	checkUnits(p, files, shells)
	p.checkHides(shells, files)
	p.checkReboots(scripts)
	if p.h.Phase != hookspec.Daemon {
		checkNodeupFiles(p, files, shells)
	}
	return p.found
}

// hookPass is one look at one hook.
type hookPass struct {
	h     *Hook
	found []Finding
}

func (p *hookPass) add(code string, pos report.Position, message string, options ...option) {
	rule := RuleOf(code)
	f := Finding{Rule: rule, Hook: p.h.Name, part: -1}
	f.Finding = report.Finding{Severity: rule.Severity, Code: code, Position: pos, Message: fmt.Sprintf("hook %q: %s", p.h.Name, message), Remedy: rule.Remedy}
	for _, o := range options {
		o(&f)
	}
	f.settle()
	p.fails(&f)
	if p.h.Source != nil && f.File == p.h.Doc.File && lineIgnores(p.h.Source, f.Line, code) {
		return
	}
	p.found = append(p.found, f)
}

// shell is a script of the hook. One of phase boot runs where bootcmd does, in a subshell of its own.
func (p *hookPass) shell(text string, place func(line, col int) report.Position) *shellText {
	what := "hook"
	if p.h.Phase == hookspec.Boot {
		what = "boothook"
	}
	return &shellText{Script: shell.Parse(text), what: what, late: true, place: place}
}

// textPlace finds a place inside of a text of the spec.
func (p *hookPass) textPlace(field, text string) func(line, col int) report.Position {
	lines := sourcemap.New([]byte(text))
	where := sync.OnceValue(func() sourcemap.Map {
		if p.h.Source == nil {
			return nil
		}
		key := p.h.Doc.KeyPos(p.h.FieldPath(field))
		return p.h.Source.Map(key.Line, key.Col, text)
	})
	return func(line, col int) report.Position {
		pos := p.h.Pos(field)
		if i, m := lines.Offset(line, col), where(); i < len(m) {
			pos.Line, pos.Col = p.h.Source.Place(m[i])
		}
		return pos
	}
}

// scriptPlace finds a place in a script: inline, or in the file that it was read from.
func (p *hookPass) scriptPlace(s generator.Script) func(line, col int) report.Position {
	if p.h.Said.Script != nil {
		return p.textPlace("script", *p.h.Said.Script)
	}
	src := *p.h.Said.Source
	if source.IsRemote(src) || s.Name == "script" && !strings.Contains(filepath.Base(src), ".") { // a folder of one script, maybe
		return func(int, int) report.Position { return p.h.Pos("source") }
	}
	file := src
	if !filepath.IsAbs(src) && p.h.Doc.File != "-" {
		file = filepath.Join(filepath.Dir(p.h.Doc.File), src)
	}
	if s.Name != "script" {
		file = filepath.Join(file, s.Name)
	}
	return func(line, col int) report.Position {
		return report.Position{File: strings.TrimPrefix(file, "./"), Line: line, Col: col}
	}
}
