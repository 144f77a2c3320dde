package fakecloud

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// storage serves objects to whoever may have them.
func (c *Cloud) storage(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	now := time.Now()
	if c.Fault == "clock" || c.Fault == "clock for ever" {
		now = now.Add(10 * time.Minute)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	}
	if c.isSecretStore(r.Host) {
		c.secrets(w, r, now)
		return
	}
	var key, problem string
	switch {
	case strings.HasSuffix(r.Host, "."+c.domain()):
		var region string
		key, region, problem = c.signed(r, now)
		if problem == "" && c.Region != "" && region != c.Region {
			w.Header().Set("x-amz-bucket-region", c.Region)
			w.Header().Set("Location", "https://elsewhere.example.com/")
			refuse(http.StatusMovedPermanently, "PermanentRedirect")
			return
		}
	case r.Host == "storage.googleapis.com":
		key, problem = gcsObject(r)
	case strings.HasSuffix(r.Host, ".blob.core.windows.net"):
		account, _, _ := strings.Cut(r.Host, ".")
		key = account + r.URL.Path
		if r.Header.Get("Authorization") != "Bearer azure:https://storage.azure.com/" || r.Header.Get("X-Ms-Version") == "" {
			problem = "AuthenticationFailed"
		}
	default: // a server that anybody may read
		key = r.Host + r.URL.Path
	}
	if problem == "" && (c.Fault == "denied" || c.Fault == "late rights" && count("storage") < 3) {
		problem = "AccessDenied"
	}
	if problem == "" && c.Fault == "expired" && count("storage") < 3 {
		problem = "ExpiredToken"
	}
	if problem != "" {
		refuse(http.StatusForbidden, problem)
		return
	}
	if c.Fault == "no bucket" {
		refuse(http.StatusNotFound, "NoSuchBucket")
		return
	}
	data, ok := c.Objects[key]
	if !ok {
		refuse(http.StatusNotFound, "NoSuchKey")
		return
	}
	c.send(w, r, data)
}

func (c *Cloud) send(w http.ResponseWriter, r *http.Request, data []byte) {
	size := len(data)
	if c.Fault == "wrong bytes" {
		data = append([]byte("x"), data[1:]...)
	}
	from, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"))
	status := http.StatusOK
	if r.Header.Get("Range") != "" && c.Fault != "half, always anew" {
		status, data = http.StatusPartialContent, data[from:]
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	if strings.HasPrefix(c.Fault, "half") {
		data = data[:len(data)/2+1]
		if len(data) > 1 {
			w.Write(data)
			http.NewResponseController(w).Flush() // else nothing of what is small arrives
			panic(http.ErrAbortHandler)
		}
	}
	w.Write(data)
}

// signed signs the request again with AWS's own signer and compares. It returns the object, BUCKET/KEY.
func (c *Cloud) signed(r *http.Request, now time.Time) (key, region, problem string) {
	host, service := strings.TrimSuffix(r.Host, "."+c.domain()), "s3"
	if host == r.Host || !strings.HasPrefix(r.Host, strings.Split(host, ".")[0]) {
		return "", "", "WrongDomain"
	}
	bucket, region, dotted := strings.Cut(host, ".s3.")
	if key = bucket + r.URL.Path; !dotted {
		region, key = strings.TrimPrefix(host, "s3."), strings.TrimPrefix(r.URL.Path, "/")
	}
	return key, region, signedFor(r, service, region, now)
}

// signedFor says what is wrong with the request's signature.
func signedFor(r *http.Request, service, region string, now time.Time) (problem string) {
	date, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return "MissingDate"
	}
	if now.Sub(date).Abs() > 5*time.Minute {
		return "RequestTimeTooSkewed"
	}
	again, _ := http.NewRequest(r.Method, "https://"+r.Host+r.URL.EscapedPath(), nil)
	for _, h := range strings.Split(between(r.Header.Get("Authorization"), "SignedHeaders=", ","), ";") {
		if h != "host" && h != "x-amz-date" && h != "x-amz-security-token" {
			again.Header.Set(h, r.Header.Get(h))
		}
	}
	v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
		SignHTTP(context.Background(), role, again, r.Header.Get("X-Amz-Content-Sha256"), service, region, date)
	if a := r.Header.Get("Authorization"); a == "" || a != again.Header.Get("Authorization") || r.Header.Get("X-Amz-Security-Token") != role.SessionToken {
		fmt.Fprintln(os.Stderr, "cloud: got", a, "want", again.Header.Get("Authorization"))
		return "SignatureDoesNotMatch"
	}
	return ""
}

func between(s, start, end string) string {
	_, s, _ = strings.Cut(s, start)
	s, _, _ = strings.Cut(s, end)
	return s
}

// gcsObject is the object that a request of the JSON API is for: GET /storage/v1/b/BUCKET/o/OBJECT?alt=media, where
// OBJECT is one segment of the path.
func gcsObject(r *http.Request) (key, problem string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/storage/v1/b/"), "/")
	if r.Host != "storage.googleapis.com" || len(parts) != 3 || parts[1] != "o" || r.URL.Query().Get("alt") != "media" {
		return "", "NotTheJSONAPI"
	}
	if r.Header.Get("Authorization") != "Bearer ya29.google" {
		return "", "Unauthorized"
	}
	object, _ := url.PathUnescape(parts[2])
	return parts[0] + "/" + object, ""
}
