//go:build e2e

package cloudinit

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// seen is what a node sees of a message, in a form that the model and the real thing can both be brought to.
type seen struct {
	Fatal     bool
	Init      bool // failed
	Config    string
	Effective string
	Parts     []string // name, type, lost
	Boothooks []string // name, content
	Bootcmd   string   // script; "failed"; empty without any
	Runcmd    bool     // failed
	Files     []string // path, mode, append, owner, content
	FilesStop [2]bool  // write_files, write_files_deferred
	Scripts   []string // folder, name, content
}

// answer is the driver's.
type answer struct {
	Fatal     string
	Config    string
	Effective string
	Parts     [][3]any
	Boothooks [][2]string
	Bootcmd   *string
	// why they failed
	BootcmdFailed, RuncmdFailed, InitFailed string
	WriteFiles, Deferred                    struct {
		Files  [][6]any
		Failed string
	}
	Scripts [][3]string
}

func (a *answer) seen() seen {
	s := seen{Config: a.Config, Effective: a.Effective, Runcmd: a.RuncmdFailed != "", Init: a.InitFailed != ""}
	for _, p := range a.Parts {
		s.Parts = append(s.Parts, fmt.Sprintf("%q %s %v", p[0], p[1], p[2]))
	}
	for _, b := range a.Boothooks {
		s.Boothooks = append(s.Boothooks, b[0]+" "+unbase64(b[1]))
	}
	if a.Fatal != "" {
		return seen{Fatal: true, Boothooks: s.Boothooks}
	}
	switch {
	case a.BootcmdFailed != "":
		s.Bootcmd = "failed"
	case a.Bootcmd != nil:
		s.Bootcmd = unbase64(*a.Bootcmd)
	}
	for _, f := range append(a.WriteFiles.Files, a.Deferred.Files...) {
		s.Files = append(s.Files, fmt.Sprintf("%q %s %v %s:%s %q", f[0], f[1], f[2], f[4], f[5], unbase64(f[3].(string))))
	}
	s.FilesStop = [2]bool{a.WriteFiles.Failed != "", a.Deferred.Failed != ""}
	for _, f := range a.Scripts {
		s.Scripts = append(s.Scripts, f[0]+" "+f[1]+" "+unbase64(f[2]))
	}
	return s
}

func unbase64(s string) string {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// seen brings what the model says to the same form.
func (r *Result) seen() seen {
	s := seen{Config: canon(r.Config), Fatal: r.Fatal() != nil}
	for _, run := range r.Runs {
		if run.What == "boothook" {
			s.Boothooks = append(s.Boothooks, run.Name+" "+run.Content)
		}
	}
	if s.Fatal {
		return seen{Fatal: true, Boothooks: s.Boothooks}
	}
	effective := r.Effective.Copy()
	for _, key := range []string{"def_log_file", "syslog_fix_perms"} {
		effective.Delete(str(key))
	}
	s.Effective = canon(effective)
	for _, p := range r.Parts {
		if !p.Unhandled {
			s.Parts = append(s.Parts, fmt.Sprintf("%q %s %v", p.Name, p.Type, p.Lost))
		}
	}
	contents := map[string]string{}
	for _, run := range r.Runs {
		switch run.What {
		case "bootcmd":
			s.Bootcmd = run.Content
		case "write_files", "write_files_deferred":
			f := run.File
			if f.Append {
				contents[f.Path] += run.Content
			} else {
				contents[f.Path] = run.Content
			}
			s.Files = append(s.Files, fmt.Sprintf("%q 0o%o %v %s:%s %q", f.Path, f.Mode, f.Append, f.User, f.Group, contents[f.Path]))
		case "script", "script-per-boot", "script-per-instance", "script-per-once":
			s.Scripts = append(s.Scripts, strings.TrimPrefix(strings.TrimPrefix(run.What, "script"), "-")+" "+run.Name+" "+run.Content)
		}
	}
	for _, l := range r.Lost {
		switch {
		case l.Kind == LostInit:
			s.Init = true
		case l.Kind == LostCommands && l.Path == "bootcmd":
			s.Bootcmd = "failed"
		case l.Kind == LostCommands:
			s.Runcmd = true
		}
	}
	s.FilesStop = r.reader.filesStop
	return s
}

var wholeMark = regexp.MustCompile(`mark[0-9]+x`)

// untold names the marks that have vanished in the merge without a word, and those that are said to have vanished and
// have not.
func untold(r *Result) string {
	if r.Fatal() != nil {
		return ""
	}
	config := canon(r.Config)
	var b strings.Builder
	for _, p := range r.Parts {
		if p.Type == TypeCloudConfigJSONP && !p.Lost {
			return "" // a patch may take away anything
		}
	}
	var look func(name string, v *pyyaml.Value)
	look = func(name string, v *pyyaml.Value) {
		for _, item := range v.Items {
			look(name, item)
		}
		for _, e := range v.Entries {
			if e.Value != nil {
				look(name, e.Value)
			}
		}
		if !v.IsString() {
			return
		}
		for _, mark := range wholeMark.FindAllString(v.Str, -1) {
			there := strings.Contains(config, fmt.Sprintf("%x", mark))
			if there == r.reader.told[v] {
				fmt.Fprintf(&b, "%q of %s: there %v, told to be lost %v\n", v.Str, name, there, there)
			}
		}
	}
	for _, p := range r.Parts {
		if p.Config != nil && !p.Lost {
			config := p.Config.Copy()
			_, _ = takeMergers(config) // they say how to merge, and are gone then
			look(p.Name, config)
		}
	}
	return b.String()
}

// compare holds the model against the real thing and returns what differs. It counts messages that the model says it
// cannot predict, because a template asks for more than is known: those are not compared.
func compare(tb testing.TB, r *real, data []byte, opts Options, base string) string {
	tb.Helper()
	opts.Version = r.version
	opts.OfflineSources = true
	request := map[string]any{"data": data, "base": base}
	if opts.LaunchIndex != nil {
		request["launchIndex"] = *opts.LaunchIndex
	}
	if opts.InstanceData != nil {
		v1 := map[string]string{}
		for k, v := range opts.InstanceData {
			v1[strings.TrimPrefix(k, "v1.")] = v
		}
		request["instanceData"] = map[string]any{"v1": v1}
	}
	if base != "" {
		opts.Base, _ = pyyaml.Load(base)
	}
	var a answer
	r.ask(tb, request, &a)
	result := Read(data, opts)
	for _, l := range result.Lost {
		if l.Kind == Unpredictable && l.What == "the template" {
			r.unpredicted++
			return ""
		}
	}
	diff := cmp.Diff(a.seen(), result.seen())
	if diff == "" {
		if diff = untold(result); diff == "" {
			return ""
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ncloud-init says (-), the model says (+):\n%s\nmessage: %q\n", r.name, diff, data)
	for _, why := range []string{a.Fatal, a.InitFailed, a.BootcmdFailed, a.RuncmdFailed, a.WriteFiles.Failed, a.Deferred.Failed} {
		if why != "" {
			fmt.Fprintf(&b, "cloud-init: %s\n", why)
		}
	}
	for _, l := range result.Lost {
		fmt.Fprintf(&b, "model: %s %s %s: %s\n", l.Kind, l.Name, l.What, l.Why)
	}
	return b.String()
}
