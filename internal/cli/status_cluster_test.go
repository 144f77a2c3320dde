package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/machines"
	"kopshook.dev/kopshook/internal/nodestatus"
)

const clusterOnAWS = `apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata:
  name: main.example.com
spec:
  cloudProvider: aws
  subnets:
  - {name: a, zone: eu-central-1a, cidr: 10.0.0.0/24, type: Public}
`

// playedCluster is a cluster of three machines in a state store, in EC2 and, but for one that waits for its driver, in an
// API server. It sets all variables by which programs find those.
func playedCluster(t *testing.T, console string) (store string) {
	return playedClusterOf(t, func() string { return console })
}

// playedClusterOf is one whose console changes.
func playedClusterOf(t *testing.T, console func() string) (store string) {
	dir := t.TempDir()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	ec2 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") == "GetConsoleOutput" {
			fmt.Fprintf(w, "<r><output>%s</output></r>", base64.StdEncoding.EncodeToString([]byte(console())))
			return
		}
		io.WriteString(w, "<r><reservationSet><item><instancesSet>")
		for _, m := range [][3]string{{"i-0a", "gpu-a", "running"}, {"i-0b", "nodes", "running"}, {"i-0c", "nodes", "stopped"}} {
			fmt.Fprintf(w, "<item><instanceId>%s</instanceId><instanceState><name>%s</name></instanceState><launchTime>%s</launchTime>"+
				"<placement><availabilityZone>eu-central-1a</availabilityZone></placement><tagSet><item><key>kops.k8s.io/instancegroup</key><value>%s</value></item></tagSet></item>",
				m[0], m[2], time.Now().Add(-23*time.Minute).UTC().Format(time.RFC3339), m[1])
		}
		io.WriteString(w, "</instancesSet></item></reservationSet></r>")
	}))
	t.Cleanup(ec2.Close)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"items": []any{map[string]any{"metadata": map[string]any{"name": "ip-10-0-0-7"},
			"spec": map[string]any{"providerID": "aws:///eu-central-1a/i-0b"}}}})
	}))
	t.Cleanup(api.Close)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(kubeconfig, "apiVersion: v1\nkind: Config\ncurrent-context: other\ncontexts:\n- name: main.example.com\n  context: {cluster: c, user: u}\n"+
		"clusters:\n- name: c\n  cluster: {server: "+api.URL+"}\nusers:\n- name: u\n  user: {token: x}\n")
	write(filepath.Join(dir, "store", "main.example.com", "config"), clusterOnAWS)
	for name, value := range map[string]string{"HOME": dir, "KUBECONFIG": kubeconfig, "KOPS_STATE_STORE": "", "AWS_ENDPOINT_URL_EC2": ec2.URL,
		"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true", "NO_COLOR": "1"} {
		t.Setenv(name, value)
	}
	return "file://" + filepath.Join(dir, "store")
}

const failedDriver = `kopshook: {"hook":"driver","phase":"pre-nodeup","state":"failed","reason":"script: exit status 100","attempts":3,"exitCode":100,"startedAt":"2026-05-04T09:12:31Z","updatedAt":"2026-05-04T09:12:52Z","instanceID":"i-0a","hash":"9b74c98"}` + "\r\n"

func TestStatusOfAClusterNamesTheHookThatKeepsAMachineOut(t *testing.T) {
	store := playedCluster(t, failedDriver)
	for name, tt := range map[string]struct {
		args   []string
		code   int
		stdout string // a regular expression
		stderr string
	}{
		"text": {[]string{"--state", store}, 1,
			`^main.example.com: 1 of 3 machines are nodes\n\nINSTANCE +GROUP +AGE +HOOK +STATUS\ni-0a +gpu-a +23m +driver +failed after 3 attempts, \d+d\d+h ago: script: exit status 100\ni-0c +nodes +23m +a machine that is stopped\n$`, ""},
		"nodes too":                 {[]string{"--state", store, "--all"}, 1, `i-0b +nodes +23m +node ip-10-0-0-7, not ready\n`, ""},
		"a group without a failure": {[]string{"--state", store, "-g", "nodes"}, 0, `1 of 2 machines are nodes`, ""},
		"JSON":                      {[]string{"--state", store, "-o", "json"}, 1, `"verdict": "failed"`, ""},
		"no such cluster":           {[]string{"--state", store + "/x"}, 2, `^$`, `holds no cluster main.example.com\n.*hint: run kops get clusters`},
		"no state store":            {nil, 2, `^$`, `hint: use --state`},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Run(context.Background(), append([]string{"kopshook", "status", "--cluster", "main.example.com"}, tt.args...), strings.NewReader(""), &stdout, &stderr)
			if code != tt.code || !regexp.MustCompile(tt.stdout).MatchString(stdout.String()) || !regexp.MustCompile("(?s)"+tt.stderr).MatchString(stderr.String()) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, tt.code, stdout.String(), stderr.String())
			}
		})
	}
}

func TestStatusOfAClusterWithoutAnAPIServerReadsAllConsoles(t *testing.T) {
	store := playedCluster(t, failedDriver)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), []string{"kopshook", "status", "--cluster", "main.example.com", "--state", store}, strings.NewReader(""), &stdout, &stderr)
	if code != 1 || strings.Count(stdout.String(), "script: exit status 100") != 2 || !strings.Contains(stderr.String(), "warning: the API server does not answer") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout.String(), stderr.String())
	}
}

func TestWatchEndsWhenAllMachinesThatRunAreNodes(t *testing.T) {
	store := playedCluster(t, strings.Replace(failedDriver, "failed", "running", 1))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var stdout, stderr bytes.Buffer
	watched := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("gpu-a i-0a: driver running, attempt 3")) {
			stop()
		}
		return stdout.Write(p)
	})
	if code := Run(ctx, []string{"kopshook", "status", "--cluster", "main.example.com", "--state", store, "--watch"}, strings.NewReader(""), watched, &stderr); code != 130 {
		t.Errorf("exit code %d\n%s\n%s", code, stdout.String(), stderr.String())
	}
	if code := Run(context.Background(), []string{"kopshook", "status", "--cluster", "main.example.com", "--state", store, "--watch", "-g", "nodes"}, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, stdout.String(), stderr.String())
	}
}

// TestWatchTellsWhatHasChanged, and on a terminal draws over all rows that it took, also those of long lines.
func TestWatchTellsWhatHasChanged(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 22, 3, minute, 0, 0, time.UTC) }
	machine := func(id string, v machines.Verdict, hooks ...nodestatus.Status) machines.Finding {
		return machines.Finding{Machine: machines.Machine{ID: id, InstanceGroup: "nodes"}, Verdict: v, Hooks: hooks}
	}
	driver := nodestatus.Status{Hook: "driver", State: nodestatus.Running, Attempts: 1, StartedAt: at(0)}
	failed := driver
	failed.State, failed.Reason = nodestatus.Failed, "script: exit status 7"
	node := machine("i-b", machines.IsNode)
	node.Node = "n1"
	var b strings.Builder
	tell := tellChanges(&b)
	tell([]machines.Finding{machine("i-a", machines.Running, driver), machine("i-b", machines.Unknown)}, "the API server does not answer", at(1))
	tell([]machines.Finding{machine("i-a", machines.Running, driver), node}, "the API server does not answer", at(2))
	tell([]machines.Finding{machine("i-a", machines.Failed, failed), node}, "", at(3))
	tell([]machines.Finding{node}, "", at(4))
	want := `03:01:00Z the API server does not answer
03:01:00Z nodes i-a: driver running, attempt 1, for 60s
03:01:00Z nodes i-b: the console says nothing of hooks, or is still empty
03:02:00Z nodes i-b: is node n1
03:03:00Z nodes i-a: driver failed after 1 attempt: script: exit status 7
03:04:00Z i-a: is gone
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for text, want := range map[string]int{"": 0, "a\n": 1, "\n\n": 2, strings.Repeat("x", 80) + "\n": 1, strings.Repeat("é", 81) + "\nb\n": 3} {
		if got := rows(text, 80); got != want {
			t.Errorf("%q takes %d rows, want %d", text, got, want)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExecSaysWhyMachinesAreNotNodesWhenKopsGivesUp(t *testing.T) {
	console := ""
	store := playedClusterOf(t, func() string { return console })
	runningDriver := strings.Replace(failedDriver, "failed", "running", 1)
	dir := t.TempDir()
	kops := filepath.Join(dir, "kops")
	const script = "#!/bin/sh\ncase $1 in get) echo '{\"kind\": \"Cluster\", \"metadata\": {\"name\": \"main.example.com\"}}' ;; *) exit 3 ;; esac\n"
	if err := os.WriteFile(kops, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(dir, "hooks.yaml")
	if err := os.WriteFile(spec, []byte("apiVersion: kopshook.dev/v1alpha1\nkind: ClusterHooks\nmetadata: {name: x}\nspec:\n  selector: {}\n  hooks:\n"+
		"  - {name: note, on: before-delete, script: \"#!/bin/sh\\n\"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		console string
		command []string
		want    string // "" for nothing
	}{
		{failedDriver, []string{"validate", "cluster"}, "driver  failed after 3 attempts"},
		{failedDriver, []string{"rolling-update", "cluster", "--yes"}, "driver  failed after 3 attempts"},
		{failedDriver, []string{"delete", "instance", "i-0a", "--cloudonly", "--yes"}, "driver  failed after 3 attempts"},
		{failedDriver, []string{"export", "cluster"}, ""},
		{runningDriver, []string{"rolling-update", "cluster", "--yes"}, "nothing has failed: kops waited 15m, --validation-timeout makes it wait longer"},
		{runningDriver, []string{"rolling-update", "cluster", "--yes", "--validation-timeout", "40m"}, "nothing has failed: kops waited 40m, --validation-timeout makes"},
		{runningDriver, []string{"validate", "cluster", "--wait=10m"}, "nothing has failed: kops waited 10m, --wait makes"},
	} {
		var stdout, stderr bytes.Buffer
		console = tt.console
		args := append([]string{"kopshook", "exec", "--work-dir", dir, spec, "--", kops}, tt.command...)
		code := Run(context.Background(), append(args, "--name", "main.example.com", "--state", store), strings.NewReader(""), &stdout, &stderr)
		if code != 3 || !strings.Contains(stderr.String(), tt.want) || (tt.want == "") != (stderr.Len() == 0) || stdout.Len() > 0 {
			t.Errorf("%v: exit code %d, want %q\n%s%s", tt.command, code, tt.want, stdout.String(), stderr.String())
		}
		if tt.console == failedDriver && strings.Contains(stderr.String(), "wait longer") {
			t.Errorf("%v: a hook has failed, and more time is the remedy\n%s", tt.command, stderr.String())
		}
	}
}
