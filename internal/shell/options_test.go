package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesOfOptionsAreNoArguments(t *testing.T) {
	for line, want := range map[string]struct{ options, arguments string }{
		"apt-get -o A=1 -y install x":                   {"-o -y", "install x"},
		"apt-get -yo A=1 -oDpkg::Use-Pty=0 install x":   {"-yo -o", "install x"},
		"apt-get --option A=1 --option=B=2 -q=2 update": {"--option --option=B=2 -q=2", "update"},
		"apt -t stable -c /x.conf install -- -x":        {"-t -c", "install -x"},
		"systemctl -q start x":                          {"-q", "start x"},
		"apt-get -o":                                    {"-o", ""},
		"tar -":                                         {"-", ""},
	} {
		c := &Command{Words: strings.Fields(line)}
		options, arguments := c.Options()
		if diff := cmp.Diff([]string{want.options, want.arguments}, []string{strings.Join(options, " "), strings.Join(arguments, " ")}); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
