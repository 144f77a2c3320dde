//go:build e2e

package pipelines

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// emptyBase serves a base image with nothing in it: ko's own is in a registry far away.
func emptyBase(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	base := strings.TrimPrefix(server.URL, "http://") + "/empty:latest"
	ref, err := name.ParseReference(base)
	if err != nil {
		t.Fatal(err)
	}
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		platform := v1.Platform{OS: "linux", Architecture: arch}
		image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: platform.OS, Architecture: arch, RootFS: v1.RootFS{Type: "layers"}})
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	return base
}

// image makes the image of the tree in dir, for one platform, and returns it.
func image(t *testing.T, dir, base string) v1.Image {
	t.Helper()
	run(t, dir, []string{"GOFLAGS=", "KO_DEFAULTBASEIMAGE=" + base, "KO_DEFAULTPLATFORMS=linux/" + runtime.GOARCH}, "make", "image")
	read, err := layout.ImageIndexFromPath(filepath.Join(dir, "dist", "image"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := read.IndexManifest()
	if err != nil || len(all.Manifests) != 1 || !all.Manifests[0].MediaType.IsImage() {
		t.Fatalf("%v: the layout holds not one image: %v", err, all)
	}
	image, err := read.Image(all.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// Two images of one commit, made in different folders, are the same. The program in them is the one of the archive.
func TestImagesAreReproducible(t *testing.T) {
	_, program := releases(t)
	base := emptyBase(t)
	one, two := image(t, twoReleases.dirs[0], base), image(t, twoReleases.dirs[1], base)
	digest, err := one.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := two.Digest(); again != digest || err != nil {
		t.Errorf("two images differ: %v, %v, %v", digest, again, err)
	}
	config, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(config.Config.Entrypoint, []string{"/ko-app/kopshook"}) {
		t.Errorf("the entry point is %q", config.Config.Entrypoint)
	}
	want, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(one)
	defer files.Close()
	found := false
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimPrefix(h.Name, "/") == "ko-app/kopshook" {
			got, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			found = true
			if string(got) != string(want) {
				t.Error("the program in the image is not the one of the archive")
			}
		}
	}
	if !found {
		t.Error("the program is not in the image")
	}
	if lists, err := os.ReadDir(filepath.Join(twoReleases.dirs[0], "dist", "image-sbom")); err != nil || len(lists) == 0 {
		t.Errorf("no list of what is in the image: %v", err)
	}
}
