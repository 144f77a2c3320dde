package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/nodestatus"
)

var began = time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)

func status(hook string, state nodestatus.State, reason string) nodestatus.Status {
	return nodestatus.Status{Hook: hook, Phase: "pre-nodeup", State: state, Reason: reason, Attempts: 1, StartedAt: began,
		UpdatedAt: began, InstanceID: "i-1", Hash: "abc"}
}

// line is what the runner of runtime v1 writes.
func line(s nodestatus.Status) string {
	return fmt.Sprintf(`kopshook: {"hook":"%s","phase":"%s","state":"%s","reason":"%s","attempts":%d,"exitCode":0,"startedAt":"2026-11-22T04:00:00Z","updatedAt":"2026-11-22T04:00:00Z","instanceID":"%s","hash":"%s"}`,
		s.Hook, s.Phase, s.State, s.Reason, s.Attempts, s.InstanceID, s.Hash)
}

func TestParse(t *testing.T) {
	driver := status("driver", nodestatus.Failed, "script: exit status 3")
	running := status("driver", nodestatus.Running, "")
	agent := status("agent", nodestatus.Succeeded, "")
	other := agent
	other.InstanceID = "i-2"
	text := line(driver)
	half := len(text) / 2
	one := func(hooks ...nodestatus.Status) *Console { return &Console{Boots: []Boot{{Hooks: hooks}}} }
	gate := `kopshook: {"part":"gate","state":"failed","reason":"see cloud-init-output.log"}`
	kernel := "[    0.000000] Linux version 6.12.48 (gcc)\n"
	tests := map[string]struct {
		text string
		want *Console
	}{
		"nothing":                           {"", &Console{}},
		"nothing of ours":                   {"[    1.0] usb\r\nlogin: ", &Console{}},
		"the last state of a hook counts":   {line(running) + "\n" + line(agent) + "\n" + line(driver) + "\n", one(driver, agent)},
		"carriage returns":                  {line(agent) + "\r\n" + line(driver) + "\r\r\n", one(agent, driver)},
		"colors":                            {"\x1b[0;32m  OK  \x1b[0m " + line(agent) + "\x1b[0m\n", one(agent)},
		"a color with colons in it":         {strings.Replace(text, "failed", "fai\x1b[0;1;38:5:185mled", 1) + "\n", one(driver)},
		"a title for the terminal":          {"\x1b]0;boot\x07" + line(agent) + "\n", one(agent)},
		"text before it in its line":        {"[  OK  ] Started ssh" + line(agent) + "\n", one(agent)},
		"two in one line":                   {line(agent) + line(driver) + "\n", one(agent, driver)},
		"a kernel message behind it":        {line(agent) + "[   12.345678] usb 1-1: new device\n", one(agent)},
		"a kernel message in it":            {text[:half] + "[   12.345678] usb 1-1: new device\r\n" + text[half:] + "\n", one(driver)},
		"a kernel message in front of rest": {text[:half] + "[   12.345678] one\n[   12.345679][    T1] two\n" + text[half:] + "\n", one(driver)},
		"cut at the end of the console":     {line(agent) + "\n" + text[:half], one(agent, nodestatus.Status{Hook: "driver", Phase: "pre-nodeup", State: "failed", Reason: "script: exit status 3"})},
		"an archive's, cut": {`kopshook: {"hook": "archive", "phase": "pre-nodeup", "state": "failed", "reason": "AccessDenied, asked as no`,
			one(nodestatus.Status{Hook: "archive", Phase: "pre-nodeup", State: "failed", Reason: "AccessDenied, asked as no"})},
		"cut in the reason":    {text[:strings.Index(text, "exit")], one(nodestatus.Status{Hook: "driver", Phase: "pre-nodeup", State: "failed", Reason: "script: "})},
		"cut before the state": {text[:25] + "\n" + line(agent) + "\n", &Console{Boots: []Boot{{Hooks: []nodestatus.Status{agent}}}, Cut: 1}},
		"cut at the beginning": {text[half:] + "\n" + line(agent) + "\n", one(agent)},
		"two boots": {kernel + line(driver) + "\n" + kernel + line(agent) + "\n",
			&Console{Boots: []Boot{{Hooks: []nodestatus.Status{driver}}, {Hooks: []nodestatus.Status{agent}}}}},
		"a boot without anything of ours is not one": {kernel + "login:\n" + kernel + line(agent) + "\n", one(agent)},
		"two boots of a container": {"systemd 257.8-1 running in system mode (+PAM)\n" + line(driver) + "\nsystemd 257.8-1 running in system mode (+PAM)\n" + line(agent) + "\n",
			&Console{Boots: []Boot{{Hooks: []nodestatus.Status{driver}}, {Hooks: []nodestatus.Status{agent}}}}},
		"another instance is another boot": {line(driver) + "\n" + line(other) + "\n",
			&Console{Boots: []Boot{{Hooks: []nodestatus.Status{driver}}, {Hooks: []nodestatus.Status{other}}}}},
		"the gate's word, once":         {gate + "\r\n" + gate + "\n", &Console{Boots: []Boot{{Messages: []string{"gate failed: see cloud-init-output.log"}}}}},
		"a sentence of somebody else's": {"kopshook: hello kopshook: \n", &Console{}},
		"an entry of a newer runtime":   {"kopshook: {\"color\":\"blue\"}\n", &Console{Cut: 1}},
		"not UTF-8":                     {"\xff\xfe" + line(agent) + "\n", one(agent)},
		"a state that is not known":     {strings.Replace(line(agent), "succeeded", "pondering", 1) + "\n", &Console{Cut: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Parse([]byte(tt.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyTheEndOfAHugeConsoleIsRead(t *testing.T) {
	text := line(status("old", nodestatus.Failed, "")) + "\n" + strings.Repeat("noise\n", Limit/6+1) + line(status("agent", nodestatus.Succeeded, "")) + "\n"
	c := Parse([]byte(text))
	if len(c.Boots) != 1 || len(c.Boots[0].Hooks) != 1 || c.Boots[0].Hooks[0].Hook != "agent" {
		t.Errorf("got %+v", c)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line(status("driver", nodestatus.Failed, "x")) + "\r\nkopshook: gate\n\x1b[0m"))
	f.Add([]byte(`kopshook: {"hook":"a","phase":"b","sta[   1.000000] x` + "\n" + `te":"failed"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Parse(text)
		for _, b := range c.Boots {
			if len(b.Hooks)+len(b.Messages) == 0 {
				t.Error("a boot that wrote nothing")
			}
			for _, s := range b.Hooks {
				if s.Hook == "" || s.State == "" {
					t.Errorf("%+v", s)
				}
			}
		}
	})
}

// TestHostileConsolesTakeNoTime: what a machine writes is anybody's; the time to read it grows with its length alone.
func TestHostileConsolesTakeNoTime(t *testing.T) {
	var hooks, messages strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&hooks, "%s{\"hook\":\"h%d\",\"state\":\"failed\"}\n", Mark, i)
		fmt.Fprintf(&messages, "%s{\"part\":\"p%d\",\"state\":\"failed\"}\n", Mark, i)
	}
	for name, piece := range map[string]string{
		"another hook in each line":    hooks.String(),
		"another message in each line": messages.String(),
		"marks in one line":            Mark + "{",
		"open strings, one line":       Mark + `{"hook":`,
		"lines of a torn entry":        "\n" + Mark + "{\"hook\":\"" + strings.Repeat("\n", joined/2) + strings.Repeat("x", 1<<10),
		"kernel messages":              Mark + "{[   12.345678] ",
	} {
		text := []byte(strings.Repeat(piece, max(1, 1<<20/len(piece))))
		began := time.Now()
		Parse(text)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %s for %d bytes", name, took, len(text))
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}
