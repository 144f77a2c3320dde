package generator

import (
	"strings"
	"testing"
)

// What brings a file, by its addresses: neighbours of one helper are one command, and the order of the mirrors stays.
func TestMirrorsAreTriedInTheirOrder(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		urls []string
		want string
	}{
		"web":      {[]string{"https://a/b", "HTTP://c/d"}, `/bin/sh F "$1" 0644 a:b ` + sum + ` "$2" "$3"`},
		"buckets":  {[]string{"s3://abc/d", "gs://abc/d"}, `/bin/sh C "$0" "$1" "$1" 0644 a:b ` + sum + ` "$2" "$3"`},
		"of both":  {[]string{"s3://abc/d", "https://a/b"}, `/bin/sh C "$0" "$1" "$1" 0644 a:b ` + sum + ` "$2" || /bin/sh F "$1" 0644 a:b ` + sum + ` "$3"`},
		"in turns": {[]string{"https://a/b", "s3://abc/d", "https://a/c"}, `/bin/sh F "$1" 0644 a:b ` + sum + ` "$2" || /bin/sh C "$0" "$1" "$1" 0644 a:b ` + sum + ` "$3" || /bin/sh F "$1" 0644 a:b ` + sum + ` "$4"`},
	} {
		h, s := &hook{}, &steps{}
		f := File{Path: "/x", Mode: 0o644, Owner: "a:b", SHA256: sum, URLs: c.urls}
		if got := strings.Join(h.brings(s, surroundings{fetch: "F", cloud: "C"}, f, 0, s.arg(f.Path)), " || "); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// A secret is in memory where the hook asks for it on every boot.
func TestSecretsOfEveryBootAreInMemory(t *testing.T) {
	for _, c := range []struct {
		path  string
		every bool
		want  string
	}{{"/etc/x", true, "/run/kopshook/secrets/h/3"}, {"/etc/x", false, `"$1"`}, {"/run/x", true, `"$1"`}} {
		h, s := &hook{Hook: Hook{Name: "h", EveryBoot: c.every}}, &steps{}
		f := File{Path: c.path, Mode: 0o600, Owner: "a:b", Secret: "aws-ssm:x"}
		want := `/bin/sh C "$0" "$1" ` + c.want + ` 0600 a:b - "$2"`
		if got := h.brings(s, surroundings{cloud: "C"}, f, 3, s.arg(f.Path)); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", c.path, got, want)
		}
	}
}

// Only what asks the cloud brings the helper, with what its stores need.
func TestHelperIsThereForWhoNeedsIt(t *testing.T) {
	web := newHook("web", PreNodeup, "#!/bin/sh\n")
	web.Files = []File{{Path: "/x", Owner: "a:b", URLs: []string{"https://a/b"}, SHA256: strings.Repeat("0", 64)}}
	secret := newHook("secret", PreNodeup, "#!/bin/sh\n")
	secret.Files = []File{{Path: "/y", Owner: "a:b", Secret: "gcp-secretmanager:x"}}
	image := newHook("image", PreNodeup, "#!/bin/sh\n")
	image.OncePerImage = true
	image.Files = []File{{Path: "/z", Owner: "a:b", URLs: []string{"s3://abc/d"}, SHA256: strings.Repeat("0", 64)}}
	helper := func(hooks ...Hook) string {
		for _, p := range mustGenerate(t, gpuGroup, hooks...) {
			if p.Name == cloudName {
				return Plain(p)
			}
		}
		return ""
	}
	if text := helper(web); text != "" {
		t.Errorf("a download brings the helper:\n%s", text)
	}
	if text := helper(web, secret); !strings.Contains(text, "def gcp_secretmanager(") || strings.Contains(text, "def get(") || strings.Contains(text, "def aws(") {
		t.Errorf("a secret of Google's brings\n%s", text)
	}
	if text := helper(image); !strings.Contains(text, "def s3(") || strings.Contains(text, "def aws_ssm(") {
		t.Errorf("a file of a bucket brings\n%s", text)
	}
	baked, err := Bake(gpuGroup, "v1", []Hook{image, secret})
	if err != nil || !strings.Contains(baked, "file fetch/cloud 0755 ") || strings.Contains(baked, "fetch/fetch") {
		t.Errorf("%v\n%s", err, baked)
	}
}

// What nodes cannot download, and why.
func TestAddressesThatNodesCannotDownload(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/a": "", "HTTP://example.com": "", "s3://hooks-example/a": "", "gs://hooks-example/a b": "object", "https://example.com/%41?x=~": "",
		"https://example.com/a b": "blank", "https://example.com/\x7f": "blank", "https://example.com/\x1f": "blank", "https://example.com/caf\u00e9": "not a URL",
		"https://example.com/\u0080": "not a URL", "https://example.com/%4": "not a URL", "https://u:p@example.com/": "password", "https:///a": "no host", "ftp://example.com/": "scheme",
	} {
		if wrong, _ := URLError(address); (wrong == "") != (want == "") || !strings.Contains(wrong, want) {
			t.Errorf("%q: %q, want %q", address, wrong, want)
		}
	}
}

func TestArchiveURLsOfNoStoreAreRefused(t *testing.T) {
	hooks := []Hook{newHook("x", PreNodeup, "#!/bin/sh\n")}
	hooks[0].Archive, hooks[0].ArchiveURL = true, "ftp://example.com/a"
	_, generated := Generate(gpuGroup, "v1", hooks)
	_, landed := Files(gpuGroup, "v1", hooks)
	_, packed := Archive(gpuGroup, "v1", hooks)
	for _, err := range []error{generated, landed, packed} {
		if err == nil || !strings.Contains(err.Error(), "ftp") {
			t.Errorf("got %v", err)
		}
	}
}
