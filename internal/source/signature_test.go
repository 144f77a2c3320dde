package source

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kopshook.dev/kopshook/internal/report"
)

// Files of testdata/cosign were written by cosign 3.1.3, for the artifact of signedArtifact, with a key made for them.
func cosigned(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cosign", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func cosignKey(t *testing.T) string {
	t.Helper()
	key, err := ReadKey("testdata/cosign/cosign.pub")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signedArtifact pushes what cosign signed.
func signedArtifact(t *testing.T, s *ociServer) (src, digest string) {
	t.Helper()
	digest = s.push("team/driver", "v1", layer{"driver.sh", plainFile, hello})
	if !strings.Contains(cosigned(t, "simple.json"), digest) {
		t.Fatalf("cosign did not sign %s", digest)
	}
	return ociScheme + s.host + "/team/driver:v1", digest
}

// tagSignatures puts signatures where cosign 2 has them: texts, their signatures and certificates.
func (s *ociServer) tagSignatures(signed string, each ...[3]string) {
	s.t.Helper()
	config := s.layers("team/driver", layer{"", ocispec.MediaTypeImageConfig, "{}"})[0]
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config}
	for _, e := range each {
		d := s.layers("team/driver", layer{"", simpleSigning, e[0]})[0]
		d.Annotations = map[string]string{"dev.cosignproject.cosign/signature": e[1], "dev.sigstore.cosign/certificate": e[2]}
		m.Layers = append(m.Layers, d)
	}
	s.manifest("team/driver", strings.Replace(signed, ":", "-", 1)+".sig", ocispec.MediaTypeImageManifest, m)
}

// refer puts a bundle where cosign 3 has them.
func (s *ociServer) refer(signed, bundle string) {
	s.t.Helper()
	const v3 = bundleType + "v0.3+json"
	config := s.layers("team/driver", layer{"", ocispec.MediaTypeEmptyJSON, "{}"})[0]
	s.manifest("team/driver", "", ocispec.MediaTypeImageManifest, ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: v3, Config: config,
		Layers:  s.layers("team/driver", layer{"", v3, bundle}),
		Subject: &ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(signed), Size: 447}})
}

func TestSignatures(t *testing.T) {
	key := cosignKey(t)
	simple, sig, bundle := cosigned(t, "simple.json"), cosigned(t, "simple.sig"), cosigned(t, "bundle.json")
	withCertificate := strings.Replace(bundle, `"verificationMaterial":{`, `"verificationMaterial":{"certificate":{"rawBytes":"AA=="},`, 1)
	const (
		unsigned = " is not signed\nhint: sign it with `cosign sign --key KEY "
		others   = " is signed, but not with this key\nhint: find out whose it is"
		identity = " is signed by an identity, and not with a key: kopshook verifies keys\nhint: verify it with `cosign verify --certificate-identity WHO --certificate-oidc-issuer URL "
	)
	for name, c := range map[string]struct {
		put  func(s *ociServer, digest string)
		want string // "" when it is signed
	}{
		"under the tag": {func(s *ociServer, d string) { s.tagSignatures(d, [3]string{simple, sig, ""}) }, ""},
		"as a bundle":   {func(s *ociServer, d string) { s.refer(d, bundle) }, ""},
		"after others": {func(s *ociServer, d string) {
			s.tagSignatures(d, [3]string{simple, "AAAA", ""}, [3]string{simple, sig, ""})
		}, ""},
		"a bundle beside another's tag":  {func(s *ociServer, d string) { s.tagSignatures(d, [3]string{simple, "AAAA", ""}); s.refer(d, bundle) }, ""},
		"a bundle beside an attestation": {func(s *ociServer, d string) { s.refer(d, cosigned(t, "attestation.json")); s.refer(d, bundle) }, ""},
		"by nobody":                      {func(s *ociServer, d string) {}, unsigned},
		"by another key":                 {func(s *ociServer, d string) { s.tagSignatures(d, [3]string{simple, "AAAA", ""}) }, others},
		"a signature that is no base64":  {func(s *ociServer, d string) { s.tagSignatures(d, [3]string{simple, "?", ""}) }, others},
		"of other words":                 {func(s *ociServer, d string) { s.tagSignatures(d, [3]string{simple + " ", sig, ""}) }, others},
		"by another key, in a bundle":    {func(s *ociServer, d string) { s.refer(d, strings.Replace(bundle, `"sig":"M`, `"sig":"N`, 1)) }, others},
		"by an identity": {func(s *ociServer, d string) {
			s.tagSignatures(d, [3]string{simple, sig, "-----BEGIN CERTIFICATE-----"})
		}, identity},
		"by an identity, in a bundle":    {func(s *ociServer, d string) { s.refer(d, withCertificate) }, identity},
		"an attestation is no signature": {func(s *ociServer, d string) { s.refer(d, cosigned(t, "attestation.json")) }, unsigned},
		"a bundle that is none":          {func(s *ociServer, d string) { s.refer(d, `{"dsseEnvelope": 5}`) }, unsigned},
		"a statement that is none": {func(s *ociServer, d string) {
			s.refer(d, `{"dsseEnvelope": {"payloadType": "application/vnd.in-toto+json", "payload": "AAAA"}}`)
		}, unsigned},
		"a text that is too large": {func(s *ociServer, d string) { s.refer(d, strings.Repeat(" ", maxSigned+1)) }, "it has a signature of 1 MiB"},
		"more than anybody looks at": {func(s *ociServer, d string) {
			s.tagSignatures(d, append(slicesOf([3]string{simple, "AAAA", ""}, maxSignatures), [3]string{simple, sig, ""})...)
		}, others},
		"as many as are looked at": {func(s *ociServer, d string) {
			s.tagSignatures(d, append(slicesOf([3]string{simple, "AAAA", ""}, maxSignatures-1), [3]string{simple, sig, ""})...)
		}, ""},
		"a signature of another artifact": {func(s *ociServer, d string) {
			moved(s, d, func(other string) { s.tagSignatures(other, [3]string{simple, sig, ""}) })
		}, others},
		"a bundle of another artifact": {func(s *ociServer, d string) { moved(s, d, func(other string) { s.refer(other, bundle) }) }, unsigned},
		"a tag that is no list of signatures": {func(s *ociServer, d string) {
			s.manifest("team/driver", strings.Replace(d, ":", "-", 1)+".sig", ocispec.MediaTypeImageIndex, ocispec.Index{})
		}, "it is an index of 0 manifests"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRegistry(t, nil)
			src, digest := signedArtifact(t, s)
			c.put(s, digest)
			l, spec := testLoader(t), specIn(t, nil)
			l.Key = key
			err := lockAll(t, l, spec, src)
			said := got(nil, err)
			lock, _ := os.ReadFile(lockPath(spec))
			switch {
			case c.want == "" && err != nil:
				t.Error(said)
			case c.want == "" && !strings.Contains(string(lock), "\n    key: "+key+"\n"):
				t.Errorf("the lock file has no key:\n%s", lock)
			case c.want != "" && (!strings.HasPrefix(said, fmt.Sprintf("error: source %q: ", src)) || !strings.Contains(said, c.want) || len(lock) > 0):
				t.Errorf("%s, want %s\n%s", said, c.want, lock)
			}
		})
	}
}

func slicesOf[T any](v T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// moved lets the tag name another artifact, which gets the signatures of the first.
func moved(s *ociServer, _ string, sign func(other string)) {
	sign(s.push("team/driver", "v1", layer{"driver.sh", plainFile, "#!/bin/sh\necho bad\n"}))
}

// The key stands in the lock file, and later updates need its signature too.
func TestKeyOfALockFile(t *testing.T) {
	s := newRegistry(t, nil)
	src, first := signedArtifact(t, s)
	s.refer(first, cosigned(t, "bundle.json"))
	spec, key := specIn(t, nil), cosignKey(t)
	all := func(Ref) bool { return true }
	lock := func(key string, update func(Ref) bool, change func(*Loader)) (string, Entry) {
		l := testLoader(t)
		if l.Key = key; change != nil {
			change(l)
		}
		changes, err := l.Lock(t.Context(), refsOf(spec, src), update)
		if err != nil {
			return got(nil, err), Entry{}
		}
		if err := changes[0].Write(); err != nil {
			t.Fatal(err)
		}
		return "", changes[0].New.Sources[0]
	}
	offline := func(l *Loader) { l.Offline = true }
	if said, e := lock("", nil, nil); said != "" || e.Key != "" {
		t.Fatalf("without a key: %s %+v", said, e)
	}
	if said, _ := lock(key, nil, offline); !strings.Contains(said, "its signature has to be fetched, which --offline forbids") {
		t.Error(said)
	}
	second := s.push("team/driver", "v1", layer{"driver.sh", plainFile, "#!/bin/sh\necho moved\n"})
	if said, e := lock(key, nil, nil); said != "" || e.Key != key || e.Revision != first {
		t.Errorf("a key for what is locked: %s %+v, want that of %s", said, e, first)
	}
	if said, e := lock("", nil, offline); said != "" || e.Key != key {
		t.Errorf("nothing is to be done: %s %+v", said, e)
	}
	if said, _ := lock("", all, nil); !strings.Contains(said, second+" is not signed") {
		t.Errorf("an update without a signature: %s", said)
	}
	if said, _ := lock(key, all, nil); !strings.Contains(said, second+" is not signed") {
		t.Errorf("an update with the key: %s", said)
	}
	if said, e := lock(NoKey, nil, offline); said != "" || e.Key != "" || e.Revision != first {
		t.Errorf("without it again: %s %+v", said, e)
	}
	if said, e := lock(key, func(Ref) bool { return false }, nil); said != "" || e.Key != "" {
		t.Errorf("an update of something else: %s %+v", said, e)
	}
}

// Two folders that share a source keep its key, whichever has it.
func TestKeyIsKeptForAllFolders(t *testing.T) {
	s := newRegistry(t, nil)
	src, first := signedArtifact(t, s)
	s.refer(first, cosigned(t, "bundle.json"))
	one, two := specIn(t, nil), specIn(t, nil)
	l := testLoader(t)
	l.Key = cosignKey(t)
	if err := lockAll(t, l, two, src); err != nil {
		t.Fatal(err)
	}
	if err := lockAll(t, testLoader(t), one, src); err != nil {
		t.Fatal(err)
	}
	changes, err := testLoader(t).Lock(t.Context(), append(refsOf(one, src), refsOf(two, src)...), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.New.Sources[0].Key == "" {
			t.Errorf("%s has no key", c.Path)
		}
	}
}

// Where the registry fails, nothing is taken for unsigned or signed.
func TestSignaturesThatCannotBeRead(t *testing.T) {
	for what, want := range map[string]string{".sig": "the server says 403 Forbidden", "/referrers/": "the server says 500 Internal Server Error (tried 3 times)"} {
		s := newRegistry(t, func(own http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, what) {
					w.WriteHeader(map[string]int{".sig": 403, "/referrers/": 500}[what])
					return
				}
				own.ServeHTTP(w, r)
			})
		})
		src, _ := signedArtifact(t, s)
		l := testLoader(t)
		l.Key = cosignKey(t)
		if said := got(nil, lockAll(t, l, specIn(t, nil), src)); !strings.Contains(said, want) {
			t.Errorf("%s: %s", what, said)
		}
	}
}

func TestKeysOfAllKinds(t *testing.T) {
	data := []byte("text")
	sum, sum384 := sha256.Sum256(data), sha512.Sum384(data)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key crypto.Signer, digest []byte, hash crypto.Hash) []byte {
		signature, err := key.Sign(rand.Reader, digest, hash)
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	for name, c := range map[string]struct {
		key       crypto.PublicKey
		signature []byte
	}{
		"ECDSA P-256": {&p256.PublicKey, sign(p256, sum[:], crypto.SHA256)},
		"ECDSA P-384": {&p384.PublicKey, sign(p384, sum384[:], crypto.SHA384)},
		"Ed25519":     {public, ed25519.Sign(private, data)},
		"RSA":         {&long.PublicKey, sign(long, sum[:], crypto.SHA256)},
	} {
		der, err := x509.MarshalPKIXPublicKey(c.key)
		if err != nil {
			t.Fatal(err)
		}
		key, err := parseKey(base64.StdEncoding.EncodeToString(der))
		if err != nil || !signs(key, data, c.signature) || signs(key, append(data, 'x'), c.signature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadKeyRefuses(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0")
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&short.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	for content, want := range map[string]string{
		"":                              "is no PEM file",
		"ssh-ed25519 AAAA me":           "is no PEM file",
		block("CERTIFICATE", []byte{0}): "is a \"CERTIFICATE\" and no public key",
		block("ENCRYPTED SIGSTORE PRIVATE KEY", []byte{0}): "is a private key",
		block("PUBLIC KEY", []byte("x")):                   "is no public key that can be read",
		block("PUBLIC KEY", der):                           "is an RSA key of 1024 bits, which protects nothing",
	} {
		name := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(name); err == nil || !strings.Contains(err.Error(), want) || report.Remedy(err) == "" {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
	if diff := cmp.Diff("no/key: no such file or directory", func() string { _, err := ReadKey("no/key"); return fmt.Sprint(err) }()); diff != "" {
		t.Error(diff)
	}
}
