package source

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// Signatures are those of cosign, made with a key: beside an artifact under the tag sha256-DIGEST.sig (cosign 1 and 2), or as a
// bundle that refers to it (cosign 3). Both say which manifest was signed, so a signature is none for another one.

const (
	maxSignatures = 64 // that are looked at
	maxSigned     = 1 << 20

	simpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	simpleType    = "cosign container image signature"
	bundleType    = "application/vnd.dev.sigstore.bundle."
	inToto        = "application/vnd.in-toto+json"
	signPredicate = "https://sigstore.dev/cosign/sign/v1" // others are attestations: that something was found, not that it is good
)

// NoKey is what Loader.Key is when signatures are no longer asked for.
const NoKey = "none"

const keyRemedy = "it is the public key of the one who signs, as cosign.pub of `cosign generate-key-pair`, or what `cosign public-key` prints: ECDSA, Ed25519, or RSA of 2048 bits or more"

// ReadKey reads a public key from a PEM file and returns it as lock files have it: its DER form in base64.
func ReadKey(name string) (string, error) {
	data, err := file.Read(name, 1<<16)
	if err != nil {
		return "", cause(err)
	}
	block, _ := pem.Decode(data)
	switch {
	case block == nil:
		return "", report.Hint(keyRemedy, "%s: is no PEM file", name)
	case strings.Contains(block.Type, "PRIVATE KEY"):
		return "", report.Hint("give the public key, which `cosign public-key --key FILE` prints", "%s: is a private key", name)
	case block.Type != "PUBLIC KEY":
		return "", report.Hint(keyRemedy, "%s: is a %q and no public key", name, block.Type)
	}
	key := base64.StdEncoding.EncodeToString(block.Bytes)
	if _, err := parseKey(key); err != nil {
		return "", report.Hint(keyRemedy, "%s: %w", name, err)
	}
	return key, nil
}

func parseKey(key string) (crypto.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, errors.New("is not in base64")
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("is no public key that can be read")
	}
	switch k := public.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return public, nil
	case *rsa.PublicKey:
		if k.N.BitLen() >= 2048 {
			return public, nil
		}
		return nil, fmt.Errorf("is an RSA key of %d bits, which protects nothing", k.N.BitLen())
	}
	return nil, fmt.Errorf("is of a kind (%T) that cosign does not sign with", public)
}

// signs says whether a signature of data is the key's.
func signs(key crypto.PublicKey, data, signature []byte) bool {
	sum := sha256.Sum256(data)
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(k, sum[:], signature) {
			return true
		}
		sum384, sum512 := sha512.Sum384(data), sha512.Sum512(data) // key services sign with the hash of the curve's size
		return ecdsa.VerifyASN1(k, sum384[:], signature) || ecdsa.VerifyASN1(k, sum512[:], signature)
	case ed25519.PublicKey:
		return ed25519.Verify(k, data, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
	}
	return false
}

// verify returns an error unless the manifest with a digest is signed with the key.
func (l *Loader) verify(ctx context.Context, a *address, digest, key string) error {
	public, err := parseKey(key)
	if err != nil {
		return report.Hint(keyRemedy, "source %q: its key %w", a.key, err)
	}
	return l.patiently(ctx, a, func(ctx context.Context, item *progressItem) error {
		repo, err := l.repository(a, item)
		if err != nil {
			return err
		}
		return repo.signed(ctx, digest, public)
	})
}

// found is what there is of signatures.
type found struct{ keys, identities int }

// errStop ends a listing.
var errStop = errors.New("found")

// signed returns nil when one of the signatures of a manifest is the key's.
func (r *ociRepo) signed(ctx context.Context, digest string, key crypto.PublicKey) error {
	var all found
	for _, look := range []func(context.Context, string, crypto.PublicKey, *found) error{r.tagged, r.bundled} {
		err := look(ctx, digest, key, &all)
		if err == errStop {
			return nil
		}
		if err != nil {
			return err
		}
	}
	name := r.Reference.Registry + "/" + r.Reference.Repository + "@" + digest
	switch {
	case all.keys > 0:
		return report.Hint("find out whose it is; --key names another key, and with --update NAME for one hook alone", "%s is signed, but not with this key", digest)
	case all.identities > 0:
		return report.Hint("verify it with `cosign verify --certificate-identity WHO --certificate-oidc-issuer URL "+name+"`; then lock it without a key (--key none): the lock file holds it to this digest",
			"%s is signed by an identity, and not with a key: kopshook verifies keys", digest)
	}
	return report.Hint("sign it with `cosign sign --key KEY "+name+"`, or lock it without a key (--key none)", "%s is not signed", digest)
}

// tagged looks at the signatures under the artifact's tag.
func (r *ociRepo) tagged(ctx context.Context, digest string, key crypto.PublicKey, all *found) error {
	data, mediaType, _, err := r.manifest(ctx, strings.Replace(digest, ":", "-", 1)+".sig")
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := decodeManifest(data, mediaType)
	if err != nil {
		return err
	}
	for _, layer := range m.Layers[:min(len(m.Layers), maxSignatures)] {
		if layer.MediaType != simpleSigning {
			continue
		}
		if layer.Annotations["dev.sigstore.cosign/certificate"] != "" {
			all.identities++
			continue
		}
		all.keys++
		signature, err := base64.StdEncoding.DecodeString(layer.Annotations["dev.cosignproject.cosign/signature"])
		if err != nil {
			continue
		}
		payload, err := r.small(ctx, layer)
		if err != nil {
			return err
		}
		if signs(key, payload, signature) && simplySigned(payload, digest) {
			return errStop
		}
	}
	return nil
}

// simplySigned says whether the text of a signature is about a manifest.
func simplySigned(payload []byte, digest string) bool {
	var text struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	err := json.Unmarshal(payload, &text)
	return err == nil && text.Critical.Type == simpleType && text.Critical.Image.Digest == digest
}

// bundled looks at the bundles that refer to the artifact.
func (r *ociRepo) bundled(ctx context.Context, signed string, key crypto.PublicKey, all *found) error {
	seen := 0
	subject := ocispec.Descriptor{Digest: digest.Digest(signed), MediaType: ocispec.MediaTypeImageManifest}
	err := r.Referrers(ctx, subject, "", func(referrers []ocispec.Descriptor) error {
		for _, ref := range referrers {
			// some registries list the type of its empty config, for want of one of the artifact
			if !strings.HasPrefix(ref.ArtifactType, bundleType) && ref.ArtifactType != "" && ref.ArtifactType != ocispec.MediaTypeEmptyJSON {
				continue
			}
			if seen++; seen > maxSignatures {
				return nil
			}
			data, mediaType, _, err := r.manifest(ctx, string(ref.Digest))
			if err != nil {
				return err
			}
			m, err := decodeManifest(data, mediaType)
			if err != nil {
				return err
			}
			if len(m.Layers) != 1 || !strings.HasPrefix(m.Layers[0].MediaType, bundleType) {
				continue
			}
			text, err := r.small(ctx, m.Layers[0])
			if err != nil {
				return err
			}
			if bundleSigns(text, signed, key, all) {
				return errStop
			}
		}
		return nil
	})
	if err == nil || err == errStop {
		return err
	}
	if err = r.problem(err); isNotFound(err) { // neither the API nor the tag that stands for it
		return nil
	}
	return err
}

// bundleSigns says whether a bundle holds the key's signature of a manifest:
// https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto, with an envelope of
// https://github.com/secure-systems-lab/dsse/blob/master/protocol.md around a statement of in-toto's.
func bundleSigns(text []byte, signed string, key crypto.PublicKey, all *found) bool {
	var bundle struct {
		Material struct {
			Certificate json.RawMessage `json:"certificate"`
			Chain       json.RawMessage `json:"x509CertificateChain"`
		} `json:"verificationMaterial"`
		Envelope struct {
			Type       string `json:"payloadType"`
			Payload    []byte `json:"payload"`
			Signatures []struct {
				Signature []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	var statement struct {
		Predicate string `json:"predicateType"`
		Subject   []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(text, &bundle) != nil || bundle.Envelope.Type != inToto || json.Unmarshal(bundle.Envelope.Payload, &statement) != nil {
		return false
	}
	about := false
	for _, s := range statement.Subject {
		about = about || sha256Colon+s.Digest["sha256"] == signed
	}
	if !about || statement.Predicate != signPredicate {
		return false
	}
	if len(bundle.Material.Certificate)+len(bundle.Material.Chain) > 0 {
		all.identities++
		return false
	}
	all.keys++
	data := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(inToto), inToto, len(bundle.Envelope.Payload), bundle.Envelope.Payload)
	for _, s := range bundle.Envelope.Signatures[:min(len(bundle.Envelope.Signatures), maxSignatures)] {
		if signs(key, data, s.Signature) {
			return true
		}
	}
	return false
}

// small reads a blob that is a signature's text.
func (r *ociRepo) small(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	if desc.Size > maxSigned {
		return nil, report.Hint("find out who put it there", "it has a signature of %s", size(desc.Size))
	}
	var b bytes.Buffer
	err := r.blob(ctx, desc, &b)
	return b.Bytes(), err
}

func isNotFound(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusNotFound
}

// keyOf is the key that a source is to be signed with, "" for none: the one that is asked for now, else that of the lock file.
// When only some sources are updated, it is asked for with these alone.
func (l *Loader) keyOf(n *named, pin *Entry, update func(Ref) bool) string {
	switch {
	case n.kind != kindOCI:
		return ""
	case l.Key != "" && (update == nil || update(n.ref)):
		return strings.TrimPrefix(l.Key, NoKey)
	case pin != nil:
		return pin.Key
	}
	return ""
}

// sign returns an entry with the key that the source is to be signed with, after it has verified that it is.
func (l *Loader) sign(ctx context.Context, a *address, e Entry, key string) (*Entry, error) {
	if e.Key = key; key == "" {
		return &e, nil
	}
	if l.Offline {
		return nil, report.Hint("run `kopshook lock` without --offline", "source %q: its signature has to be fetched, which --offline forbids", a.key)
	}
	if e.Revision == "" {
		return nil, report.Hint("run `kopshook lock --update`", "source %q is locked without the digest of its manifest, which is what is signed", a.key)
	}
	return &e, l.verify(ctx, a, e.Revision, key)
}
