package plan

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/source"
)

// hookKey is one hook of one spec, as one set of overrides made it: what it holds is the same in all groups.
type hookKey struct {
	doc *hookspec.Doc
	id  string
}

// knownHook is a hook that was read for an earlier group, with an id that no other hook has.
type knownHook struct {
	hook hookspec.Resolved
	id   string
}

// shared returns the hook with its bytes, read once for all groups that have it, and its id.
func (p *planner) shared(ctx context.Context, h *hookspec.Resolved) (hookspec.Resolved, string) {
	key := hookKey{h.Doc, h.ID}
	known, ok := p.known[key]
	if !ok {
		known = knownHook{hook: *h, id: strconv.Itoa(len(p.known))}
		p.read(ctx, &known.hook)
		p.known[key] = known
	}
	return known.hook, known.id
}

// read reads what the hook takes from sources.
func (p *planner) read(ctx context.Context, h *hookspec.Resolved) {
	if src := h.Said.Source; src != nil {
		for _, f := range p.load(ctx, h, "source", *src, true) {
			if !bytes.HasPrefix(f.Content, []byte("#!")) && !bytes.HasPrefix(f.Content, []byte("\x7fELF")) {
				p.report.Errorf(h.Pos("source"), h.FieldPath("source"), "begin it with a line such as #!/bin/sh",
					"%q of source %q is not a script: its first two bytes are not #!", f.Name, source.Redact(*src))
			}
			if first, _, _ := bytes.Cut(f.Content, []byte("\n")); bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(first, []byte("\r")) {
				p.report.Errorf(h.Pos("source"), h.FieldPath("source"), "use line feeds only; with Git for Windows, say * text=auto eol=lf in .gitattributes",
					"the first line of %q of source %q ends with a carriage return: no kernel finds that interpreter", f.Name, source.Redact(*src))
			}
			h.Scripts = append(h.Scripts, generator.Script{Name: f.Name, Content: f.Content})
		}
		if len(h.Scripts) == 1 {
			h.Scripts[0].Name = "script" // so that renaming the file changes no user data
		}
	}
	for i, f := range h.Said.Files {
		if f.Source == nil {
			continue
		}
		if files := p.load(ctx, h, fmt.Sprintf("files[%d].source", i), *f.Source, false); len(files) == 1 {
			h.Files[i].Content = files[0].Content
		}
	}
}

// load reads a source once. One that is wrong is reported once, for the first field that names it.
func (p *planner) load(ctx context.Context, h *hookspec.Resolved, field, src string, dir bool) []source.File {
	ref := source.Ref{SpecFile: h.Doc.File, Source: src, Dir: dir}
	if files, ok := p.scripts[ref]; ok || p.broken[ref] {
		return files
	}
	files, err := p.loader.Load(ctx, ref)
	if err != nil {
		p.broken[ref] = true
		p.report.AddError(h.Pos(field), h.FieldPath(field), err)
		return nil
	}
	p.scripts[ref] = files
	return files
}
