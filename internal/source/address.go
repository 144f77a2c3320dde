package source

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/internal/report"
)

// address is a remote source, understood. go-getter's language is used: a getter before "::", a folder or file inside
// behind "//", ref=, checksum= and archive= among the query parameters, github.com/ORG/REPO for short.
type address struct {
	key     string // the source without credentials: what messages and the lock file call it
	kind    kind
	url     string // for go-getter: without getter and inner path
	inner   string // behind "//": a path or glob inside the repository or archive
	ref     string // git: what is asked for; "" is the default branch
	archive string // how the file is packed, "" when it is used as it is; of a registry, what archive= says
	pin     string // hex SHA-256 of the downloaded file, from checksum=
	name    string // base name of the downloaded file
	same    string // differs where two sources with one key do
	secrets []string
}

type kind string

const (
	kindGit    kind = "git"
	kindHTTP   kind = "http"
	kindBucket kind = "bucket"
	kindOCI    kind = "oci"
)

// IsRemote says whether a source is fetched, by its form alone.
func IsRemote(src string) bool {
	if name, _, ok := strings.Cut(src, "::"); ok && isWord(name) {
		return true
	}
	if name, _, ok := strings.Cut(src, "://"); ok && isWord(name) {
		return true
	}
	return strings.HasPrefix(src, "git@") || strings.HasPrefix(src, "github.com/") || strings.HasPrefix(src, "gitlab.com/")
}

// IsRegistry says whether a source is in a registry: what is there may be signed.
func IsRegistry(src string) bool { return strings.HasPrefix(src, ociScheme) }

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
}

const addressRemedy = "write git::https://HOST/REPO//PATH?ref=TAG, https://..., s3://BUCKET/KEY, gs://BUCKET/KEY or oci://HOST/REPOSITORY:TAG; local files as paths relative to the spec"

func parseAddress(src string) (*address, error) {
	a := &address{key: Redact(src), same: identity(src), secrets: secretsOf(src)}
	fail := func(remedy, format string, args ...any) (*address, error) {
		return nil, report.Hint(remedy, "source %q: %s", a.key, a.scrub(fmt.Sprintf(format, args...)))
	}
	rest, inner := getter.SourceDirSubdir(src)
	rest, params, _ := strings.Cut(rest, "?") // go-getter's detectors take it for a part of the path
	if named, ok := strings.CutPrefix(rest, ociScheme); ok {
		return a.parseOCI(named, inner, params, fail)
	}
	req := &getter.Request{Src: rest}
	for _, g := range getters() {
		ok, err := getter.Detect(req, g)
		if err != nil {
			return fail(addressRemedy, "%v", err)
		}
		if ok {
			a.kind = kindOf(g)
			break
		}
	}
	if a.kind == "" {
		return fail(addressRemedy, "is of no kind that kopshook fetches")
	}
	located, detected := getter.SourceDirSubdir(req.Src)
	a.inner = strings.Trim(path.Join(detected, inner), "/")
	if a.inner == ".." || strings.HasPrefix(a.inner, "../") {
		return fail("name a path inside it", "the path behind // leaves it")
	}
	u, err := url.Parse(located)
	if err != nil {
		return fail(addressRemedy, "is no URL")
	}
	u.RawQuery = params
	query, err := url.ParseQuery(params)
	if err != nil {
		return fail(addressRemedy, "invalid query string")
	}
	if query.Has("sshkey") {
		return fail("let ssh find the key, with an agent or ~/.ssh/config", "sshkey= would put a private key into the spec")
	}
	if a.pin, err = parseChecksum(query.Get("checksum")); err != nil {
		return fail("write checksum=sha256:HEX", "%v", err)
	}
	switch a.kind {
	case kindGit:
		return a.parseGit(u, query, fail)
	case kindBucket:
		if err := a.parseBucket(u); err != nil {
			return fail("write s3://BUCKET/KEY or gs://BUCKET/KEY; another S3 server is named by S3_ENDPOINT, as for kops", "%v", err)
		}
		if u, err = url.Parse(a.url); err != nil {
			return fail(addressRemedy, "is no URL")
		}
	case kindHTTP:
		if u.Host == "" {
			return fail(addressRemedy, "names no host")
		}
		a.url = u.String()
	}
	a.name = path.Base(u.Path)
	a.archive, err = packing(u.Path, query.Get("archive"))
	if err != nil {
		return fail("write archive=false to use the file as it is", "%v", err)
	}
	if a.inner != "" && a.archive == "" {
		remedy := "name an archive before //, such as .tar.gz or .zip; add archive=tar.gz if its name does not say so"
		if a.kind == kindHTTP {
			remedy = "a git repository is written git::" + a.key + "; an archive that its name does not show needs archive=tar.gz"
		}
		return fail(remedy, "only a repository or an archive has paths inside")
	}
	return a, nil
}

// plain says whether the source travels without encryption and nothing in the spec checks it.
func (a *address) plain() bool {
	return a.pin == "" && (strings.HasPrefix(a.url, "http://") || strings.HasPrefix(a.url, "git://"))
}

func (a *address) parseGit(u *url.URL, query url.Values, fail func(remedy, format string, args ...any) (*address, error)) (*address, error) {
	switch u.Scheme {
	case "https", "http", "ssh", "git", "file":
	default:
		return fail("write git::https://... or git::ssh://...", "git has no transport %q here", u.Scheme)
	}
	if query.Has("checksum") || query.Has("archive") {
		return fail("leave it out: the lock file pins what comes from git", "checksum= and archive= are for single files")
	}
	a.ref = query.Get("ref")
	if strings.HasPrefix(a.ref, "-") || strings.ContainsAny(a.ref, ":+^~?*[\\ \t\n") || strings.Contains(a.ref, "..") {
		return fail("write ref=TAG, ref=BRANCH or ref=COMMIT", "ref=%s is no name that git has", a.ref)
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.Path, "-") {
		return fail(addressRemedy, "is no URL")
	}
	a.url = u.String()
	return a, nil
}

// parseBucket turns all spellings into kops' own, s3://BUCKET/KEY and gs://BUCKET/KEY.
func (a *address) parseBucket(u *url.URL) error {
	query := u.RawQuery
	switch {
	case u.Scheme == "s3" || u.Scheme == "gs":
	case strings.HasSuffix(u.Host, ".amazonaws.com") || strings.HasSuffix(u.Host, ".amazonaws.com.cn"):
		p, err := vfs.VFSPath(u.Host + u.Path)
		if err != nil {
			return err
		}
		if u, err = url.Parse(p); err != nil {
			return err
		}
	case u.Host == "www.googleapis.com" && strings.HasPrefix(u.Path, "/storage/v1/"):
		bucket, object, _ := strings.Cut(strings.TrimPrefix(u.Path, "/storage/v1/"), "/")
		u = &url.URL{Scheme: "gs", Host: bucket, Path: "/" + object}
	default:
		return fmt.Errorf("%s is no address of S3 or Google Cloud Storage", u.Host)
	}
	if u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return fmt.Errorf("names no bucket and key")
	}
	a.url = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: query}).String()
	return nil
}

// parseChecksum returns the pin that checksum= means: a SHA-256 in hex. go-getter verifies checksums of other kinds
// when the source is locked; MD5 and SHA-1 are refused, since bytes can be made to fit them.
func parseChecksum(v string) (pin string, err error) {
	kind, sum, ok := strings.Cut(v, ":")
	if !ok {
		kind, sum = "sha256", v
	}
	switch {
	case v == "":
		return "", nil
	case strings.EqualFold(kind, "sha256"):
		if !isSHA256(strings.ToLower(sum)) {
			return "", fmt.Errorf("checksum=%s is no SHA-256 in hex: it has 64 digits", v)
		}
		return strings.ToLower(sum), nil
	case strings.EqualFold(kind, "sha512"), strings.EqualFold(kind, "file"):
		return "", nil
	}
	return "", fmt.Errorf("checksum=%s: %s protects nothing", v, kind)
}

func isSHA256(s string) bool {
	return len(s) == 64 && !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}
