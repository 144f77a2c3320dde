package shell

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writes lists what a script writes: "PATH <line> text" or "PATH <line>+ text" where it is appended.
func writes(s *Script) []string {
	var all []string
	for _, c := range s.Commands {
		for _, w := range c.Writes {
			plus := ""
			if w.Append {
				plus = "+"
			}
			all = append(all, fmt.Sprintf("%s %d%s %s", w.Path, w.LineOf(1), plus, w.Text))
		}
	}
	return all
}

func TestWhatCommandsWrite(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"echo", "true\necho '[Service]' > /a\necho -n x >> /a", []string{"/a 2 [Service]\n", "/a 3+ x"}},
		{"echo without quotes", "echo ExecStart=/bin/sh -c x >>/a", []string{"/a 1+ ExecStart=/bin/sh -c x\n"}},
		{"echo -e", `echo -e "[Unit]\nAfter=x" > /a`, []string{"/a 1 [Unit]\nAfter=x\n"}},
		{"echo of several lines", "echo '[Unit]\nAfter=x' > /a", []string{"/a 1 [Unit]\nAfter=x\n"}},
		{"printf", `printf '%s\n' '[Unit]' After=x > /a; printf '100%%\n' >> /b`, []string{"/a 1 [Unit]\nAfter=x\n", "/b 1+ 100%\n"}},
		{"printf without a format's arguments", `printf '[Unit]\nAfter=%s\n' x >| /a`, []string{"/a 1 [Unit]\nAfter=x\n"}},
		{"tee", "echo x | sudo tee -a /a > /dev/null\necho y | tee /b", []string{"/a 1+ x\n", "/b 2 y\n"}},
		{"here-documents", "cat <<'E' > /a\nx\nE\ncat >> /b <<-E\n\ty\n\tE\nsudo tee /c <<E\nz\nE\ncat <<E | tee -a /d\nq\nE", []string{"/a 2 x\n", "/b 5+ y\n", "/c 8 z\n", "/d 11+ q\n"}},
		{"a block", "{\necho a\necho b\n} > /a\n( echo c; echo d >/b ) >> /a", []string{"/a 1 ", "/a 2+ a\n", "/a 3+ b\n", "/a 5+ c\n", "/b 5 d\n"}},
		{"a block into tee", "{ echo a; echo b; } | tee /a", []string{"/a 1 ", "/a 1+ a\n", "/a 1+ b\n"}},
		{"a path in a variable", "D=/etc/x\nexport F=$D/y.conf\necho a > \"$F\"\necho b > ${Q}/z", []string{"/etc/x/y.conf 3 a\n", "$Q/z 4 b\n"}},
		{"a variable of two values", "F=/a\nF=/b\necho a > $F", []string{"$F 3 a\n"}},
		{"sh -c", "true\nsh -c 'echo a > /a'", []string{"/a 2 a\n"}},
		{"not the output", "echo a 2> /a\necho b | grep b > /b\ncat /x > /c", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Parse("#!/bin/bash\n" + c.script)
			if s.Err != nil {
				t.Fatal(s.Err)
			}
			for i := range c.want { // lines count from behind the first one
				var path string
				var line int
				fmt.Sscanf(c.want[i], "%s %d", &path, &line)
				c.want[i] = fmt.Sprintf("%s %d%s", path, line+1, c.want[i][len(path)+1+len(fmt.Sprint(line)):])
			}
			if diff := cmp.Diff(c.want, writes(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnitsThatCommandsWaitFor(t *testing.T) {
	for _, c := range []struct {
		script string
		want   []string
	}{
		{"systemctl restart kubelet", []string{"kubelet.service"}},
		{"sudo systemctl -q reload-or-restart a.service b.timer", []string{"a.service", "b.timer"}},
		{"systemctl try-restart x", []string{"x.service"}},
		{"systemctl enable --now x", []string{"x.service"}},
		{"service x restart", []string{"x.service"}},
		{"systemctl restart --no-block x", nil},
		{"systemctl enable x", nil},
		{"systemctl is-active x", nil},
		{"systemctl stop x", nil},
		{"systemctl reload x", nil},
		{"service x status", nil},
		{"systemctl", nil},
		{"service --status-all", nil},
	} {
		if diff := cmp.Diff(c.want, Parse(c.script).Commands[0].Starts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.script, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"#!/bin/bash\necho x >> /a\n", "cat <<-E | tee /x\n\ta\n\tE\n", "printf '%s%%' a b > \"$F\"", "sh -c 'sh -c \"echo x\"'", "{ echo; } > a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Parse(text)
		for i := range s.Commands {
			c := &s.Commands[i]
			if len(c.Words) == 0 || c.Line < 1 || c.Col < 1 {
				t.Errorf("a command without words or place: %+v", *c)
			}
			for _, w := range c.Writes {
				if w.LineOf(1) < 1 {
					t.Errorf("a write without a line: %+v", w)
				}
			}
		}
		if line, col, msg := s.SyntaxError(); msg != "" && (line < 1 || col < 1) {
			t.Errorf("an error at %d:%d", line, col)
		}
		ParseWords([]string{"sh", "-c", text})
	})
}
