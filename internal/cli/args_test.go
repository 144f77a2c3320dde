package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

func TestOptionsFirst(t *testing.T) {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	for _, tt := range []struct{ name, in, want string }{
		{"options behind files come first", "merge ig.yaml -f hooks.yaml -w", "merge -f hooks.yaml -w ig.yaml"},
		{"a value with = is no argument of its own", "merge ig.yaml --file=hooks.yaml x.yaml", "merge --file=hooks.yaml ig.yaml x.yaml"},
		{"a lone dash is a file", "merge - -f hooks.yaml", "merge -f hooks.yaml -"},
		{"a lone dash may be a value", "merge ig.yaml -f -", "merge -f - ig.yaml"},
		{"combined short options", "merge ig.yaml -wf hooks.yaml", "merge -wf hooks.yaml ig.yaml"},
		{"what is behind -- stays", "merge a.yaml -w -- -f b.yaml", "merge -w a.yaml -- -f b.yaml"},
		{"-- right behind the options of exec stays", "exec -f a.yaml -- kops -f b.yaml", "exec -f a.yaml -- -- kops -f b.yaml"},
		{"an unknown option comes first, to be refused", "merge a.yaml --nosuch", "merge --nosuch a.yaml"},
		{"nothing for an option without its value to take", "merge a.yaml -w -f", "merge -w -f"},
		{"nor another option", "merge a.yaml -f -w b.yaml", "merge -f"},
		{"nor --", "merge a.yaml -f -- b.yaml", "merge -f"},
		{"a value may begin with a dash", "exec a.yaml --max-wait -5s", "exec --max-wait -5s a.yaml"},
		{"no command", "--help x", "--help x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := optionsFirst(app, strings.Fields("kopshook "+tt.in))
			if diff := cmp.Diff(strings.Fields("kopshook "+tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a variable that is not set leaves, and a second value, are refused by all commands, before they read anything.
func TestOptionsWithoutValueOrWithTwoAreRefused(t *testing.T) {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	options := 0
	for _, cmd := range app.Commands {
		for _, f := range cmd.Flags {
			if v, ok := f.(cli.DocGenerationFlag); !ok || !v.TakesValue() {
				continue
			}
			slice, ok := f.(cli.DocGenerationSliceFlag)
			repeats := ok && slice.IsSliceFlag()
			options++
			for _, name := range f.Names() {
				option := dashed(name)
				long := dashed(f.Names()[0])
				for _, tt := range []struct {
					args []string
					want string
				}{
					{[]string{option, ""}, long + " is empty"},
					{[]string{"x", option + "="}, long + " is empty"},
					{[]string{option, "a", "x", long, "b"}, long + " is given twice"},
					{[]string{"-", option + "=a", option + "=a"}, long + " is given twice"},
					{[]string{option, "a", "x", "--help", long, "b"}, ""},
					{[]string{option, "a", "--", long, "b"}, ""},
				} {
					want := tt.want
					if repeats && strings.HasSuffix(want, "twice") {
						want = ""
					}
					args := tt.args
					if cmd.Name == "exec" {
						args = append(args, "--", "kops")
					}
					got := ""
					if err := checkOptions(app, optionsFirst(app, append([]string{"kopshook", cmd.Name}, args...))); err != nil {
						got = err.Error()
					}
					if got != want {
						t.Errorf("kopshook %s %q: %q, want %q", cmd.Name, tt.args, got, want)
					}
				}
			}
		}
	}
	if options < 100 {
		t.Errorf("%d options with a value were looked at, there are more", options)
	}
}
