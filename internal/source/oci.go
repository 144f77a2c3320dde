package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"kopshook.dev/kopshook/internal/report"
)

const (
	ociScheme   = "oci://"
	ociRemedy   = "write oci://HOST/REPOSITORY:TAG or oci://HOST/REPOSITORY@sha256:DIGEST, and //PATH behind it for a file or folder inside"
	sha256Colon = "sha256:"

	maxManifest = 4 << 20 // what registries take, https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests
)

// parseOCI understands HOST/REPOSITORY, and behind it :TAG, @DIGEST or both.
func (a *address) parseOCI(named, inner, params string, fail func(remedy, format string, args ...any) (*address, error)) (*address, error) {
	a.kind = kindOCI
	if host, _, _ := strings.Cut(named, "/"); strings.Contains(host, "@") {
		return fail("log in with `docker login` or `oras login`, and leave it out", "has a user before the host")
	}
	ref, err := registry.ParseReference(named)
	if err != nil {
		return fail(ociRemedy, "is no name of a registry's: %v", err)
	}
	name, digest, hasDigest := strings.Cut(named, "@")
	repo, tag, hasTag := strings.Cut(strings.TrimPrefix(name, ref.Registry+"/"), ":")
	switch {
	case !hasTag && !hasDigest:
		return fail(ociRemedy, "names neither a tag nor a digest")
	case hasDigest && !isDigest(digest):
		return fail(ociRemedy, "@%s is no SHA-256: it is sha256: and 64 digits", digest)
	case hasTag && (registry.Reference{Reference: tag}).ValidateReferenceAsTag() != nil:
		return fail(ociRemedy, "%q is no tag", tag)
	}
	query, err := url.ParseQuery(params)
	if err != nil {
		return fail(ociRemedy, "invalid query string")
	}
	for param := range query {
		switch param {
		case "archive", "version":
		case "checksum":
			return fail("write the digest behind the name, @sha256:DIGEST; the lock file pins it in any case", "checksum= is for single files")
		case "ref":
			return fail("write the tag behind the name, :TAG", "ref= is for git")
		default:
			return fail("leave it out", "a registry takes no parameter %s=", param)
		}
	}
	if a.archive = query.Get("archive"); a.archive != "" {
		if _, err := packing("", a.archive); err != nil {
			return fail("write archive=false to use the file as it is", "%v", err)
		}
	}
	a.inner = strings.Trim(path.Clean("/"+inner), "/")
	if strings.HasPrefix(path.Clean(inner), "..") {
		return fail("name a path inside it", "the path behind // leaves it")
	}
	a.url, a.ref, a.name = ociScheme+ref.Registry+"/"+repo, tag, path.Base(repo)
	if hasDigest {
		a.ref = digest
	}
	return a, nil
}

func isDigest(s string) bool {
	sum, ok := strings.CutPrefix(s, sha256Colon)
	return ok && isSHA256(sum)
}

// isLoopback says whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ociRepo is a repository of a registry. oras-go asks for tokens and finds referrers; what comes is bounded by our
// transport and held to digests here.
type ociRepo struct {
	*remote.Repository
	limits Limits
	item   *progressItem
	opened []*os.File
}

func (l *Loader) repository(a *address, item *progressItem) (*ociRepo, error) {
	repo, err := remote.NewRepository(strings.TrimPrefix(a.url, ociScheme))
	if err != nil {
		return nil, report.Hint(ociRemedy, "it is no name of a registry's: %w", err)
	}
	base := l.transport
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base, limits: l.limits, item: item, reads: func(status int) bool {
		return status == http.StatusUnauthorized || status == http.StatusNotFound // log in; no referrers API
	}}
	repo.PlainHTTP = isLoopback(repo.Reference.Registry)
	repo.ReferrerListMaxPages = maxSignatures
	repo.Client = &auth.Client{
		Client:     &http.Client{Transport: encrypted{t}, CheckRedirect: checkRedirect},
		Header:     http.Header{"User-Agent": {"kopshook"}},
		Cache:      auth.NewCache(),
		Credential: dockerCredential,
	}
	return &ociRepo{Repository: repo, limits: l.limits, item: item}, nil
}

// encrypted refuses to ask other machines without TLS, wherever a registry or what it redirects to says so.
type encrypted struct{ *transport }

func (t encrypted) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !isLoopback(req.URL.Host) {
		return nil, report.Hint("ask its operator for https: without it only registries of this machine are asked", "the registry sends us to %s without encryption", req.URL.Host)
	}
	return t.transport.RoundTrip(req)
}

// dockerCredential finds what `docker login` or `oras login` keep for a registry: in the folder that DOCKER_CONFIG names or in
// ~/.docker, or with the program that its config.json names.
func dockerCredential(ctx context.Context, host string) (auth.Credential, error) {
	if _, err := os.UserHomeDir(); err != nil && os.Getenv("DOCKER_CONFIG") == "" {
		return auth.EmptyCredential, nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return auth.EmptyCredential, report.Hint("DOCKER_CONFIG names its folder; `docker login` writes it", "docker's config.json: %w", err)
	}
	found, err := credentials.Credential(store)(ctx, host)
	if err != nil {
		return found, report.Hint("`docker login` keeps a login, in docker's config.json or with the program that it names", "the login for %s: %w", host, err)
	}
	return found, nil
}

// fetchOCI brings an artifact: by its digest when revision has one, else by what the address says.
func (l *Loader) fetchOCI(ctx context.Context, a *address, revision, dir string, item *progressItem) (*fetched, error) {
	repo, err := l.repository(a, item)
	if err != nil {
		return nil, err
	}
	data, mediaType, digest, err := repo.manifest(ctx, orDefault(revision, a.ref))
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data, mediaType)
	if err != nil {
		return nil, err
	}
	defer repo.close()
	t, inner, err := repo.artifact(ctx, a, m, dir)
	if err != nil {
		return nil, err
	}
	files, isDir, err := t.files(ctx, inner, l.limits)
	return &fetched{files: files, dir: isDir, revision: digest}, err
}

// manifest reads the manifest that a tag or digest names. Its digest is that of the bytes that came, whatever the registry says.
func (r *ociRepo) manifest(ctx context.Context, reference string) (data []byte, mediaType, digest string, err error) {
	desc, body, err := r.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return nil, "", "", r.problem(err)
	}
	defer body.Close()
	if data, err = io.ReadAll(io.LimitReader(body, maxManifest+1)); err != nil {
		return nil, "", "", err
	}
	if len(data) > maxManifest {
		return nil, "", "", report.Hint("name an artifact of scripts and files", "its manifest is larger than %s", size(maxManifest))
	}
	want, got := string(desc.Digest), sha256Colon+hashOf(data)
	if isDigest(reference) {
		want = reference
	}
	if got != want {
		return nil, "", "", otherBytes("manifest", want, got)
	}
	return data, desc.MediaType, got, nil
}

func otherBytes(what, want, got string) error {
	return report.Hint("ask the registry's operator: what it stores is damaged, or somebody changes it on the way", "the registry sends other bytes than its %s has: want %s, got %s", what, want, got)
}

// blob copies what a descriptor describes, all of it and nothing else, to w.
func (r *ociRepo) blob(ctx context.Context, desc ocispec.Descriptor, w io.Writer) error {
	if !isDigest(string(desc.Digest)) {
		return report.Hint("push it again", "its manifest has a digest that is no SHA-256: %.80q", desc.Digest)
	}
	if desc.Size > r.limits.Download {
		return tooMuch(r.limits.Download)
	}
	r.item.restart()
	body, err := r.Blobs().Fetch(ctx, desc)
	if err != nil {
		return r.problem(err)
	}
	defer body.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(body, desc.Size+1))
	if err != nil {
		return err
	}
	if got := hexOf(sum); n != desc.Size || got != string(desc.Digest) {
		return otherBytes("manifest", fmt.Sprintf("%d bytes with %s", desc.Size, desc.Digest), fmt.Sprintf("%d with %s", n, got))
	}
	return nil
}

func hexOf(h hash.Hash) string { return sha256Colon + hex.EncodeToString(h.Sum(nil)) }

// asked is where oras-go says what it asked for: with a URL, to which a registry may have redirected, and a credential in it.
var asked = regexp.MustCompile(`\b(GET|HEAD) "[^"]*": `)

// problem is an error of oras-go in our words.
func (r *ociRepo) problem(err error) error {
	var own interface{ temporary() bool }
	var hinted interface {
		error
		Hint() string
	}
	var answer *errcode.ErrorResponse
	var status *statusError
	host := r.Reference.Registry
	switch {
	case errors.As(err, &status):
		return &statusError{status.code, host}
	case errors.As(err, &answer):
		return &statusError{answer.StatusCode, host}
	case errors.Is(err, errdef.ErrNotFound):
		return &statusError{http.StatusNotFound, host}
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return &statusError{http.StatusUnauthorized, host}
	case errors.As(err, &hinted):
		return hinted // and not what oras-go puts before it
	case errors.As(err, &own):
		return err
	}
	var op *url.Error
	if errors.As(err, &op) {
		return op
	}
	return fmt.Errorf("the registry's answer: %s", asked.ReplaceAllString(err.Error(), ""))
}

func (e *statusError) registryHint() string {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "log in with `docker login " + e.registry + "` or `oras login " + e.registry + "`; DOCKER_CONFIG names the folder of another login"
	case http.StatusNotFound:
		return "are the repository and the tag right? some registries say so too when a login is missing"
	case http.StatusTooManyRequests:
		return "wait, or log in with `docker login " + e.registry + "`: registries answer people whom they know more often"
	}
	return ""
}

// decodeManifest reads the manifest of one artifact.
func decodeManifest(data []byte, mediaType string) (*ocispec.Manifest, error) {
	var m struct {
		ocispec.Manifest
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, report.Hint("push it again", "its manifest is no JSON: %w", err)
	}
	if m.MediaType != "" && m.MediaType != mediaType {
		return nil, report.Hint("push it again", "its manifest says that it is %.80q, and the registry that it is %.80q", m.MediaType, mediaType)
	}
	switch mediaType {
	case ocispec.MediaTypeImageManifest, "application/vnd.docker.distribution.manifest.v2+json":
		return &m.Manifest, nil
	case ocispec.MediaTypeImageIndex, "application/vnd.docker.distribution.manifest.list.v2+json":
		return nil, report.Hint("name one by its digest, oci://HOST/REPOSITORY@sha256:DIGEST, or push the hooks alone: user data is made for all platforms", "it is an index of %s", listed(m.Manifests))
	}
	return nil, report.Hint("push it with `oras push`", "it is %.80q, and no artifact", mediaType)
}

// listed names some manifests of an index.
func listed(manifests []ocispec.Descriptor) string {
	const most = 4
	var names []string
	for _, m := range manifests[:min(len(manifests), most)] {
		platform := "no platform"
		if m.Platform != nil {
			platform = m.Platform.OS + "/" + m.Platform.Architecture
		}
		names = append(names, fmt.Sprintf("%.71s (%.40s)", m.Digest, platform))
	}
	if len(manifests) > most {
		names = append(names, fmt.Sprintf("%d more", len(manifests)-most))
	}
	return fmt.Sprintf("%d manifests: %s", len(manifests), strings.Join(names, ", "))
}
