package localcluster

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// mirror serves release files under the names that kops gives them, and NAME.sha256 of each.
type mirror struct {
	files  map[string]func() io.ReadSeeker // by path
	sums   sync.Map                        // path to hash
	served sync.Map                        // path to true
}

// kubernetesVersion is one whose hashes kops does not know, so that it asks the mirror
// (k8s.io/kops/pkg/assets/assetdata has those of releases).
const kubernetesVersion = "1.36.99"

// placeholder is what no node of the tests uses, and kops wants the hash of.
const placeholder = "not a program\n"

// newMirror lays out the programs of a folder as kops downloads them.
func newMirror(programs, kopsVersion string) (*mirror, error) {
	m := &mirror{files: map[string]func() io.ReadSeeker{}}
	if err := m.archive("/containerd.tar.gz", programs, "bin/", "containerd", "containerd-shim-runc-v2", "ctr"); err != nil {
		return nil, err
	}
	if err := m.archive("/cni.tgz", programs, "./", "bridge", "host-local", "loopback", "portmap"); err != nil {
		return nil, err
	}
	m.program("/runc.amd64", filepath.Join(programs, "runc"))
	release, tools := "/release/v"+kubernetesVersion+"/bin/linux/", "/kops/"+kopsVersion+"/linux/"
	m.program(release+"amd64/kubelet", filepath.Join(programs, "kubelet"))
	m.program(tools+"amd64/nodeup", filepath.Join(programs, "nodeup"))
	m.program(tools+"amd64/protokube", filepath.Join(programs, "protokube"))
	m.program(tools+"amd64/channels", filepath.Join(programs, "channels"))
	for _, path := range []string{release + "amd64/kubectl", release + "arm64/kubelet", release + "arm64/kubectl", tools + "arm64/nodeup",
		tools + "arm64/protokube", tools + "arm64/channels"} {
		m.text(path, placeholder)
	}
	for _, image := range []string{"kops-utils-cp", "kops-controller", "kops-channels", "dns-controller", "kube-apiserver-healthcheck"} {
		for _, arch := range []string{"amd64", "arm64"} {
			data, err := emptyImage("registry.k8s.io/kops/"+image+":"+kopsVersion, arch)
			if err != nil {
				return nil, err
			}
			m.text("/kops/"+kopsVersion+"/images/"+image+"-"+arch+".tar.gz", data)
		}
	}
	return m, nil
}

func (m *mirror) text(path, text string) {
	m.files[path] = func() io.ReadSeeker { return strings.NewReader(text) }
}

// program serves a file. One that is not there is a placeholder: not every node needs all of them.
func (m *mirror) program(path, file string) {
	if _, err := os.Stat(file); err != nil {
		m.text(path, placeholder)
		return
	}
	m.files[path] = func() io.ReadSeeker {
		f, err := os.Open(file)
		if err != nil {
			return strings.NewReader("")
		}
		return f
	}
}

// archive serves a tar.gz of programs.
func (m *mirror) archive(path, dir, prefix string, names ...string) error {
	var files []packed
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		files = append(files, packed{prefix + name, content})
	}
	text, err := pack(files)
	if err != nil {
		return err
	}
	m.text(path, text)
	return nil
}

// packed is a file of an archive.
type packed struct {
	name    string
	content []byte
}

// pack makes a tar.gz of programs.
func pack(files []packed) (string, error) {
	var buf strings.Builder
	zip, err := gzip.NewWriterLevel(&buf, gzip.HuffmanOnly)
	if err != nil {
		return "", err
	}
	archive := tar.NewWriter(zip)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.content)), ModTime: time.Unix(0, 0)}); err != nil {
			return "", err
		}
		if _, err := archive.Write(f.content); err != nil {
			return "", err
		}
	}
	err = errors.Join(archive.Close(), zip.Close())
	return buf.String(), err
}

// emptyImage is an image without files, as docker save writes it. A control plane's nodeup gives such images to containerd.
func emptyImage(name, arch string) (string, error) {
	layer := make([]byte, 1024) // the end of a tar archive
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": "linux",
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return "", err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return "", err
	}
	return pack([]packed{{"manifest.json", manifest}, {"config.json", config}, {"layer.tar", layer}})
}

// sum is the SHA-256 of a file.
func (m *mirror) sum(path string) (string, error) {
	if known, ok := m.sums.Load(path); ok {
		return known.(string), nil
	}
	open, ok := m.files[path]
	if !ok {
		return "", fmt.Errorf("the mirror has no %s", path)
	}
	h, content := sha256.New(), open()
	if c, ok := content.(io.Closer); ok {
		defer c.Close()
	}
	if _, err := io.Copy(h, content); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	m.sums.Store(path, sum)
	return sum, nil
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutSuffix(r.URL.Path, ".sha256"); ok {
		if sum, err := m.sum(path); err == nil {
			fmt.Fprintln(w, sum)
			return
		}
	}
	open, ok := m.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	m.served.Store(r.URL.Path, true)
	content := open()
	if c, ok := content.(io.Closer); ok {
		defer c.Close()
	}
	http.ServeContent(w, r, "", time.Time{}, content)
}
