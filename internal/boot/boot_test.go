package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseEntry(t *testing.T) {
	tests := []struct {
		name, line string
		want       Event
		drop       bool
	}{
		{"a unit starts", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":"Starting x","MESSAGE_ID":"7d4958e842da4a758f6c1cdc7b36dcc5","UNIT":"kubelet.service"}`,
			Event{Name: "starting kubelet.service", Unit: "kubelet.service"}, false},
		{"an assertion fails", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":"Assertion failed for x","MESSAGE_ID":"be02cf6855d2428ba40df7e9d022f03d","UNIT":"kubelet.service","JOB_RESULT":"assert","JOB_TYPE":"start"}`,
			Event{Name: "refused kubelet.service", Unit: "kubelet.service"}, false},
		{"a unit fails, whichever it is", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":"x: Failed","MESSAGE_ID":"d9b373ed55a64feb8242e02dbe79a49c","UNIT":"x.service","UNIT_RESULT":"timeout"}`,
			Event{Name: "failed x.service", Unit: "x.service", Text: "timeout"}, false},
		{"the failed job of a failed unit says nothing more", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":"Failed to start x","MESSAGE_ID":"be02cf6855d2428ba40df7e9d022f03d","UNIT":"x.service","JOB_RESULT":"failed"}`,
			Event{}, true},
		{"other units start", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":"Starting x","MESSAGE_ID":"7d4958e842da4a758f6c1cdc7b36dcc5","UNIT":"dbus.service"}`,
			Event{}, true},
		{"a hook prints", `{"__REALTIME_TIMESTAMP":"9","_SOURCE_REALTIME_TIMESTAMP":"1000001","MESSAGE":"hello","SYSLOG_IDENTIFIER":"run","_SYSTEMD_UNIT":"kopshook-a.service"}`,
			Event{Name: "log", Unit: "kopshook-a.service", Text: "hello"}, false},
		{"a hook prints bytes", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":[104,105,255],"_SYSTEMD_UNIT":"kopshook-a.service"}`,
			Event{Name: "log", Unit: "kopshook-a.service", Text: "hi\uFFFD"}, false},
		{"a message that is too long is null", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":null,"_SYSTEMD_UNIT":"kopshook-a.service"}`,
			Event{Name: "log", Unit: "kopshook-a.service"}, false},
		{"systemd breaks an ordering cycle", `{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":"x.target: Found ordering cycle on y.service/start","UNIT":"x.target","SYSLOG_IDENTIFIER":"systemd"}`,
			Event{Name: "ordering cycle", Unit: "x.target", Text: "x.target: Found ordering cycle on y.service/start"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok, err := parseEntry([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			if ok == test.drop {
				t.Fatalf("an event: %v, want %v", ok, !test.drop)
			}
			if diff := cmp.Diff(test.want, got.Event); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if ok && got.time.UnixMicro() != 1000001 {
				t.Errorf("time is %v", got.time)
			}
		})
	}
}

func TestParseEvent(t *testing.T) {
	for _, bad := range []string{"", "1", "1.000001", "1 x", "1.1 x", "a.000001 x", "1.00000a x"} {
		if e, err := parseEvent(bad); err == nil {
			t.Errorf("%q is read as %v", bad, e)
		}
	}
	e, err := parseEvent("12.000034 nodeup-start again\r")
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Unix(12, 34000); !e.time.Equal(want) || e.Name != "nodeup-start again" {
		t.Errorf("got %v %q", e.time, e.Name)
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1000001","MESSAGE":[104,105,255],"_SYSTEMD_UNIT":"kopshook-a.service"}`))
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1","UNIT":"kubelet.service","MESSAGE_ID":"be02cf6855d2428ba40df7e9d022f03d","JOB_RESULT":"assert"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, ok, err := parseEntry(line); ok && (err != nil || e.Name == "") {
			t.Errorf("%q: %v, %v", line, e, err)
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	f.Add("12.000034 nodeup-start")
	f.Fuzz(func(t *testing.T, line string) {
		if e, err := parseEvent(line); err == nil && !strings.Contains(line, e.Name) {
			t.Errorf("%q: %v", line, e)
		}
	})
}

func TestTimeline(t *testing.T) {
	tl := Timeline{{At: 1, Name: "a"}, {At: 2, Name: "log", Unit: "kopshook-x.service", Text: "one"}, {At: 3, Name: "b"}, {At: 4, Name: "a"}}
	if got := tl.Count("a"); got != 2 {
		t.Errorf("a happened %d times", got)
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{{"a", "b", true}, {"b", "a", false}, {"a", "never", true}, {"never", "a", false}} {
		if got := tl.Before(test.a, test.b); got != test.want {
			t.Errorf("%s before %s: %v", test.a, test.b, got)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "a"}, tl.Only("a", "b", "c")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := tl.Log("kopshook-x.service"); got != "one\n" {
		t.Errorf("log is %q", got)
	}
}

func TestParseState(t *testing.T) {
	state := `outcome settled
job kubelet.service start waiting
job trial.service start running
failed b.service
failed a.service
virt systemd-nspawn
systemd 252
cloud-init 22.4.2-1
show Id=kubelet.service
show ActiveState=active
show 
show Id=kopshook-a.service
show ActiveState=failed
end
`
	want := Result{
		Outcome: Settled, Jobs: []string{"kubelet.service start waiting"}, Failed: []string{"a.service", "b.service"},
		Versions: map[string]string{"virt": "systemd-nspawn", "systemd": "252", "cloud-init": "22.4.2-1"},
		Units: map[string]map[string]string{
			"kubelet.service":    {"Id": "kubelet.service", "ActiveState": "active"},
			"kopshook-a.service": {"Id": "kopshook-a.service", "ActiveState": "failed"},
		},
	}
	var got Result
	got.parseState(state)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Result{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got = Result{}
	got.parseState(strings.TrimSuffix(state, "end\n")) // the power went meanwhile
	if got.Outcome != "" {
		t.Errorf("a report that is not whole is believed: %+v", got)
	}
}

// The streams are files that grow while they are read; events come in the order of their times, not of their files.
func TestStreamPutsEventsInOrder(t *testing.T) {
	dir := t.TempDir()
	var got []string
	s := &stream{dir: dir, seen: func(string) {}, emit: func(e Event) { got = append(got, e.Name) }}
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() { s.follow(ended); close(done) }()
	write := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("events", "3.000000 third\n1.000000 fi")
	write("journal", `{"__REALTIME_TIMESTAMP":"2000000","MESSAGE":"","MESSAGE_ID":"7d4958e842da4a758f6c1cdc7b36dcc5","UNIT":"kubelet.service"}`+"\n")
	write("events", "rst\n")
	close(ended)
	<-done
	if s.err != nil {
		t.Fatal(s.err)
	}
	if diff := cmp.Diff([]string{"first", "starting kubelet.service", "third"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTrustStandIn(t *testing.T) {
	got, err := trustStandIn([]byte("#!/bin/bash\nNODEUP_HASH_AMD64=00\nNODEUP_HASH_ARM64=\nNODEUP_HASH=kept\n"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(got), "\n")
	if len(lines[1]) != len("NODEUP_HASH_AMD64=")+64 || len(lines[2]) != len("NODEUP_HASH_ARM64=")+64 || lines[3] != "NODEUP_HASH=kept" {
		t.Errorf("got\n%s", got)
	}
}

func TestFindSuite(t *testing.T) {
	if s, err := FindSuite("bookworm"); err != nil || s.Title != "Debian 12" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := FindSuite("sid"); err == nil || !strings.Contains(err.Error(), "trixie, bookworm, bullseye, testing, noble") {
		t.Errorf("got %v", err)
	}
}

// What a root file system is made of decides where it is kept.
func TestRecipeHash(t *testing.T) {
	t.Setenv("KOPSHOOK_DEBIAN_MIRROR", "")
	plain := newRecipe(Suites[0], nil).hash()
	if again := newRecipe(Suites[0], []string{"curl"}).hash(); again != plain {
		t.Error("a package that is there anyway makes another root file system")
	}
	if more := newRecipe(Suites[0], []string{"jq"}).hash(); more == plain {
		t.Error("a further package makes the same root file system")
	}
	t.Setenv("KOPSHOOK_DEBIAN_MIRROR", "http://127.0.0.1/debian")
	if other := newRecipe(Suites[0], nil).hash(); other == plain {
		t.Error("another mirror makes the same root file system")
	}
}

func TestComplaints(t *testing.T) {
	log := "Cloud-init v. 25.1.4 running\nx[WARNING]: Failed to x\nall is well\n"
	if got, want := complaints(log), "x[WARNING]: Failed to x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := complaints("all is well\n"); got != "all is well\n" {
		t.Errorf("a log without complaints is %q", got)
	}
}
