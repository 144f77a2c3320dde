package localcluster

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
)

// bucket is as much of S3 as kops' state store needs: objects of one bucket, addressed by path.
type bucket struct {
	name    string
	mu      sync.Mutex
	objects map[string][]byte
}

func (b *bucket) put(key string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[key] = content
}

func (b *bucket) get(key string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.objects[key]
	return content, ok
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, "/"+b.name+"/")
	if !ok || key == "" {
		b.serveBucket(w, r)
		return
	}
	switch r.Method {
	case http.MethodPut:
		body := io.Reader(r.Body)
		if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING") { // chunks, each with its size in front
			body = httputil.NewChunkedReader(body)
		}
		content, err := io.ReadAll(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.put(key, content)
		w.Header().Set("ETag", `"0"`)
	case http.MethodGet, http.MethodHead:
		content, ok := b.get(key)
		if !ok {
			failS3(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"0"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content)
	case http.MethodDelete:
		b.mu.Lock()
		delete(b.objects, key)
		b.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (b *bucket) serveBucket(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodHead:
	case q.Has("location"):
		fmt.Fprintf(w, `%s<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">%s</LocationConstraint>`, xml.Header, region)
	case q.Has("encryption"):
		failS3(w, http.StatusNotFound, "ServerSideEncryptionConfigurationNotFoundError")
	case r.Method == http.MethodGet && (q.Has("list-type") || q.Has("prefix") || q.Has("delimiter")):
		b.list(w, q.Get("prefix"), q.Get("delimiter"))
	default:
		failS3(w, http.StatusNotFound, "NotImplemented")
	}
}

func failS3(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s<Error><Code>%s</Code></Error>", xml.Header, code)
}

// list answers ListObjectsV2, in one page.
func (b *bucket) list(w io.Writer, prefix, delimiter string) {
	type object struct {
		Key          string
		Size         int
		ETag         string
		LastModified string
	}
	type folder struct{ Prefix string }
	answer := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Name, Prefix   string
		KeyCount       int
		IsTruncated    bool
		Contents       []object
		CommonPrefixes []folder
	}{Name: b.name, Prefix: prefix}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if head, _, ok := strings.Cut(rest, delimiter); ok && delimiter != "" {
			f := folder{prefix + head + delimiter}
			if !slices.Contains(answer.CommonPrefixes, f) {
				answer.CommonPrefixes = append(answer.CommonPrefixes, f)
			}
			continue
		}
		answer.Contents = append(answer.Contents, object{key, len(b.objects[key]), `"0"`, "2026-01-01T00:00:00.000Z"})
	}
	answer.KeyCount = len(answer.Contents) + len(answer.CommonPrefixes)
	xml.NewEncoder(w).Encode(answer)
}
