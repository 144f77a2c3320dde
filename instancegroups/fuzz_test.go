package instancegroups_test

import (
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/instancegroups"
)

// FuzzMerge feeds anything: it may be refused, with errors that have a message, but what comes out must be right.
func FuzzMerge(f *testing.F) {
	for seed := range 40 {
		s := &style{Rand: rand.New(rand.NewSource(int64(seed))), step: 2, comments: true}
		s.list = 2 * s.Intn(2)
		f.Add([]byte(s.manifest()), "#!/bin/sh\necho hi\n", byte(seed))
	}
	for _, s := range jsonSeeds {
		f.Add([]byte(s), "tab\there\n", byte(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, content string, n byte) {
		parts := make([]kops.UserData, n%3)
		for i := range parts {
			parts[i] = kops.UserData{Name: fmt.Sprintf("kopshook-%d", i), Type: "text/cloud-config", Content: content}
			if n%2 == 0 {
				parts[i].Content = fmt.Sprintf("#cloud-config\n# %d\n%s", n, content)
			}
		}
		file, err := instancegroups.Parse("ig.yaml", data)
		if err != nil {
			checkErrors(t, err)
			return
		}
		for _, g := range file.Groups() {
			g.SetUserData(parts)
		}
		out, err := file.Bytes()
		if err != nil {
			checkErrors(t, err)
			return
		}
		checkMerge(t, data, out, parts)
	})
}

var jsonSeeds = []string{
	`{"kind":"InstanceGroup","apiVersion":"kops.k8s.io/v1alpha2","metadata":{"name":"a"},"spec":{"role":"Node","image":"x"}}` + "\n",
	`[{"kind":"InstanceGroup","apiVersion":"kops.k8s.io/v1alpha2","metadata":{"name":"a"},"spec":{"role":"Node","additionalUserData":[{"name":"u","type":"t","content":"c"}],"iam":{}}}` + "\n,{}]",
	"{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [\n    {\n      \"apiVersion\": \"kops.k8s.io/v1alpha3\",\n      \"kind\": \"InstanceGroup\",\n      \"metadata\": {\n        \"name\": \"a\"\n      },\n      \"spec\": {\n        \"image\": \"i\",\n        \"role\": \"Node\"\n      }\n    }\n  ]\n}\n",
}

// checkErrors checks that an error is a list of *Error with messages.
func checkErrors(t *testing.T, err error) {
	t.Helper()
	list, ok := err.(interface{ Unwrap() []error })
	all := []error{err}
	if ok {
		all = list.Unwrap()
	}
	for _, err := range all {
		var e *instancegroups.Error
		if !errors.As(err, &e) || e.Message == "" || e.File != "ig.yaml" {
			t.Fatalf("not a proper error: %#v", err)
		}
	}
}
