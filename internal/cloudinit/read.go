package cloudinit

import (
	"bytes"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// Options say what kind of node reads the message. The zero value is a node of today with an image that configures
// nothing.
type Options struct {
	// Version of cloud-init; zero means Debian13, and without Python one that fits.
	Version Version
	// Base is the image's own configuration (cloud.cfg and cloud.cfg.d merged): what the user data sets wins over it, key
	// by key. It may be nil.
	Base *pyyaml.Value
	// LaunchIndex is the instance's number in its launch, if the cloud tells it: parts with another launch-index are
	// dropped.
	LaunchIndex *int
	// InstanceData are the variables of jinja templates ("v1.instance_id"). Without it templates that use any cannot be
	// predicted.
	InstanceData map[string]string
	// Users and Groups that exist on the image besides those that Debian always has.
	Users, Groups []string
	// OfflineSources means that no source: of write_files can be fetched.
	OfflineSources bool
}

// At is a place in the contents of a part. Part counts the parts that were given to ReadParts, from 0; -1 is none of
// them: kops' own part, or no place that could be named. Line and Col count from 1, Col in characters; 0 is unknown.
type At struct {
	Part int `json:"part"`
	Line int `json:"line,omitempty"`
	Col  int `json:"col,omitempty"`
}

// LossKind says in which way something is lost or changed.
type LossKind string

const (
	LostAll       LossKind = "all"         // cloud-init stops: nothing of the user data takes effect, nodeup.sh neither
	LostInit      LossKind = "init"        // cloud-init's init stage fails: no bootcmd, no write_files
	LostPart      LossKind = "part"        // a whole part
	LostMerge     LossKind = "merge"       // configuration that another part replaces, or that does not replace another part's
	LostKey       LossKind = "key"         // a key that is written twice in one mapping
	LostEntry     LossKind = "entry"       // an entry of write_files
	LostCommands  LossKind = "commands"    // all of bootcmd or runcmd, wherever it came from
	Overwritten   LossKind = "overwritten" // a script that another of the same name replaces
	CannotRun     LossKind = "cannot-run"  // a script that the kernel refuses to run
	Cut           LossKind = "cut"         // the end of a part
	Changed       LossKind = "changed"     // bytes that arrive as others
	Unpredictable LossKind = "unknown"     // what the node decides: includes, part handlers, templates
)

// Loss is something that does not arrive on the node as it was written.
type Loss struct {
	Kind LossKind `json:"kind"`
	Name string   `json:"name"`           // of the part it was in
	Path string   `json:"path,omitempty"` // in the configuration: "write_files[2]"
	What string   `json:"what"`           // what is lost: "bootcmd (3 items)"
	Why  string   `json:"why"`
	At
	// By is the place that is to blame, if it is another one; its Part is -1 if there is none.
	By At `json:"by"`
	// User or Group is what an entry of write_files lacks: the image may have it. See Options.
	User  string `json:"-"`
	Group string `json:"-"`
}

// Stage of a boot in which something runs.
type Stage string

// The stages that matter, in their order. Boothooks and everything of Init run before the network is waited for by
// ordinary units; Final runs when multi-user.target is up.
const (
	Init   Stage = "init"
	Config Stage = "config"
	Final  Stage = "final"
)

// Run is one thing that cloud-init does, in the order in which it does them.
type Run struct {
	Stage Stage `json:"stage"`
	// What does it: "boothook", "bootcmd", "write_files", "write_files_deferred", "runcmd" (writing the script), "packages",
	// "script" (user scripts, runcmd and nodeup.sh among them), "script-per-boot", "script-per-instance", "script-per-once",
	// or the name of another module that the configuration addresses.
	What      string `json:"what"`
	Name      string `json:"name"` // script's or file's name, or keys
	EveryBoot bool   `json:"everyBoot,omitempty"`
	// Content of the script or file. For bootcmd and runcmd it is the script that their items become.
	Content string `json:"-"`
	// Items of bootcmd, runcmd and packages, in order, and where each comes from.
	Items []Item `json:"items,omitempty"`
	File  *File  `json:"file,omitempty"` // of write_files
	At
}

// Item is one command or package.
type Item struct {
	Text string `json:"text"`
	At
}

// File is what write_files makes.
type File struct {
	Path   string `json:"path"`
	Mode   uint32 `json:"mode"`
	User   string `json:"user,omitempty"` // empty: not changed
	Group  string `json:"group,omitempty"`
	Append bool   `json:"append,omitempty"`
	URL    string `json:"url,omitempty"` // fetched on the node; Content is what it falls back to
}

// Fate is what became of one MIME part.
type Fate struct {
	At
	Name      string // as the message has it
	Declared  string // content type as declared
	Type      string // as cloud-init takes it
	File      string // cleaned name, of scripts and boothooks
	Lost      bool   // all of it
	Unhandled bool   // no handler sees it: other parts are made of it (an archive, an include), or it is for another instance
	Config    *pyyaml.Value
}

// Result is what the node sees.
type Result struct {
	Version Version
	// Config is the effective cloud-config of the user data: what cloud-init writes to cloud-config.txt. It is a Dict.
	Config *pyyaml.Value
	// Effective is Config merged with the image's own.
	Effective *pyyaml.Value
	Parts     []Fate
	Runs      []Run
	Lost      []Loss

	reader *reader
}

// Fatal returns the loss that takes all of the user data with it, or nil.
func (r *Result) Fatal() *Loss {
	for i := range r.Lost {
		if r.Lost[i].Kind == LostAll {
			return &r.Lost[i]
		}
	}
	return nil
}

// At returns where a value of Config or Effective was written.
func (r *Result) At(v *pyyaml.Value) At { return r.reader.locate(v) }

// Inside returns where a line and column of the text of a string in Config or Effective was written, as near as that can
// be told.
func (r *Result) Inside(v *pyyaml.Value, line, col int) At {
	return r.reader.locateInner(&inner{v.Part, v}, line, col)
}

// Read says what cloud-init makes of user data. Positions are those of the message itself, as part 0.
func Read(data []byte, opts Options) *Result {
	return read(data, []span{{0, len(data)}}, opts)
}

// ReadParts says what cloud-init makes of an instance group's additionalUserData behind kops' bootstrap script. role is
// the instance group's; nodeup is the script, or nil for a stand-in.
func ReadParts(nodeup []byte, role string, parts []Part, opts Options) *Result {
	if nodeup == nil {
		nodeup = []byte("#!/bin/bash\n")
	}
	data := Message(nodeup, role, parts)
	r := read(data, partSpans(data, len(nodeup), role, parts), opts)
	r.cuts(parts)
	return r
}

// cuts tells of lines of parts that are a boundary to whoever reads the message.
func (r *Result) cuts(parts []Part) {
	for i, p := range parts {
		for n, l := range strings.Split(p.Content, "\n") {
			if !strings.HasPrefix(l, "--"+Boundary) {
				continue
			}
			if sep, _ := matchBoundary(l, "--"+Boundary); sep {
				r.Lost = append(r.Lost, Loss{Kind: Cut, Name: p.Name, What: "the part", At: At{i, n + 1, 1}, By: At{Part: -1},
					Why: "this line is the boundary that kops puts between parts, so the part ends before it"})
			}
		}
	}
}

// span is a range of bytes of the message.
type span struct{ start, end int }

// partSpans finds where Message put the contents of each part.
func partSpans(data []byte, nodeup int, role string, parts []Part) []span {
	spans := make([]span, len(parts))
	at := 0
	skip := func(content int) span {
		at += bytes.Index(data[at:], []byte("Mime-Version: 1.0\r\n\r\n")) + len("Mime-Version: 1.0\r\n\r\n")
		s := span{at, at + content}
		at = s.end
		return s
	}
	if len(parts) > 0 && role != "Bastion" {
		skip(nodeup)
	}
	for i, p := range parts {
		spans[i] = skip(len(p.Content))
	}
	return spans
}

// reader carries what reading one message needs.
type reader struct {
	Options
	data     string
	spans    []span
	places   *places // of data, once they are asked for
	attached []*message
	texts    []*source
	loaded   map[*message]loaded
	scripts  map[string]map[string]script
	result   *Result

	runcmdItems []Item
	told        map[*pyyaml.Value]bool // values that a loss of the merge covers
	fs          *files

	entryNumbers map[*pyyaml.Value]int // of write_files, once they are asked for
	noInit       bool                  // the init stage has failed
	filesStop    [2]bool               // write_files stopped at a failing entry, and write_files_deferred did
	accounts     *accounts
}

func read(data []byte, spans []span, opts Options) (result *Result) {
	opts.Version = opts.Version.complete()
	opts.Base = deepCopy(opts.Base)
	mark(opts.Base, -1, map[*pyyaml.Value]bool{})
	r := &reader{Options: opts, data: string(data), spans: spans, loaded: map[*message]loaded{}, accounts: newAccounts(opts.Users, opts.Groups)}
	empty := &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	result = &Result{Version: opts.Version, Config: empty, Effective: empty, reader: r}
	r.result = result
	defer func() {
		switch e := recover().(type) {
		case nil:
		case Loss:
			r.stop(e)
		default:
			panic(e)
		}
	}()
	r.process(r.convert(data))
	r.store()
	r.handle()
	r.run()
	return result
}

// fatal ends the reading: cloud-init dies with an exception here.
func (r *reader) fatal(m *message, format string, args ...any) {
	l := Loss{Kind: LostAll, What: "all of the user data", Why: fmt.Sprintf(format, args...), At: At{Part: -1}, By: At{Part: -1}}
	if m != nil {
		l.Name, l.At = m.filename(), r.start(m)
	}
	panic(l)
}

// stop forgets what was found before cloud-init died: none of it takes effect, but for boothooks that have run.
func (r *reader) stop(l Loss) {
	empty := &pyyaml.Value{Kind: pyyaml.Dict, Part: -1}
	r.result.Config, r.result.Effective = empty, empty
	r.lose(l)
}

// lose records a loss.
func (r *reader) lose(l Loss) {
	if l.By == (At{}) {
		l.By = At{Part: -1}
	}
	r.result.Lost = append(r.result.Lost, l)
}
