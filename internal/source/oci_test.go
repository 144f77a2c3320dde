package source

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// ociServer is a registry on loopback: go-containerregistry's own.
type ociServer struct {
	t    *testing.T
	host string
}

// newRegistry starts one; wrap, if it is not nil, stands before it for all but what the test itself pushes.
func newRegistry(t *testing.T, wrap func(http.Handler) http.Handler) *ociServer {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	own := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	asked := own
	if wrap != nil {
		asked = wrap(own)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Push") != "" {
			own.ServeHTTP(w, r)
		} else {
			asked.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return &ociServer{t, strings.TrimPrefix(srv.URL, "http://")}
}

func (s *ociServer) send(method, path, mediaType string, body []byte) {
	s.t.Helper()
	req, err := http.NewRequest(method, "http://"+s.host+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Push", "1")
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
		s.t.Fatalf("%s %s: %s %s", method, path, resp.Status, said)
	}
}

// layer is a layer to push: a title, unless it is empty, and what it holds.
type layer struct{ title, mediaType, content string }

func (s *ociServer) layers(repo string, layers ...layer) []ocispec.Descriptor {
	s.t.Helper()
	var all []ocispec.Descriptor
	for _, l := range layers {
		d := ocispec.Descriptor{MediaType: l.mediaType, Digest: digest.Digest("sha256:" + hexDigest(l.content)), Size: int64(len(l.content))}
		if l.title != "" {
			d.Annotations = map[string]string{ocispec.AnnotationTitle: strings.TrimSuffix(l.title, "/")}
		}
		if strings.HasSuffix(l.title, "/") {
			d.Annotations[unpackAnnotation] = "true"
		}
		s.send("POST", "/v2/"+repo+"/blobs/uploads/?digest="+string(d.Digest), "application/octet-stream", []byte(l.content))
		all = append(all, d)
	}
	return all
}

// push pushes an artifact as oras does, and returns its digest.
func (s *ociServer) push(repo, tag string, layers ...layer) string {
	s.t.Helper()
	config := s.layers(repo, layer{"", "application/vnd.oci.empty.v1+json", "{}"})[0]
	return s.manifest(repo, tag, ocispec.MediaTypeImageManifest, ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: s.layers(repo, layers...)})
}

func (s *ociServer) manifest(repo, tag, mediaType string, m any) string {
	s.t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	if tag == "" {
		tag = "sha256:" + hexDigest(string(data))
	}
	s.send("PUT", "/v2/"+repo+"/manifests/"+tag, mediaType, data)
	return "sha256:" + hexDigest(string(data))
}

const (
	plainFile = "application/vnd.oci.image.layer.v1.tar" // what oras writes of any file
	hello     = "#!/bin/sh\necho hello\n"
)

// hexDigest is what an address of content has behind sha256:.
func hexDigest(s string) string { return hashOf([]byte(s)) }

func TestRegistry(t *testing.T) {
	s := newRegistry(t, nil)
	tgz := string(packed(t, tarOf(t, entry{"gpu/10-a", "a", 0}, entry{"gpu/20-b", "b", 0}), "gz"))
	digest := s.push("team/driver", "v1", layer{"driver.sh", plainFile, hello})
	s.push("team/untitled", "v1", layer{"", "application/x-sh", hello})
	s.push("team/hooks", "v1", layer{"10-a", plainFile, "a"}, layer{"20-b", plainFile, "b"}, layer{"sub/c", plainFile, "c"}, layer{"large", plainFile, strings.Repeat("x", 5000)})
	s.push("team/small", "v1", layer{"10-a", plainFile, "a"}, layer{"20-b", plainFile, "b"}, layer{"sub/c", plainFile, "c"})
	s.push("team/image", "v1", layer{"", "application/vnd.docker.image.rootfs.diff.tar.gzip", tgz})
	s.push("team/flux", "v1", layer{"", "application/vnd.cncf.flux.content.v1.tar+gzip", tgz})
	s.push("team/tar", "v1", layer{"", ocispec.MediaTypeImageLayer, string(tarOf(t, entry{"a", "a", 0}))})
	s.push("team/folder", "v1", layer{"gpu/", plainFile, tgz})
	s.push("team/folders", "v1", layer{"gpu/", plainFile, tgz}, layer{"x", plainFile, "x"})
	s.push("team/archive", "v1", layer{"hooks.tar.gz", plainFile, tgz})
	const gpu = "10-a: \"a\"\n20-b: \"b\"\n"
	for name, want := range map[string]string{
		"team/driver:v1":                                 fmt.Sprintf("driver: %q\n", hello),
		"team/driver@" + digest:                          fmt.Sprintf("driver: %q\n", hello),
		"team/driver:v1@" + digest:                       fmt.Sprintf("driver: %q\n", hello),
		"team/driver:v1//driver.sh":                      fmt.Sprintf("driver.sh: %q\n", hello),
		"team/untitled:v1":                               fmt.Sprintf("untitled: %q\n", hello),
		"team/small:v1":                                  gpu,
		"team/hooks:v1//sub":                             "c: \"c\"\n",
		"team/hooks:v1//20-b":                            "20-b: \"b\"\n",
		"team/image:v1//gpu":                             gpu,
		"team/flux:v1//gpu":                              gpu,
		"team/tar:v1":                                    "a: \"a\"\n",
		"team/folder:v1//gpu":                            gpu,
		"team/folders:v1//gpu":                           gpu,
		"team/folders:v1":                                "x: \"x\"\n",
		"team/archive:v1//gpu":                           gpu,
		"team/archive:v1//*/10-a":                        "10-a: \"a\"\n",
		"team/archive:v1?archive=false":                  fmt.Sprintf("archive: %q\n", tgz),
		"team/untitled:v1?version=x":                     fmt.Sprintf("untitled: %q\n", hello),
		"team/driver:v2":                                 "error: source SRC: the server says 404 Not Found\nhint: are the repository and the tag right? some registries say so too when a login is missing\n",
		"team/none:v1":                                   "error: source SRC: the server says 404 Not Found\nhint: are the repository and the tag right? some registries say so too when a login is missing\n",
		"team/hooks:v1":                                  "error: source SRC: it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n",
		"team/hooks:v1//none":                            "error: source SRC: it holds no \"none\"\n",
		"team/hooks:v1?archive=zip":                      "error: source SRC: archive= is for artifacts of one layer, and this one has 4\nhint: leave it out, or push one file\n",
		"team/driver:v1?archive=tar":                     "error: source SRC: it cannot be unpacked: unexpected EOF\nhint: compare it with what its publisher says; archive=false uses a file as it is\n",
		"team/driver@sha256:" + strings.Repeat("0a", 32): "error: source SRC: the server says 404 Not Found\nhint: are the repository and the tag right? some registries say so too when a login is missing\n",
	} {
		t.Run(name, func(t *testing.T) {
			src := ociScheme + s.host + "/" + name
			if diff := cmp.Diff(want, strings.Replace(got(fetchNew(t, src, nil)), fmt.Sprintf("%q", src), "SRC", 1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a registry may hold, and what is said of it.
func TestRegistryOfBadArtifacts(t *testing.T) {
	s := newRegistry(t, nil)
	config := s.layers("r", layer{"", "application/vnd.oci.empty.v1+json", "{}"})[0]
	of := func(layers ...ocispec.Descriptor) ocispec.Manifest {
		return ocispec.Manifest{Config: config, Layers: layers}
	}
	file := s.layers("r", layer{"a", plainFile, hello})[0]
	with := func(change func(*ocispec.Descriptor)) ocispec.Descriptor {
		d := file
		change(&d)
		return d
	}
	other := file
	other.Digest = digest.Digest("sha512:" + hexDigest("x") + hexDigest("y"))
	var many []ocispec.Descriptor
	for i := range 11 {
		many = append(many, with(func(d *ocispec.Descriptor) { d.Annotations = map[string]string{ocispec.AnnotationTitle: fmt.Sprint(i)} }))
	}
	index := ocispec.Index{Manifests: []ocispec.Descriptor{{Digest: config.Digest, Size: 2, MediaType: config.MediaType, Platform: &ocispec.Platform{OS: "linux", Architecture: "arm64"}}, config, config, config, config}}
	untitled := with(func(d *ocispec.Descriptor) { d.Annotations = nil })
	const oci, list = ocispec.MediaTypeImageManifest, "application/vnd.docker.distribution.manifest.list.v2+json"
	for name, c := range map[string]struct {
		mediaType string
		manifest  any
		want      string
	}{
		"no layers":               {oci, of(), "it has no layers"},
		"an index":                {ocispec.MediaTypeImageIndex, index, "it is an index of 5 manifests: " + string(config.Digest) + " (linux/arm64), " + string(config.Digest) + " (no platform), " + string(config.Digest) + " (no platform), " + string(config.Digest) + " (no platform), 1 more\nhint: name one by its digest"},
		"an index of docker's":    {list, index, "it is an index of 5 manifests"},
		"of docker's first kind":  {"application/vnd.docker.distribution.manifest.v1+json", of(), "it is \"application/vnd.docker.distribution.manifest.v1+json\", and no artifact"},
		"two kinds at once":       {oci, ocispec.Manifest{MediaType: list, Config: config}, "its manifest says that it is \"" + list + "\", and the registry that it is \"" + oci + "\""},
		"an image of two layers":  {oci, of(untitled, untitled), "layer 1 of 2 has no title (\"" + plainFile + "\"): of images only those of one layer are read"},
		"a title that leads out":  {oci, of(file, with(func(d *ocispec.Descriptor) { d.Annotations = map[string]string{ocispec.AnnotationTitle: "../x"} })), "it holds an entry called \"../x\""},
		"an absolute title":       {oci, of(file, with(func(d *ocispec.Descriptor) { d.Annotations = map[string]string{ocispec.AnnotationTitle: "/etc/x"} })), "it holds an entry called \"/etc/x\""},
		"a title twice":           {oci, of(file, file), "it holds \"a\" twice"},
		"too many files":          {oci, of(many...), "holds more than 10 files"},
		"another hash":            {oci, of(other), "its manifest has a digest that is no SHA-256: \"sha512:"},
		"a size that is too much": {oci, of(file, with(func(d *ocispec.Descriptor) { d.Size = 1 << 20 })), "it is larger than 1 MiB"},
		"a negative size":         {oci, of(with(func(d *ocispec.Descriptor) { d.Size = -1 })), "it is larger than 1 MiB"},
		"a size that is less":     {oci, of(with(func(d *ocispec.Descriptor) { d.Size-- })), "the registry's answer: mismatch Content-Length"},
	} {
		t.Run(name, func(t *testing.T) {
			digest := s.manifest("r", "", c.mediaType, c.manifest)
			src := ociScheme + s.host + "/r@" + digest
			said := got(fetchNew(t, src, nil))
			if !strings.HasPrefix(said, fmt.Sprintf("error: source %q: ", src)) || !strings.Contains(said, c.want) {
				t.Errorf("%s, want %s", said, c.want)
			}
		})
	}
}

// What a registry may do, and what is said of it.
func TestRegistryThatMisbehaves(t *testing.T) {
	is := func(r *http.Request, what string) bool { return strings.Contains(r.URL.Path, "/"+what+"/") }
	answer := func(what string, do http.HandlerFunc) func(http.Handler) http.Handler {
		return func(own http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if is(r, what) {
					do(w, r)
				} else {
					own.ServeHTTP(w, r)
				}
			})
		}
	}
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, `{"errors":[{"code":"X","message":"words of the server"}]}`)
		}
	}
	manifest := func(content string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			w.Header().Set("Docker-Content-Digest", "sha256:"+hexDigest("another one"))
			io.WriteString(w, content)
		}
	}
	const login = "hint: log in with `docker login HOST` or `oras login HOST`; DOCKER_CONFIG names the folder of another login\n"
	for name, c := range map[string]struct {
		wrap func(http.Handler) http.Handler
		want string
	}{
		"401":                      {answer("manifests", status(401, "WWW-Authenticate", `Basic realm="x"`)), "the server says 401 Unauthorized\n" + login},
		"401 and no way to log in": {answer("manifests", status(401)), "the server says 401 Unauthorized\n" + login},
		"403":                      {answer("blobs", status(403)), "the server says 403 Forbidden\n" + login},
		"429":                      {answer("manifests", status(429)), "the server says 429 Too Many Requests (tried 3 times)\nhint: wait, or log in with `docker login HOST`: registries answer people whom they know more often\n"},
		"500":                      {answer("blobs", status(500)), "the server says 500 Internal Server Error (tried 3 times)\n"},
		"a token that is refused":  {answer("manifests", status(401, "WWW-Authenticate", `Bearer realm="http://HOST/v2/blobs/x",service="s"`)), "the server says 400 Bad Request\n"},
		"a token from elsewhere":   {answer("manifests", status(401, "WWW-Authenticate", `Bearer realm="http://registry.example.com/token",service="s"`)), "the registry sends us to registry.example.com without encryption\nhint: "},
		"a blob elsewhere":         {answer("blobs", status(307, "Location", "http://registry.example.com/blob?X-Amz-Signature=SECRET")), "the registry sends us to registry.example.com without encryption\nhint: "},
		"redirects for ever":       {answer("blobs", status(307, "Location", "/v2/r/blobs/x")), "the server redirects more than 10 times"},
		"another manifest":         {answer("manifests", manifest("{}")), "the registry sends other bytes than its manifest has: want sha256:" + hexDigest("another one") + ", got sha256:" + hexDigest("{}")},
		"a manifest without an end": {answer("manifests", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5000000")
			manifest(strings.Repeat(" ", 5000000))(w, r)
		}), "its manifest is larger than 4 MiB\nhint: "},
		"no manifest": {answer("manifests", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "<html")
		}), "its manifest is no JSON: "},
		"other bytes of the same size": {answer("blobs", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.ToUpper(hello)) }), "the registry sends other bytes than its manifest has: want 21 bytes with sha256:"},
		"half a blob": {answer("blobs", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(hello)))
			io.WriteString(w, hello[:5])
		}), "unexpected EOF (tried 3 times)"},
		"a blob without an end": {answer("blobs", func(w http.ResponseWriter, r *http.Request) { io.CopyN(w, endless{}, 9<<20) }), "the registry sends other bytes than its manifest has: want 21 bytes with sha256:"},
		"silence":               {answer("blobs", func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); <-r.Context().Done() }), "the server sent nothing for 100ms (tried 3 times)"},
		"hangs up":              {answer("manifests", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), "EOF (tried 3 times)"},
	} {
		t.Run(name, func(t *testing.T) {
			var host string
			s := newRegistry(t, func(own http.Handler) http.Handler {
				next := c.wrap(own)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(answerOf{w, host}, r) })
			})
			host = s.host
			s.push("r", "v1", layer{"driver.sh", plainFile, hello})
			src := ociScheme + s.host + "/r:v1"
			said := got(fetchNew(t, src, func(l *Loader) {
				l.Limits.Download = 8 << 20
				if name == "silence" { // a short limit is for that alone: a server that works may be slow on a busy machine
					l.Limits.Stall = 100 * time.Millisecond
				}
			}))
			want := strings.ReplaceAll(c.want, "HOST", s.host)
			if rest, ok := strings.CutPrefix(said, fmt.Sprintf("error: source %q: ", src)); !ok || !strings.HasPrefix(rest, want) || strings.Contains(said, "SECRET") || len(said) > 1500 {
				t.Errorf("%s, want %s", said, want)
			}
		})
	}
}

// answerOf puts the server's host into its headers.
type answerOf struct {
	http.ResponseWriter
	host string
}

func (n answerOf) WriteHeader(code int) {
	for _, values := range n.Header() {
		values[0] = strings.ReplaceAll(values[0], "HOST", n.host)
	}
	n.ResponseWriter.WriteHeader(code)
}

func (n answerOf) Flush() { n.ResponseWriter.(http.Flusher).Flush() }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A registry that is busy is asked again.
func TestRegistryThatIsBusyIsAskedAgain(t *testing.T) {
	var n atomic.Int32
	s := newRegistry(t, func(own http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) < 3 {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			own.ServeHTTP(w, r)
		})
	})
	s.push("r", "v1", layer{"driver.sh", plainFile, hello})
	if diff := cmp.Diff(fmt.Sprintf("r: %q\n", hello), got(fetchNew(t, ociScheme+s.host+"/r:v1", nil))); diff != "" {
		t.Error(diff)
	}
}

// Logins are those of docker: by password, by token, and from a program that keeps them. None is ever shown.
func TestLoginAtARegistry(t *testing.T) {
	const password = "p4ssw0rd-of-n0body"
	right := func(r *http.Request) bool {
		user, pass, _ := r.BasicAuth()
		return user == "me" && pass == password
	}
	ways := map[string]func(http.Handler) http.Handler{
		"basic": func(own http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if right(r) {
					own.ServeHTTP(w, r)
					return
				}
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				io.WriteString(w, r.Header.Get("Authorization"))
			})
		},
		"token": func(own http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/token" && right(r) && r.URL.Query().Get("scope") == "repository:r:pull":
					io.WriteString(w, `{"token": "t0ken"}`)
				case r.URL.Path == "/token":
					w.WriteHeader(http.StatusUnauthorized)
					io.WriteString(w, r.Header.Get("Authorization"))
				case r.Header.Get("Authorization") == "Bearer t0ken":
					own.ServeHTTP(w, r)
				default:
					w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
					w.WriteHeader(http.StatusUnauthorized)
				}
			})
		},
	}
	encoded := func(login string) string { return base64.StdEncoding.EncodeToString([]byte(login)) }
	const refused = "error: source SRC: the server says 401 Unauthorized\nhint: log in with `docker login HOST` or `oras login HOST`; DOCKER_CONFIG names the folder of another login\n"
	want := fmt.Sprintf("r: %q\n", hello)
	for way, wrap := range ways {
		for name, c := range map[string]struct{ config, want string }{
			"the right one":   {`{"auths": {"HOST": {"auth": "` + encoded("me:"+password) + `"}}}`, want},
			"from a program":  {`{"credHelpers": {"HOST": "test"}}`, want},
			"a wrong one":     {`{"auths": {"HOST": {"auth": "` + encoded("me:"+password+"x") + `"}}}`, refused},
			"of another":      {`{"auths": {"registry.example.com": {"auth": "` + encoded("me:"+password) + `"}}}`, refused},
			"none":            {``, refused},
			"no JSON":         {`{"auths": `, "error: source SRC: docker's config.json: "},
			"no such program": {`{"credHelpers": {"HOST": "none"}}`, "error: source SRC: the login for HOST: "},
		} {
			t.Run(way+": "+name, func(t *testing.T) {
				s := newRegistry(t, wrap)
				s.push("r", "v1", layer{"driver.sh", plainFile, hello})
				dir := os.Getenv("DOCKER_CONFIG")
				if c.config != "" {
					write(t, dir, map[string]string{"config.json": strings.ReplaceAll(c.config, "HOST", s.host)})
				}
				helper := "#!/bin/sh\ncat > /dev/null\necho '{\"Username\": \"me\", \"Secret\": \"" + password + "\"}'\n"
				if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(helper), 0o755); err != nil {
					t.Fatal(err)
				}
				t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
				src := ociScheme + s.host + "/r:v1"
				said := strings.NewReplacer(fmt.Sprintf("%q", src), "SRC", s.host, "HOST").Replace(got(fetchNew(t, src, nil)))
				if !strings.HasPrefix(said, c.want) || strings.Contains(said, password) || strings.Contains(said, encoded("me:" + password)[:12]) {
					t.Errorf("%s, want %s", said, c.want)
				}
			})
		}
	}
}

// A login goes to the registry alone, wherever it sends us for blobs.
func TestLoginIsNotSentElsewhere(t *testing.T) {
	var leaked atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(r.Header.Get("Authorization"))
		io.WriteString(w, hello)
	}))
	defer elsewhere.Close()
	s := newRegistry(t, func(own http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := r.BasicAuth(); !ok {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			} else if strings.Contains(r.URL.Path, "/blobs/") {
				http.Redirect(w, r, elsewhere.URL+"/blob", http.StatusTemporaryRedirect)
			} else {
				own.ServeHTTP(w, r)
			}
		})
	})
	s.push("r", "v1", layer{"driver.sh", plainFile, hello})
	write(t, os.Getenv("DOCKER_CONFIG"), map[string]string{"config.json": `{"auths": {"` + s.host + `": {"auth": "bWU6aGlkZGVu"}}}`})
	if diff := cmp.Diff(fmt.Sprintf("r: %q\n", hello), got(fetchNew(t, ociScheme+s.host+"/r:v1", nil))); diff != "" {
		t.Error(diff)
	}
	if sent := leaked.Load(); sent != "" {
		t.Errorf("the other server got %v", sent)
	}
}

// A tag that moves changes nothing of what is locked.
func TestTagThatMoves(t *testing.T) {
	s := newRegistry(t, nil)
	first := s.push("r", "v1", layer{"driver.sh", plainFile, hello})
	src := ociScheme + s.host + "/r:v1"
	l, spec := testLoader(t), specIn(t, nil)
	if err := lockAll(t, l, spec, src); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(lockPath(spec))
	if err != nil {
		t.Fatal(err)
	}
	entry := "  - source: " + src + "\n    revision: " + first + "\n    sha256: " + hashOf([]byte(hello)) + "\n    size: 21\n"
	if diff := cmp.Diff(lockHeader+"version: 1\nsources:\n"+entry, string(lock)); diff != "" {
		t.Error(diff)
	}
	second := s.push("r", "v1", layer{"driver.sh", plainFile, "#!/bin/sh\necho moved\n"})
	fresh := func() *Loader { l := testLoader(t); return l } // of another machine: its cache is empty
	if diff := cmp.Diff(fmt.Sprintf("r: %q\n", hello), got(fresh().Load(t.Context(), Ref{spec, src, true}))); diff != "" {
		t.Error(diff)
	}
	offline := fresh()
	offline.Offline = true
	if said := got(offline.Load(t.Context(), Ref{spec, src, true})); !strings.Contains(said, "is neither vendored nor in the cache") {
		t.Error(said)
	}
	cached := again(l)
	cached.Offline = true
	if diff := cmp.Diff(fmt.Sprintf("r: %q\n", hello), got(cached.Load(t.Context(), Ref{spec, src, true}))); diff != "" {
		t.Error(diff)
	}
	changes, err := fresh().Lock(t.Context(), refsOf(spec, src), func(Ref) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{src}, changes[0].Changed()); diff != "" || changes[0].New.Sources[0].Revision != second {
		t.Errorf("%s %+v", diff, changes[0].New.Sources)
	}
	req, _ := http.NewRequest(http.MethodDelete, "http://"+s.host+"/v2/r/manifests/"+first, nil)
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode >= 400 {
		t.Fatal(resp, err)
	}
	if said := got(fresh().Load(t.Context(), Ref{spec, src, true})); !strings.Contains(said, "the server says 404 Not Found") {
		t.Error(said)
	}
}
