package cloudinit

import (
	"fmt"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// shellify makes a shell script of bootcmd or runcmd (cloudinit/util.py:2208): a string is a line of shell, a list is a
// command whose words are quoted, null is nothing in newer versions. Anything else is an error, which loses all of the commands.
func (r *reader) shellify(commands *pyyaml.Value) (script string, items []Item, err error) {
	if !commands.IsSequence() {
		return "", nil, fmt.Errorf("it is %s, no list", commands.Kind.Noun())
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for i, c := range commands.Items {
		var text string
		switch {
		case c.IsSequence():
			words := make([]string, len(c.Items))
			for j, w := range c.Items {
				words[j] = "'" + strings.ReplaceAll(w.String(), "'", `'\''`) + "'"
			}
			text = strings.Join(words, " ")
		case c.IsString():
			text = c.Str
		case c.Kind == pyyaml.Null && r.Version.has(nullIsNoCommand):
			continue
		default:
			return "", nil, &itemError{fmt.Sprintf("item %d is %s, neither a string nor a list", i+1, c.Kind.Noun()), c}
		}
		b.WriteString(text)
		b.WriteByte('\n')
		items = append(items, Item{Text: text, At: r.locate(c)})
	}
	return b.String(), items, nil
}

// itemError is an error about one value.
type itemError struct {
	msg string
	v   *pyyaml.Value
}

func (e *itemError) Error() string { return e.msg }
