package plan

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"strconv"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/source"
)

// hookKey is a hook of a spec, before overrides.
type hookKey struct {
	doc  *hookspec.Doc
	name string
}

// knownHook is a hook as some instance groups have it.
type knownHook struct {
	resolved hookspec.Resolved
	hook     generator.Hook
	id       string
}

// shared returns the hook with all its bytes, and an id that it shares with the same hook of other instance groups:
// most groups differ in no hook, so work is done once.
func (p *planner) shared(h *hookspec.Resolved) (generator.Hook, string) {
	key := hookKey{h.Doc, h.Name}
	for _, k := range p.known[key] {
		if reflect.DeepEqual(k.resolved, *h) {
			return k.hook, k.id
		}
	}
	p.hooks++
	k := knownHook{resolved: *h, hook: p.hook(h), id: strconv.Itoa(p.hooks)}
	if p.known == nil {
		p.known = map[hookKey][]knownHook{}
	}
	p.known[key] = append(p.known[key], k)
	return k.hook, k.id
}

// hook reads what the hook names and returns it with all its bytes.
func (p *planner) hook(h *hookspec.Resolved) generator.Hook {
	out := generator.Hook{
		Name:            h.Name,
		Phase:           generator.Phase(h.Phase),
		Weight:          h.Weight,
		EveryBoot:       h.EveryBoot,
		Scripts:         p.scriptsOf(h),
		Env:             h.Env,
		Timeout:         h.Timeout,
		Attempts:        h.Attempts,
		RetryDelay:      h.RetryDelay,
		Continue:        h.Continue,
		Before:          h.Before,
		RebootExitCodes: h.RebootExitCodes,
		Compress:        h.Compress,
		Archive:         h.Archive,
		CleanUp:         h.CleanUp,
		CloudConfig:     h.CloudConfig,
	}
	if h.Verify != nil {
		out.Verify = []byte(*h.Verify)
	}
	for i, f := range h.Files {
		out.Files = append(out.Files, p.file(h, f, fmt.Sprintf("files[%d]", i)))
	}
	for _, d := range h.DropIns {
		out.DropIns = append(out.DropIns, generator.DropIn{Unit: d.Unit, Content: d.Content})
	}
	return out
}

func (p *planner) scriptsOf(h *hookspec.Resolved) []generator.Script {
	if h.Script != nil {
		return []generator.Script{{Name: "script", Content: []byte(*h.Script)}}
	}
	if h.Source == nil {
		return nil
	}
	files := p.load(h, "source", *h.Source, true)
	var scripts []generator.Script
	for _, f := range files {
		if !bytes.HasPrefix(f.Content, []byte("#!")) && !bytes.HasPrefix(f.Content, []byte("\x7fELF")) {
			p.report.Errorf(h.Pos("source"), h.FieldPath("source"), "begin it with a line such as #!/bin/sh",
				"%q of source %q is no script: its first two bytes are not #!", f.Name, source.Redact(*h.Source))
		}
		scripts = append(scripts, generator.Script{Name: f.Name, Content: f.Content})
	}
	if len(scripts) == 1 {
		scripts[0].Name = "script" // so that renaming the file changes no user data
	}
	return scripts
}

func (p *planner) file(h *hookspec.Resolved, f hookspec.File, field string) generator.File {
	out := generator.File{Path: f.Path, URLs: f.URL, Owner: *f.Owner}
	mode, err := strconv.ParseUint(*f.Mode, 8, 32)
	if err != nil {
		p.report.Errorf(h.Pos(field+".mode"), h.FieldPath(field+".mode"), "write it as \"0644\"", "mode %q is not octal", *f.Mode)
	}
	out.Mode = uint32(mode)
	switch {
	case f.Content != nil:
		out.Content = []byte(*f.Content)
	case f.ContentBase64 != nil:
		out.Content, err = base64.StdEncoding.DecodeString(*f.ContentBase64)
		if err != nil {
			p.report.Errorf(h.Pos(field+".contentBase64"), h.FieldPath(field+".contentBase64"), "encode it with `base64 -w0`", "not base64: %v", err)
		}
	case f.Source != nil:
		if files := p.load(h, field+".source", *f.Source, false); len(files) == 1 {
			out.Content = files[0].Content
		}
	}
	if f.SHA256 != nil {
		out.SHA256 = *f.SHA256
	}
	return out
}

// load reads a source once, however many hooks and instance groups name it.
func (p *planner) load(h *hookspec.Resolved, field, src string, dir bool) []source.File {
	ref := source.Ref{SpecFile: h.Doc.File, Source: src, Dir: dir}
	if files, ok := p.scripts[ref]; ok || p.broken[ref] {
		return files
	}
	files, err := p.loader.Load(p.ctx, ref)
	if err != nil {
		p.broken[ref] = true
		p.report.AddError(h.Pos(field), h.FieldPath(field), err)
		return nil
	}
	p.scripts[ref] = files
	return files
}
