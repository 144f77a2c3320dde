package nodestatus

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/hookspec"
)

const file = `{"hook":"nvidia-driver","phase":"pre-nodeup","state":"failed","reason":"script script: exit status 100","attempts":3,"exitCode":100,"startedAt":"2026-05-04T09:12:31Z","updatedAt":"2026-05-04T09:13:12Z","instanceID":"i-0123456789abcdef0","hash":"9b74c98"}
`

func TestParse(t *testing.T) {
	want := Status{
		Hook: "nvidia-driver", Phase: "pre-nodeup", State: Failed, Reason: "script script: exit status 100", Attempts: 3, ExitCode: 100,
		StartedAt: time.Date(2026, 5, 4, 9, 12, 31, 0, time.UTC), UpdatedAt: time.Date(2026, 5, 4, 9, 13, 12, 0, time.UTC),
		InstanceID: "i-0123456789abcdef0", Hash: "9b74c98",
	}
	got, err := Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := Parse([]byte(strings.Replace(file, `"hash"`, `"isNew":[1],"hash"`, 1))); err != nil {
		t.Errorf("a field of a later runtime: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"an empty file", " \n", "the file is empty"},
		{"half a file", file[:40], "it ends in the middle"},
		{"two files in one", file + file, "something behind it"},
		{"no JSON", "state: failed\n", "not a status file"},
		{"a list", "[]", "not a status file"},
		{"another program's file", `{"state":"failed"}`, `no "hook"`},
		{"no state", `{"hook":"a"}`, `no "state"`},
		{"a state of the future", `{"hook":"a","state":"paused"}`, `state "paused" of hook a is not known`},
		{"a bad time", `{"hook":"a","state":"failed","startedAt":"yesterday"}`, "not a status file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.data))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestSortIsTheOrderOfTheNode(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	list := []Status{
		{Hook: "z", Phase: "of the future", StartedAt: at(0)},
		{Hook: "label", Phase: "post-kubelet", StartedAt: at(9)},
		{Hook: "b", Phase: "pre-nodeup", StartedAt: at(2)},
		{Hook: "agent", Phase: "pre-kubelet", StartedAt: at(1)},
		{Hook: "a", Phase: "pre-nodeup", StartedAt: at(2)},
		{Hook: "c", Phase: "pre-nodeup", StartedAt: at(1)},
	}
	Sort(list)
	var got []string
	for _, s := range list {
		got = append(got, s.Hook)
	}
	if diff := cmp.Diff([]string{"c", "a", "b", "agent", "label", "z"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPhasesAreInTheOrderOfSpecs(t *testing.T) {
	var want []string
	for _, p := range hookspec.Phases {
		if p != hookspec.Boot { // has no status
			want = append(want, string(p))
		}
	}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("(-specs +status)\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte(`{"hook":"a","state":"running"}{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Parse(data); err == nil && (s.Hook == "" || s.State == "") {
			t.Errorf("%q is read as %+v", data, s)
		}
	})
}
