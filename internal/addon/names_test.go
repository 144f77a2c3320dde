package addon

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAddonsShareNoObject: two addons of one cluster, whatever words their names and those of their specs are made of.
func TestAddonsShareNoObject(t *testing.T) {
	long := strings.Repeat("n", 40)
	made := map[string]string{}
	for _, tt := range []struct{ addon, spec string }{
		{"kopshook", "x-y"}, {"kopshook-x", "y"}, {"kopshook", "x-y-z"}, {"kopshook-x", "y-z"}, {"kopshook-x-y", "z"},
		{"kopshook", "x-status"}, {"kopshook-x", "s"}, {"kopshook", long + "-x-y"}, {"kopshook-" + long[:20], long[:20] + "-x-y"},
	} {
		a := build(t, Input{Options: Options{Name: tt.addon, Status: true}}, spec(tt.spec, "{}", one("h")))
		for _, o := range a.Objects {
			m := o.(metav1.ObjectMetaAccessor).GetObjectMeta()
			name := fmt.Sprintf("%T %s", o, m.GetName())
			if other := made[name]; other != "" && other != tt.addon {
				t.Errorf("%s is of addon %s and of addon %s", name, other, tt.addon)
			}
			made[name] = tt.addon
			if set, ok := o.(*appsv1.DaemonSet); ok {
				if set.Spec.Selector.MatchLabels[labelInstance] != set.Name || len(set.Name) > maxDaemonSetName {
					t.Errorf("the selector of DaemonSet %s is %v", set.Name, set.Spec.Selector.MatchLabels)
				}
			}
		}
	}
	if made["*v1.DaemonSet kopshook-x-y"] != "kopshook" {
		t.Error("the addon kopshook has other names than the documented ones")
	}
}

func TestIsImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for image, want := range map[string]bool{
		DefaultImage: true, DefaultStatusImage: true, "busybox": true, "busybox:1.36": true, "library/busybox@" + digest: true,
		"localhost/x": true, "registry:5000/a/b-c_d.e:T@" + digest: true, "Registry.example.com/x": true, "[::1]:5000/x": true,
		"x@sha512:" + strings.Repeat("0", 128): true,
		"":                                     false, "UPPER/x": false, "a:b:c": false, "x@sha256:zz": false, "x@sha256:" + strings.Repeat("0", 63): false, "a b": false,
		"a//b": false, "/a": false, "a/": false, "-a": false, "a:": false, "x:-t": false, "x@" + digest + ":t": false, "https://a.b/c": false,
	} {
		if isImage(image) != want {
			t.Errorf("%q is an image: %v", image, !want)
		}
	}
}
