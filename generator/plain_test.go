package generator

import (
	"strings"
	"testing"
)

// What cannot be read stays as it is.
func TestPlainLeavesWhatItCannotRead(t *testing.T) {
	const head = "#cloud-config\nwrite_files:\n- path: /a\n"
	archive := mustGenerate(t, gpuGroup, archived(allKinds(t))...)[1]
	bucket := mustGenerate(t, gpuGroup, inBucket(allKinds(t))...)[1]
	damaged := func(p UserData) string {
		at := strings.LastIndex(p.Content, "\n.\n") - 40
		return p.Content[:at] + "!" + p.Content[at+1:]
	}
	for name, p := range map[string]UserData{
		"no base64":                 {"x", cloudConfig, head + "  encoding: b64\n  content: |\n    !!!!\n"},
		"no gzip":                   {"x", cloudConfig, head + "  encoding: gz+b64\n  content: |\n    aGk=\n"},
		"no encoding that we write": {"x", cloudConfig, head + "  encoding: base64\n  content: |\n    aGk=\n"},
		"an encoding at the end":    {"x", cloudConfig, head + "  encoding: b64"},
		"another form":              {"x", cloudConfig, head + "  encoding: b64\n  content: aGk=\n"},
		"another part":              {"x", "text/x-shellscript", "#!/bin/sh\ncat << .\n  encoding: b64\n  content: |\n    aGk=\n.\n"},
		"a damaged archive":         {archive.Name, archive.Type, damaged(archive)},
		"an archive that is cut":    {archive.Name, archive.Type, archive.Content[:strings.LastIndex(archive.Content, "\n.\n")]},
		"a damaged reader":          {bucket.Name, bucket.Type, damaged(bucket)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Plain(p); got != p.Content {
				t.Errorf("it becomes\n%s", got)
			}
		})
	}
	if got, want := Plain(UserData{"x", cloudConfig, head + "  encoding: b64\n  content: |\n    aGk="}), head+"  encoding: b64\n  content: |-\n    hi\n"; got != want {
		t.Errorf("without a last line feed it becomes\n%s", got)
	}
}
