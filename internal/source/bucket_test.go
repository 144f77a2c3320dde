package source

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	storage "google.golang.org/api/storage/v1"
	"k8s.io/kops/util/pkg/vfs"
)

// bucketServer answers as S3 at /BUCKET/KEY and as Google Cloud Storage at /b/BUCKET/o/KEY.
func bucketServer(t *testing.T, objects map[string]string) *httptest.Server {
	t.Helper()
	below := func(prefix string) []string {
		var keys []string
		for key := range objects {
			if rest, ok := strings.CutPrefix(key, prefix); ok && !strings.Contains(rest, "/") {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		return keys
	}
	s3 := func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
		if r.URL.Query().Get("list-type") == "2" {
			type object struct{ Key string }
			result := struct {
				XMLName  xml.Name `xml:"ListBucketResult"`
				Contents []object
			}{}
			for _, k := range below(r.URL.Query().Get("prefix")) {
				result.Contents = append(result.Contents, object{k})
			}
			xml.NewEncoder(w).Encode(result)
			return
		}
		content, ok := objects[key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>`)
			return
		}
		io.WriteString(w, content)
	}
	gcs := func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/b/bucket/o"), "/")
		if key == "" {
			var items []string
			for _, k := range below(r.URL.Query().Get("prefix")) {
				items = append(items, fmt.Sprintf(`{"name": %q}`, k))
			}
			fmt.Fprintf(w, `{"items": [%s]}`, strings.Join(items, ","))
			return
		}
		content, ok := objects[key]
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error": {"code": 404, "message": "gone"}}`)
			return
		}
		io.WriteString(w, content)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/b/") {
			gcs(w, r)
		} else {
			s3(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	t.Setenv("S3_ENDPOINT", srv.URL)
	t.Setenv("S3_REGION", "us-east-1")
	t.Setenv("S3_ACCESS_KEY_ID", "id")
	t.Setenv("S3_SECRET_ACCESS_KEY", "secret")
	return srv
}

func useBuckets(t *testing.T, srv *httptest.Server) func(*Loader) {
	t.Helper()
	client, err := storage.NewService(context.Background(), option.WithEndpoint(srv.URL), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return func(l *Loader) { l.vfs = vfs.NewVFSContext().WithGCSClient(client) }
}

func TestBuckets(t *testing.T) {
	tgz := packed(t, tarOf(t, entry{"gpu/a", "packed", 0}), "gz")
	use := useBuckets(t, bucketServer(t, map[string]string{
		"x.sh": "#!/bin/sh\n", "gpu/10-a": "a", "gpu/9-b": "b", "gpu/.hidden": "h", "gpu/sub/x": "x", "gpu/": "", "hooks.tgz": string(tgz),
		"large": strings.Repeat("x", 5000), "huge": strings.Repeat("x", 2<<20),
	}))
	for _, scheme := range []string{"s3", "gs"} {
		for key, want := range map[string]string{
			"/x.sh":           "x.sh: \"#!/bin/sh\\n\"\n",
			"/gpu":            "10-a: \"a\"\n9-b: \"b\"\n",
			"/gpu/":           "10-a: \"a\"\n9-b: \"b\"\n",
			"/hooks.tgz//gpu": "a: \"packed\"\n",
			"/gone":           "error: source SRC: there is no such object, and none below it\nhint: is the URL right? an archive is followed by // and a path in it\n",
			"/gone.tgz":       "error: source SRC: there is no such object\nhint: is the URL right? an archive is followed by // and a path in it\n",
			"/large":          "error: source SRC: it is larger than 4096 bytes\nhint: have the node download it: a file with url: and sha256:, or in phase daemon the script itself\n",
			"/huge":           "error: source SRC: it is larger than 1 MiB\nhint: embed less; the node can download large files itself: url: and sha256:\n",
		} {
			src := scheme + "://bucket" + key
			t.Run(src, func(t *testing.T) {
				if diff := cmp.Diff(want, strings.Replace(got(fetchNew(t, src, use)), `"`+src+`"`, "SRC", 1)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Neither client can be told of a context while it waits.
func TestABucketThatStallsIsGivenUp(t *testing.T) {
	blocked := make(chan struct{})
	var asked func()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked()
		<-blocked
	}))
	defer srv.Close()
	defer close(blocked)
	t.Setenv("S3_ENDPOINT", srv.URL)
	t.Setenv("S3_ACCESS_KEY_ID", "id")
	t.Setenv("S3_SECRET_ACCESS_KEY", "secret")
	use := useBuckets(t, srv)
	for _, src := range []string{"s3://bucket/x", "gs://bucket/x"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		asked = cancel
		l := testLoader(t)
		use(l)
		if _, err := l.Lock(ctx, refsOf(specIn(t, nil), src), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", src, err, context.Canceled)
		}
	}
}
