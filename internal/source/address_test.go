package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"oras.land/oras-go/v2/registry/remote"

	"kopshook.dev/kopshook/internal/report"
)

func TestParseAddress(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for src, want := range map[string]address{
		"git::https://example.com/org/hooks.git":                 {kind: kindGit, url: "https://example.com/org/hooks.git"},
		"git::https://example.com/org/hooks.git//gpu/a?ref=v1.2": {kind: kindGit, url: "https://example.com/org/hooks.git?ref=v1.2", inner: "gpu/a", ref: "v1.2"},
		"git::ssh://git@example.com:2222/org/hooks.git?ref=x/y":  {kind: kindGit, url: "ssh://git@example.com:2222/org/hooks.git?ref=x/y", ref: "x/y"},
		"git@example.com:org/hooks.git//gpu?ref=v1":              {kind: kindGit, url: "ssh://git@example.com/org/hooks.git?ref=v1", inner: "gpu", ref: "v1"},
		"git::git@example.com:org/hooks.git":                     {kind: kindGit, url: "ssh://git@example.com/org/hooks.git"},
		"github.com/org/hooks":                                   {kind: kindGit, url: "https://github.com/org/hooks.git"},
		"github.com/org/hooks/gpu?ref=v1":                        {kind: kindGit, url: "https://github.com/org/hooks.git?ref=v1", inner: "gpu", ref: "v1"},
		"github.com/org/hooks//gpu?ref=v1":                       {kind: kindGit, url: "https://github.com/org/hooks.git?ref=v1", inner: "gpu", ref: "v1"},
		"gitlab.com/org/hooks//gpu":                              {kind: kindGit, url: "https://gitlab.com/org/hooks.git", inner: "gpu"},
		"https://example.com/x.sh":                               {kind: kindHTTP, url: "https://example.com/x.sh", name: "x.sh"},
		"https://example.com/x.sh?checksum=sha256:" + sum:        {kind: kindHTTP, url: "https://example.com/x.sh?checksum=sha256:" + sum, name: "x.sh", pin: sum},
		"https://example.com/x.sh?checksum=" + sum:               {kind: kindHTTP, url: "https://example.com/x.sh?checksum=" + sum, name: "x.sh", pin: sum},
		"https://example.com/a.tar.gz//hooks-*/gpu":              {kind: kindHTTP, url: "https://example.com/a.tar.gz", name: "a.tar.gz", archive: "tar.gz", inner: "hooks-*/gpu"},
		"https://example.com/dl?id=5&archive=zip":                {kind: kindHTTP, url: "https://example.com/dl?id=5&archive=zip", name: "dl", archive: "zip"},
		"https://example.com/a.zip?archive=false":                {kind: kindHTTP, url: "https://example.com/a.zip?archive=false", name: "a.zip"},
		"https://example.com/x.sh.gz":                            {kind: kindHTTP, url: "https://example.com/x.sh.gz", name: "x.sh.gz", archive: "gz"},
		"s3://bucket/dir/x.sh":                                   {kind: kindBucket, url: "s3://bucket/dir/x.sh", name: "x.sh"},
		"s3::https://s3.amazonaws.com/bucket/dir/x.sh":           {kind: kindBucket, url: "s3://bucket/dir/x.sh", name: "x.sh"},
		"s3::https://s3.eu-west-1.amazonaws.com/bucket/x.tgz//a": {kind: kindBucket, url: "s3://bucket/x.tgz", name: "x.tgz", archive: "tgz", inner: "a"},
		"s3::https://bucket.s3.eu-west-1.amazonaws.com/x.sh":     {kind: kindBucket, url: "s3://bucket/x.sh", name: "x.sh"},
		"gs://bucket/dir/x.sh":                                   {kind: kindBucket, url: "gs://bucket/dir/x.sh", name: "x.sh"},
		"oci://r.example.com/team/hooks:v1":                      {kind: kindOCI, url: "oci://r.example.com/team/hooks", ref: "v1", name: "hooks"},
		"oci://r.example.com:5000/hooks:v1//gpu/a":               {kind: kindOCI, url: "oci://r.example.com:5000/hooks", ref: "v1", name: "hooks", inner: "gpu/a"},
		"oci://r.example.com/hooks@sha256:" + sum + "//gpu":      {kind: kindOCI, url: "oci://r.example.com/hooks", ref: "sha256:" + sum, name: "hooks", inner: "gpu"},
		"oci://[::1]:5000/a/b:v1@sha256:" + sum:                  {kind: kindOCI, url: "oci://[::1]:5000/a/b", ref: "sha256:" + sum, name: "b"},
		"oci://r.example.com/hooks:v1?archive=false&version=a":   {kind: kindOCI, url: "oci://r.example.com/hooks", ref: "v1", name: "hooks", archive: "false"},
		"gcs::https://www.googleapis.com/storage/v1/bucket/d/x":  {kind: kindBucket, url: "gs://bucket/d/x", name: "x"},
	} {
		t.Run(src, func(t *testing.T) {
			a, err := parseAddress(src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, *a, cmp.AllowUnexported(address{}), cmpopts.IgnoreFields(address{}, "key", "same", "secrets")); diff != "" {
				t.Error(diff)
			}
			if !IsRemote(src) {
				t.Error("is not remote")
			}
		})
	}
}

func TestParseAddressRefuses(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for src, want := range map[string]string{
		"hg::https://example.com/x":                        "is of no kind that kopshook fetches",
		"ftp://example.com/x":                              "is of no kind that kopshook fetches",
		"file:///etc/passwd":                               "is of no kind that kopshook fetches",
		"smb://host/x":                                     "is of no kind that kopshook fetches",
		"git::ext::sh -c touch% /tmp/x":                    "git has no transport",
		"git::fd::7":                                       "git has no transport",
		"git::https://example.com/x?ref=--upload-pack":     "ref=--upload-pack is no name that git has",
		"git::https://example.com/x?ref=a:b":               "ref=a:b is no name that git has",
		"git::https://example.com/x?ref=%2Brefs/heads/*":   "ref=+refs/heads/* is no name that git has",
		"git::https://example.com/x//../y":                 "the path behind // leaves it",
		"git::https://example.com/x?checksum=sha256:00":    "checksum=sha256:00 is no SHA-256 in hex: it has 64 digits",
		"git::https://example.com/x?archive=zip":           "checksum= and archive= are for single files",
		"https://example.com/x?checksum=md5:00":            "checksum=md5:00: md5 protects nothing",
		"https://example.com/x.rar?archive=rar":            "archive=rar is none of",
		"https://example.com/org/hooks.git//gpu":           "only a repository or an archive has paths inside",
		"s3::https://minio.example.com/bucket/x":           "minio.example.com is no address of S3 or Google Cloud Storage",
		"s3://bucket":                                      "names no bucket and key",
		"git::ssh://git@example.com/x?sshkey=c2VjcmV0a2V5": "sshkey= would put a private key into the spec",
		"https:///x":                                          "names no host",
		"oci://r.example.com/team/hooks":                      "names neither a tag nor a digest",
		"oci://r.example.com":                                 "is no name of a registry's: ",
		"oci:///hooks:v1":                                     "is no name of a registry's: ",
		"oci://r.example.com/Hooks:v1":                        "is no name of a registry's: ",
		"oci://r.example.com/hooks:-v1":                       "is no name of a registry's: ",
		"oci://r.example.com/hooks:-v1@sha256:" + sum:         "\"-v1\" is no tag",
		"oci://r.example.com/../hooks:v1":                     "is no name of a registry's: ",
		"oci://r.example.com/hooks@sha256:" + sum[1:]:         "is no name of a registry's: ",
		"oci://r.example.com/hooks@sha512:" + sum + sum:       "@sha512:" + sum + sum + " is no SHA-256",
		"oci://me:c2VjcmV0a2V5@r.example.com/hooks:v1":        "has a user before the host",
		"oci://r.example.com/hooks:v1//../x":                  "the path behind // leaves it",
		"oci://r.example.com/hooks:v1?checksum=sha256:" + sum: "checksum= is for single files",
		"oci://r.example.com/hooks?ref=v1":                    "names neither a tag nor a digest",
		"oci://r.example.com/hooks:v1?ref=v1":                 "ref= is for git",
		"oci://r.example.com/hooks:v1?token=c2VjcmV0a2V5":     "a registry takes no parameter token=",
		"oci://r.example.com/hooks:v1?archive=rar":            "archive=rar is none of",
		"oci::https://r.example.com/hooks:v1":                 "is of no kind that kopshook fetches",
	} {
		t.Run(src, func(t *testing.T) {
			_, err := parseAddress(src)
			if err == nil {
				t.Fatal("it is taken")
			}
			if !strings.Contains(err.Error(), want) || report.Remedy(err) == "" || strings.Contains(err.Error(), "c2VjcmV0a2V5") {
				t.Errorf("%v (%s)", err, report.Remedy(err))
			}
		})
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("git::https://u:secret@example.com/r.git//a?ref=v1&checksum=x")
	f.Add("s3::https://s3.amazonaws.com/b/k?archive=zip")
	f.Add("git@h:p//q?access_token=t")
	f.Add("oci://h:5000/team/hooks:v1@sha256:" + strings.Repeat("0a", 32) + "//gpu?archive=tar")
	f.Fuzz(func(t *testing.T, src string) {
		if Redact(Redact(src)) != Redact(src) {
			t.Errorf("Redact(%q) is not stable", src)
		}
		if Mask(Mask(src)) != Mask(src) {
			t.Errorf("Mask(%q) is not stable", src)
		}
		if !IsRemote(src) {
			return
		}
		a, err := parseAddress(src)
		if err != nil {
			return
		}
		if strings.HasPrefix(a.ref, "-") || strings.HasPrefix(a.inner, "..") || strings.HasPrefix(a.url, "-") {
			t.Errorf("%q became %+v", src, a)
		}
		if a.kind == kindOCI {
			repo, err := remote.NewRepository(strings.TrimPrefix(a.url, ociScheme))
			if err != nil {
				t.Fatalf("%q became %+v: %v", src, a, err)
			}
			if ref, err := repo.ParseReference(a.ref); err != nil || ref.Reference != a.ref || strings.Contains(repo.Reference.Registry, "@") {
				t.Errorf("%q became %+v, which is %+v, %v", src, a, ref, err)
			}
		}
	})
}

func TestASourceIsRemoteByItsScheme(t *testing.T) {
	for _, name := range []string{"a", "z", "A", "Z", "0", "9", "git", "x+y", "x-y", "x.y"} {
		for _, sep := range []string{"::", "://"} {
			if src := name + sep + "host/x"; !IsRemote(src) {
				t.Errorf("%s is taken for a local file", src)
			}
		}
	}
	for _, name := range []string{"", "`", "{", "@", "[", "/", ":", "a/b", "a b", "_"} {
		if src := name + "://host/x"; IsRemote(src) {
			t.Errorf("%s is taken for remote", src)
		}
	}
}
