package generator

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatIsReadIsWhatLands holds the two ways to the files of a node against each other: from hooks, and back from the
// user data that was made of them.
func TestWhatIsReadIsWhatLands(t *testing.T) {
	secret := newHook("secret", PreNodeup, "#!/usr/bin/env bash\ntrue\n")
	secret.Files = []File{
		{Path: "/etc/a b $1", Mode: 0o400, Owner: "root:adm", Secret: "aws-ssm:/prod/token"},
		{Path: "/etc/mirrored", Mode: 0o4755, Owner: "root:root", SHA256: strings.Repeat("0a", 32),
			URLs: []string{"https://a.example.com/x?y=1;z", "https://b.example.com/x", "s3://bucket-of/x", "http://c.example.com/x"}},
	}
	daily := secret
	daily.Name, daily.EveryBoot = "daily", true
	daily.Files = []File{secret.Files[1], {Path: "/etc/empty", Mode: 0o644, Owner: "root:root", Content: []byte{}}, secret.Files[0]}
	python := newHook("python", Boot, "#!/usr/bin/python3\nprint('a')\n")
	bare := newHook("bare", PreNodeup, "")
	bare.Files = []File{{Path: "/etc/bare", Mode: 0o644, Owner: "root:root", Content: []byte("bare\n")}}
	for name, change := range map[string]func(*Hook){
		"plain":      func(*Hook) {},
		"compressed": func(h *Hook) { h.Compress = h.Phase != Boot },
		"archived":   func(h *Hook) { h.Archive = true },
	} {
		t.Run(name, func(t *testing.T) {
			hooks := append(allKinds(t), secret, daily, python, bare)
			for i := range hooks {
				change(&hooks[i])
			}
			var want, got []File
			landed, err := Files(gpuGroup, "v1", hooks)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range landed {
				if strings.HasSuffix(f.Path, ".service") || strings.Contains(f.Path, "/kopshook-") || strings.HasPrefix(f.Path, "/opt/kopshook/bin/") {
					continue // units, what the gate writes, the runtime
				}
				if place, file, ok := strings.Cut(f.Path[1:], "/"); ok && place == "bootcmd" || place == "cloud-config" {
					f.Path = "/" + place + "/" + file[len("NNN-"):]
				}
				want = append(want, f)
			}
			for _, w := range Read(mustGenerate(t, gpuGroup, hooks...)) {
				got = append(got, w.Files()...)
			}
			for _, files := range [][]File{want, got} {
				for i, f := range files {
					if strings.HasPrefix(f.Path, "/cloud-config/") { // a part has its keys in another order
						lines := strings.SplitAfter(string(f.Content), "\n")
						slices.Sort(lines)
						files[i].Content = []byte(strings.Join(lines, ""))
					}
				}
			}
			order := func(a, b File) int { return strings.Compare(a.Path, b.Path) }
			slices.SortFunc(want, order)
			slices.SortFunc(got, order)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-lands +read):\n%s", diff)
			}
		})
	}
}

func editedUnit(command string) string {
	return "#cloud-config\nwrite_files:\n- path: /etc/systemd/system/kopshook-x.service\n  content: |\n    ExecStart=/bin/sh /opt/kopshook/bin/run x pre-nodeup 0123456789ab once block 3 10 1200 : " + command + "\n"
}

func editedBootcmd(word string) string {
	return "#cloud-config\nbootcmd:\n- [env, KOPSHOOK_HOOK=x, KOPSHOOK_PHASE=boot, KOPSHOOK_HASH=0123456789ab, " + word + "]\n"
}

func TestVariablesStandBeforeACommand(t *testing.T) {
	for line, env := range map[string]string{"A=1 _b=2 /bin/x C=3": "A=1, _b=2", "sh A=1": "", "/opt/a=b A=1": "", "A=1": "A=1", "": ""} {
		fields := map[string]string{}
		words := strings.Fields(line)
		rest := readEnv(words, fields)
		if n := len(words) - len(rest); fields["env"] != env || strings.Join(words[:n], ", ") != env {
			t.Errorf("%q: variables %q, then %q", line, fields["env"], rest)
		}
	}
}

// A part that somebody has edited is read as far as it goes.
func TestEditedPartsAreRead(t *testing.T) {
	for name, content := range map[string]string{
		"a list inside itself":    "#cloud-config\na: &a [*a]\nb: &b {c: *b}\n",
		"a file that is itself":   "#cloud-config\nwrite_files: &a\n- *a\n- path: /opt/kopshook/hooks/x/script\n  content: *a\n",
		"no mapping":              "#cloud-config\n- a\n",
		"no YAML":                 "#cloud-config\n{{{",
		"a unit without a runner": "#cloud-config\nwrite_files:\n- path: /etc/systemd/system/kopshook-x.service\n  content: ExecStart=/opt/kopshook/bin/run -exc\n",
		"only a comment":          "#cloud-config\n",
		"a unit that ends early":  editedUnit("-exc"),
		"a place of no argument":  editedUnit(`-exc 'install -DT -m 0644 -o root -g root files/0 "$$1"' label`),
		"a bootcmd without end":   editedBootcmd("A=b"),
		"a bootcmd of a name":     editedBootcmd("kopshook-x"),
		"a bootcmd of a place":    editedBootcmd("/run/kopshook-boot-x"),
		"nothing":                 "",
	} {
		t.Run(name, func(t *testing.T) {
			hooks := Read([]UserData{{"kopshook-500-x.yaml", cloudConfig, content}})
			if len(hooks) != 1 || hooks[0].Name != "x" {
				t.Fatalf("read %v", hooks)
			}
			if changes := FileChanges(&hooks[0], &hooks[0]); len(changes) > 0 {
				t.Errorf("it differs from itself: %v", changes)
			}
			if changes := hooks[0].Diff(&Written{Name: "x"}); content != "" && len(changes) == 0 {
				t.Error("it does not differ from nothing")
			}
		})
	}
}
