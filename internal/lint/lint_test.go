package lint

import (
	"os"
	"testing"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/cloudinit"
)

func TestTmp(t *testing.T) {
	name := os.Getenv("IG")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := instancegroups.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.Groups() {
		var parts []cloudinit.Part
		for _, p := range g.UserData() {
			parts = append(parts, cloudinit.Part(p))
		}
		for _, f := range Check(&Group{Group: g, File: name, Source: data, Parts: parts}, Options{}) {
			t.Logf("%s: %s: %s [%s] %v\n   hint: %s", f.Position, f.Severity, f.Message, f.Code, f.Fix, f.Remedy)
		}
	}
}
