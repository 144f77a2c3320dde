package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/cloudinit"
)

// TestRemediesOfTypesAgree: what one rule says is to be declared, another one must not refuse.
func TestRemediesOfTypesAgree(t *testing.T) {
	const template = "## template: jinja\n#!/bin/sh\necho {{ v1.region }}\n"
	leave := "leave the type: kops takes no text/jinja2, and cloud-init finds it by the first line; or write out what it is to become"
	instead := "declare text/x-shellscript: kops takes no text/jinja2, and cloud-init finds it there by its first line"
	for _, c := range []struct {
		name, typ, content string
		want               []string
	}{
		{"a template of its own type", "text/jinja2", template, []string{"KH001 error: " + instead}},
		{"a template as a script", "text/x-shellscript", template, []string{"KH003 info: " + leave}},
		{"a template as a cloud-config", "text/cloud-config", "## template: jinja\n", []string{"KH003 error: " + instead}},
		{"a template that would be read as it is", "text/cloud-config", "## template: jinja\n#cloud-config\nlocale: '{{ v1.region }}'\n", []string{"KH003 error: " + instead}},
		{"a script as a cloud-config", "text/cloud-config", "#!/bin/sh\n", []string{"KH003 error: declare text/x-shellscript"}},
		{"a cloud-config as a script", "text/x-shellscript", "#cloud-config\nlocale: C\n", []string{"KH003 warning: declare the type that the content has"}},
		{"a type with a typo", "text/x-shelscript", "#!/bin/sh\n", []string{"KH001 error: did you mean text/x-shellscript?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := instancegroups.Parse("ig.yaml", []byte(manifestOf("")))
			if err != nil {
				t.Fatal(err)
			}
			g := &Group{Group: f.Groups()[0], File: "ig.yaml", Parts: []cloudinit.Part{{Name: "00-a", Type: c.typ, Content: c.content}}}
			var got []string
			for _, f := range Check(g, Options{}) {
				if f.Code == "KH001" || f.Code == "KH003" {
					got = append(got, f.Code+" "+f.Severity.String()+": "+f.Remedy)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
