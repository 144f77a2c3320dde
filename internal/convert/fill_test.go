package convert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Templates are somebody else's programs: they come to an end, within little memory.
func TestTemplatesAreBounded(t *testing.T) {
	twice := ""
	for i := range 40 {
		twice += fmt.Sprintf(`{{define "t%d"}}{{template "t%d"}}{{template "t%d"}}{{end}}`, i, i+1, i+1)
	}
	grow := func(how string) string { return `{{$x := "a&"}}{{range 99}}{{$x = ` + how + `}}{{end}}{{$x}}` }
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"a loop that prints":              {`{{range 99999999999}}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{end}}`, errLong},
		"a loop that does nothing":        {`{{range 99999999999}}{{end}}`, errEndless},
		"loops in loops":                  {`{{range 9999}}{{range 9999}}{{if true}}{{with 1}}{{range 999999}}{{end}}{{end}}{{end}}{{end}}{{end}}`, errEndless},
		"a loop behind else":              {`{{if false}}{{else}}{{range 99999999}}{{else}}{{end}}{{end}}`, errEndless},
		"templates that call others":      {twice + `{{define "t40"}}{{end}}{{template "t0"}}`, errEndless},
		"one that calls itself":           {`{{define "t"}}{{template "t"}}{{end}}{{template "t"}}`, errEndless},
		"print":                           {grow(`print $x $x`), errLong},
		"printf":                          {grow(`printf "%s%s" $x $x`), errLong},
		"replace":                         {grow(`replace "a" (replace "&" "aa&" $x) $x`), errLong},
		"replace of nothing":              {grow(`replace "" $x $x`), errLong},
		"html":                            {grow(`html $x $x`), errLong},
		"b64enc":                          {grow(`b64enc $x`), errLong},
		"quote":                           {grow(`quote (quote $x)`), errLong},
		"indent":                          {grow(`nindent 99 (print $x $x)`), errLong},
		"js and urlquery":                 {grow(`js $x $x | urlquery`), errLong},
		"toYaml":                          {grow(`toYaml (print $x $x)`), errLong},
		"upper, which makes nothing more": {`{{$x := printf "%999d" 1}}{{range 90000}}{{$y := upper $x}}{{end}}`, errLong},
		"just enough":                     {`{{range 99998}}x{{end}}`, nil},
		"one step too many":               {`{{range 100000}}x{{end}}`, errEndless},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := fill(c.text, nil)
			if !errors.Is(err, c.want) || len(out) > maxText {
				t.Errorf("%v, %d bytes", err, len(out))
			}
		})
	}
	for _, format := range []string{`%01000d`, `%.9999f`, `%*d`, `%[1]s`, `%-+ #.12345d`} {
		if _, err := fill(`{{printf "`+format+`" 1}}`, nil); err == nil || !strings.HasSuffix(err.Error(), "printf with such a format") {
			t.Errorf("%s: %v", format, err)
		}
	}
	if out, err := fill(`{{printf "%-5s|%5.1f|%d%%|%v" "a" 1.25 100 nil | quote}}{{html "<" | upper}}`, nil); err != nil || string(out) != `"a    |  1.2|100%|<nil>"&LT;` {
		t.Errorf("%q, %v", out, err)
	}
}
