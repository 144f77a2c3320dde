package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/report"
)

func TestRedact(t *testing.T) {
	digits := func(s string) string { return "REDACTED-" + hashOf([]byte(s))[:4] }
	sum := strings.Repeat("0a", 32)
	for src, want := range map[string]string{
		"scripts/a":                                           "scripts/a",
		"https://example.com/x":                               "https://example.com/x",
		"https://user:pass@example.com/x":                     "https://example.com/x",
		"https://token@example.com/x@y":                       "https://example.com/x@y",
		"https://us%40er:p@ss@example.com/x":                  "https://example.com/x",
		"git::https://oauth2:tok@example.com/r.git//a?ref=v1": "git::https://example.com/r.git//a?ref=v1",
		"git::ssh://git@example.com/r.git":                    "git::ssh://git@example.com/r.git",
		"git::ssh://me:pw@example.com/r.git":                  "git::ssh://me@example.com/r.git",
		"git::https://git:pw@example.com/r.git":               "git::https://git@example.com/r.git",
		"git@example.com:r.git":                               "git@example.com:r.git",
		"git@example.com:r@1.git":                             "git@example.com:r@1.git",
		"git::me:pw@example.com:r.git":                        "git::me@example.com:r.git",

		"https://example.com/x?archive=zip&checksum=sha256:" + sum + "&version=a_b-1.2": "https://example.com/x?archive=zip&checksum=sha256:" + sum + "&version=a_b-1.2",
		"git::https://example.com/r.git?ref=feature/x":                                  "git::https://example.com/r.git?ref=feature/x",

		// a name that sounds like a credential: the source is the same when it changes
		"https://example.com/x?private_token=abc&version=5":     "https://example.com/x?private_token=REDACTED&version=5",
		"https://b.s3.amazonaws.com/x?X-Amz-Signature=a":        "https://b.s3.amazonaws.com/x?X-Amz-Signature=REDACTED",
		"https://example.com/x?pass=abc":                        "https://example.com/x?pass=REDACTED",
		"https://example.com/x?pat=abc":                         "https://example.com/x?pat=REDACTED",
		"https://example.com/x?private=abc":                     "https://example.com/x?private=REDACTED",
		"https://example.com/x?bearer=abc":                      "https://example.com/x?bearer=REDACTED",
		"https://example.com/x?session=abc":                     "https://example.com/x?session=REDACTED",
		"https://example.com/x?code=abc":                        "https://example.com/x?code=REDACTED",
		"https://example.com/x?to%6ben=abc":                     "https://example.com/x?REDACTED",
		"https://acc.blob.core.windows.net/c/x?sv=2020&sig=a%2": "https://acc.blob.core.windows.net/c/x?sv=" + digits("2020") + "&sig=REDACTED",

		// any other name
		"https://example.com/x?id=5":         "https://example.com/x?id=" + digits("5"),
		"https://example.com/x?xyzzy":        "https://example.com/x?" + digits("xyzzy"),
		"https://example.com/x?Ref=abc":      "https://example.com/x?Ref=" + digits("abc"),
		"https://example.com/x?a=1;token=s":  "https://example.com/x?a=" + digits("1;token=s"),
		"https://example.com/x?b@c=s":        "https://example.com/x?" + digits("b@c=s"),
		"https://example.com/x?id=":          "https://example.com/x?id=",
		"https://example.com/x#token=SECRET": "https://example.com/x#" + digits("token=SECRET"),

		// inside a value that may be shown
		"https://example.com/x?checksum=file:http://u:SECRET@example.com/sum":           "https://example.com/x?checksum=file:http://example.com/sum",
		"https://example.com/x?checksum=file:http://example.com/sum?token=SECRET":       "https://example.com/x?checksum=file:http://example.com/sum?token=REDACTED",
		"https://example.com/x?checksum=file:http%3A%2F%2Fu%3ASECRET%40example.com/sum": "https://example.com/x?checksum=" + digits("file:http%3A%2F%2Fu%3ASECRET%40example.com/sum"),
		"https://example.com/x?version=u:SECRET@example.com":                            "https://example.com/x?version=" + digits("u:SECRET@example.com"),
		"https://example.com/x?archive=zip;token=SECRET":                                "https://example.com/x?archive=" + digits("zip;token=SECRET"),
		"git::https://example.com/r.git?ref=v1#SECRET":                                  "git::https://example.com/r.git?ref=" + digits("v1#SECRET"),

		// what is not a URL
		"https://user:pa/ssSECRET@example.com/x":             "https://example.com/x",
		"https://user:pa?ssSECRET@example.com/x":             "https://example.com/x",
		"https://user:pa ssSECRET@example.com/x":             "https://example.com/x",
		"https://user:pa%ssSECRET@example.com/x?token=a&b=c": "https://example.com/x?token=REDACTED&b=" + digits("c"),
		"git::https://u:p/s@example.com/r.git//a?ref=v1":     "git::https://example.com/r.git//a?ref=v1",
	} {
		if diff := cmp.Diff(want, Redact(src)); diff != "" {
			t.Errorf("%s: %s", src, diff)
		}
		if again := Redact(want); again != want {
			t.Errorf("%s becomes %s", want, again)
		}
	}
}

func TestMask(t *testing.T) {
	for line, want := range map[string]string{
		"    source: scripts/a": "    source: scripts/a",
		"    source: git::https://me:pa\u00dfw@example.com/r.git//a?ref=v1 # see x":      "    source: git::https://*******@example.com/r.git//a?ref=v1 # see x",
		`  - {source: "https://example.com/x?version=5&token=abc", path: /a}`:            `  - {source: "https://example.com/x?version=5&token=***", path: /a}`,
		"url: [https://u@a.example.com/x, 'https://b.example.com/y?sig=x%2Fy']":          "url: [https://*@a.example.com/x, 'https://b.example.com/y?sig=*****']",
		"git::ssh://git:pw@example.com/r.git and git::ssh://me@example.com/r.git":        "git::ssh://git:**@example.com/r.git and git::ssh://me@example.com/r.git",
		"git::git:pw@example.com:r.git":                                                  "git::git:**@example.com:r.git",
		"echo a: b # https://example.com":                                                "echo a: b # https://example.com",
		"source: https://example.com/x?id=12#abc":                                        "source: https://example.com/x?id=******",
		"source: https://u:a/b@example.com/x":                                            "source: https://*****@example.com/x",
		`source: "https://u:a/ b@example.com/x" # and`:                                   `source: "https://******@example.com/x" # and`,
		"source: https://u:a b@example.com/x?token=abc and":                              "source: https://*****@example.com/x?token=*** and",
		"source: https://example.com/x?checksum=file:http://u:p@example.com/sum":         "source: https://example.com/x?checksum=file:http://***@example.com/sum",
		"https://example.com/x?token=abc https://example.com/x?token=abc, a@example.com": "https://example.com/x?token=*** https://example.com/x?token=***, a@example.com",
	} {
		if diff := cmp.Diff(want, Mask(line)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// Two sources of a folder are told apart by what may be shown of them, and by four digits of a hash. Where these are the
// same, nobody gets the bytes of the other.
func TestSourcesThatCannotBeToldApartAreRefused(t *testing.T) {
	seen := map[string]string{}
	for n := 0; ; n++ {
		src := "https://example.com/x?id=" + strings.Repeat("x", n%7) + hashOf([]byte{byte(n), byte(n >> 8)})[:12]
		other, ok := seen[Redact(src)]
		if !ok || other == src {
			seen[Redact(src)] = src
			continue
		}
		l := testLoader(t)
		_, err := l.Lock(t.Context(), refsOf(specIn(t, nil), src, other), nil)
		if err == nil || !strings.Contains(err.Error(), "cannot be told from another one of this folder") || report.Remedy(err) == "" {
			t.Errorf("%s and %s: %v", src, other, err)
		}
		return
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("https://", "user:pa/ss", "host/x", "id", "a&b")
	f.Add("git::ssh://", "git:x", "h:22/r.git//a", "checksum", "file:http://u:p@h/s")
	f.Add("git::", "git", "h:p", "ref", "v1")
	f.Fuzz(func(t *testing.T, scheme, login, host, name, value string) {
		src := scheme + login + "@" + host + "?" + name + "=" + value
		if once := Redact(src); Redact(once) != once {
			t.Errorf("Redact(%q) is %q, and that becomes %q", src, once, Redact(once))
		}
		if once := Mask(src); Mask(once) != once {
			t.Errorf("Mask(%q) is %q, and that becomes %q", src, once, Mask(once))
		}
		if !IsRemote(src) {
			return
		}
		at := 0
		for _, h := range hiddenIn(src) {
			if h.from-h.before < at || h.to < h.from || h.to+h.after > len(src) {
				t.Fatalf("%q: %+v", src, hiddenIn(src))
			}
			at = h.to
		}
		// a login and a parameter that nobody knows, in an address that is one
		const secret = "5ecre7-of-n0body"
		clean := func(s string) bool { return !strings.ContainsAny(s, "/?#@:&=%") }
		if scheme == "https://" && clean(name) && !strings.Contains(host, "@") && name != "version" && name != "ref" && name != "archive" && name != "checksum" {
			for _, hides := range []string{scheme + "u:" + secret + "@" + host, scheme + secret + "@" + host, scheme + "h/x?" + name + "=" + secret, scheme + "h/x#" + secret} {
				if strings.Contains(Redact(hides), secret) {
					t.Errorf("Redact(%q) is %q", hides, Redact(hides))
				}
			}
		}
	})
}
