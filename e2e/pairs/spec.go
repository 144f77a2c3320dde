package pairs

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// What hooks place and say.
const (
	Env  = `a $HOME 'b' "c" %n` // of the variable PAIR
	Port = 8099                 // where the node serves Blob
	Blob = "downloaded\n\x00\xff"
)

// Texts of scripts; each says on the timeline that it ran.
const (
	Script = "#!/bin/sh\n/trial/bin/event \"$KOPSHOOK_HOOK${PAIR:+ $PAIR}\"\n"
	First  = "#!/bin/sh\n/trial/bin/event \"$KOPSHOOK_HOOK 1${PAIR:+ $PAIR}\"\n"
	Second = "#!/bin/bash\n/trial/bin/event \"$KOPSHOOK_HOOK 2\"\n"
	Verify = "/trial/bin/event \"$KOPSHOOK_HOOK verified\"\n"
)

// Name of the row's hook; i is its place among the rows.
func Name(i int) string { return fmt.Sprintf("h%02d", i) }

// Weight of that hook: names alone would order them.
func Weight(i int) int { return i*7%5 - 2 }

// Inline is what the hook's own file holds.
func Inline(name string) string { return "\tfile of " + name + "\n\n" }

// DropIn is what its drop-in holds.
func DropIn(name string) string { return "[Service]\nEnvironment=PAIR=" + name + "\n" }

// Sources returns the files beside the spec that hooks name as their source.
func Sources(rows []Row, first int) map[string]string {
	files := map[string]string{}
	for i, r := range rows {
		switch name := Name(first + i); r.Value("work") {
		case "source file":
			files[name+".sh"] = Script
		case "source folder":
			files[name+"/10 first"], files[name+"/20-second"] = First, Second
		}
	}
	return files
}

// Spec is a spec with a hook for each row; the first is called Name(first).
func Spec(name string, archive bool, rows []Row, first int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: %s}\nspec:\n  selector: {}\n  archive: %v\n  hooks:\n", name, archive)
	for i, r := range rows {
		r.write(&b, first+i)
	}
	return b.String()
}

func (r Row) write(b *strings.Builder, i int) {
	name := Name(i)
	line := func(factor, format string, args ...any) {
		if r.Value(factor) != "" {
			fmt.Fprintf(b, "    "+format+"\n", args...)
		}
	}
	fmt.Fprintf(b, "  - name: %s\n    phase: [%s]\n    weight: %d\n", name, r.Value("phase"), Weight(i))
	switch r.Value("work") {
	case "script":
		fmt.Fprintf(b, "    script: %q\n", Script)
	case "source file":
		fmt.Fprintf(b, "    source: ./%s.sh\n", name)
	case "source folder":
		fmt.Fprintf(b, "    source: ./%s\n", name)
	}
	line("verify", "verify: %q", Verify)
	line("env", "env: {PAIR: %q}", Env)
	line("run", "run: %s", r.Value("run"))
	line("onFailure", "onFailure: %s", r.Value("onFailure"))
	line("before", "before: [pairs-before@%s.service]", name)
	line("rebootExitCodes", "rebootExitCodes: [99]")
	line("cleanup", "cleanup: %s", r.Value("cleanup"))
	line("compress", "compress: %s", r.Value("compress"))
	line("dropIns", "dropIns: [{unit: pairs-%s.service, content: %q}]", name, DropIn(name))
	line("cloudConfig", "cloudConfig: {groups: [pairs-%s]}", name)
	line("files", "files:")
	if strings.Contains(r.Value("files"), "inline") {
		fmt.Fprintf(b, "    - {path: /srv/pairs/%s, content: %q, mode: \"0640\", owner: \"daemon:www-data\"}\n", name, Inline(name))
	}
	if strings.Contains(r.Value("files"), "url") {
		fmt.Fprintf(b, "    - {path: \"/srv/pairs/%s.url\", url: \"http://127.0.0.1:%d/blob\", sha256: %x, mode: \"0755\"}\n", name, Port, sha256.Sum256([]byte(Blob)))
	}
}
