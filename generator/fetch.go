package generator

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const cloudName = "kopshook-003-cloud.sh"

// isEmbedded says whether user data, or the archive, has the file's bytes.
func (f *File) isEmbedded() bool { return len(f.URLs) == 0 && f.Secret == "" }

// BucketURLPattern matches the address of an object in a bucket (RE2).
const BucketURLPattern = `^(s3|gs)://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[^/?#\x00-\x20\x7f]+)+$|^azureblob://[a-z0-9]{3,24}/[a-z0-9][a-z0-9-]{1,61}[a-z0-9](/[^/?#\x00-\x20\x7f]+)+$`

var bucketURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(BucketURLPattern) })

// URLError says why nodes cannot download from u, and what to do; wrong is empty when they can.
func URLError(u string) (wrong, remedy string) {
	parsed, err := url.Parse(u)
	switch {
	case err == nil && parsed.User != nil:
		return "holds a user or password: everybody who sees user data could read it", "let the node read a bucket as itself (s3://, gs://, azureblob://), or give an address that is signed"
	case strings.HasPrefix(u, "s3://"), strings.HasPrefix(u, "gs://"), strings.HasPrefix(u, "azureblob://"):
		if !bucketURL().MatchString(u) {
			return "is not the address of an object", "write s3://BUCKET/KEY, gs://BUCKET/KEY or azureblob://ACCOUNT/CONTAINER/KEY: the key as it is, without blanks and without a query"
		}
	case strings.ContainsFunc(u, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "holds a blank or a control character", "escape odd characters as %XX"
	case err != nil:
		return "is not a URL", "escape odd characters as %XX"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return "has a scheme that nodes cannot download from", "use http, https, s3, gs or azureblob, or embed the file with `source`"
	case strings.Contains(u, "#"): // the node's log would show it, and it may be a token
		return "holds a #fragment, which no server gets", "remove it; a # of the path is %23"
	case strings.ContainsFunc(u, func(r rune) bool { return r > 0x7f }):
		return "is not a URL", "escape odd characters as %XX"
	case parsed.Host == "":
		return "has no host", ""
	}
	return "", ""
}

// secretForms are the stores that nodes can ask, and what they call a secret there.
var secretForms = []struct{ scheme, name, says string }{
	{"aws-ssm", `/?[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*|arn:aws[a-z-]*:ssm:[a-z0-9-]+:[0-9]{12}:parameter/[A-Za-z0-9_./-]+`, "aws-ssm:NAME, or the ARN of a parameter for NAME"},
	{"aws-secretsmanager", `[A-Za-z0-9/_+=.@-]+|arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+`, "aws-secretsmanager:NAME, or the ARN of a secret for NAME"},
	{"gcp-secretmanager", `[A-Za-z0-9_-]+|projects/[a-z0-9:.-]+/secrets/[A-Za-z0-9_-]+(/versions/[A-Za-z0-9_-]+)?`, "gcp-secretmanager:NAME or gcp-secretmanager:projects/PROJECT/secrets/NAME, with /versions/VERSION if it is not the latest"},
	{"azure-keyvault", `[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]/[A-Za-z0-9-]{1,127}(/[0-9a-f]{32})?`, "azure-keyvault:VAULT/NAME, with /VERSION if it is not the latest"},
}

// SecretPattern matches what Secret of a File may be (RE2, not anchored): STORE:NAME, then #KEY for one value of a
// secret that is JSON.
var SecretPattern = func() string {
	var forms []string
	for _, f := range secretForms {
		forms = append(forms, f.scheme+":("+f.name+")")
	}
	return "(" + strings.Join(forms, "|") + ")(#[A-Za-z0-9_.-]+)?"
}()

var secretPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(" + SecretPattern + ")$") })

// SecretError says why s names no secret, and what to write; wrong is empty when it does.
func SecretError(s string) (wrong, remedy string) {
	scheme, _, _ := strings.Cut(s, ":")
	var schemes []string
	for _, f := range secretForms {
		if f.scheme == scheme && !secretPattern().MatchString(s) {
			return "names no secret of " + f.scheme, "write " + f.says + ", and #KEY behind it for one value of a secret that is JSON"
		}
		schemes = append(schemes, f.scheme)
	}
	if !slices.Contains(schemes, scheme) {
		return "does not begin with a store that nodes can ask", "write STORE:NAME, with one of " + strings.Join(schemes, ", ")
	}
	return "", ""
}

// fetches says whether the hook downloads with curl or wget.
func (h *hook) fetches() bool {
	return slices.ContainsFunc(h.Files, func(f File) bool { return slices.ContainsFunc(f.URLs, isWeb) })
}

func isWeb(u string) bool {
	u = strings.ToLower(u)
	return strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://")
}

// asksCloud returns the schemes of what the hook brings as the machine.
func (h *hook) asksCloud() (schemes []string) {
	for _, f := range h.Files {
		for _, address := range append(slices.Clip(f.URLs), f.Secret) {
			if scheme, _, _ := strings.Cut(address, ":"); scheme != "" && !isWeb(address) {
				schemes = append(schemes, scheme)
			}
		}
	}
	return schemes
}

// cloudHelper returns the helper that brings what hooks ask the cloud for, "" when none does.
func (m *model) cloudHelper() string {
	var schemes []string
	for _, h := range m.hooks {
		schemes = append(schemes, h.asksCloud()...)
	}
	if len(schemes) == 0 {
		return ""
	}
	slices.Sort(schemes)
	reader, err := m.runtime.Reader(slices.Compact(schemes))
	if err != nil {
		panic(err) // validate knows the schemes
	}
	return strings.Replace(m.runtime.Cloud, "@reader@", base64.StdEncoding.EncodeToString(gzipped([]byte(reader))), 1)
}

// brings returns the commands of which one brings file i: neighbours of one helper are one command, in the order of
// the mirrors. A secret of a hook that runs on every boot is kept in memory: its path is a link.
func (h *hook) brings(s *steps, at surroundings, f File, i int, path string) (commands []string) {
	if f.Secret != "" {
		place := path
		if h.EveryBoot && !strings.HasPrefix(f.Path, "/run/") {
			place = fmt.Sprintf("/run/kopshook/secrets/%s/%d", h.Name, i)
		}
		return []string{fmt.Sprintf(`/bin/sh %s "$0" %s %s %04o %s - %s`, at.cloud, path, place, f.Mode, f.Owner, s.arg(f.Secret))}
	}
	sum := strings.ToLower(f.SHA256)
	for j, u := range f.URLs {
		switch {
		case j > 0 && isWeb(u) == isWeb(f.URLs[j-1]):
			commands[len(commands)-1] += " " + s.arg(u)
		case isWeb(u):
			commands = append(commands, fmt.Sprintf("/bin/sh %s %s %04o %s %s %s", at.fetch, path, f.Mode, f.Owner, sum, s.arg(u)))
		default:
			commands = append(commands, fmt.Sprintf(`/bin/sh %s "$0" %s %s %04o %s %s %s`, at.cloud, path, path, f.Mode, f.Owner, sum, s.arg(u)))
		}
	}
	return commands
}
