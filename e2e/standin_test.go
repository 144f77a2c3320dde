//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

// standIns are what a node without internet and devices has in their place: apt repositories, web servers, programs.
// Addresses are the real ones: on the node their names lead to a server of its own, whose certificate it trusts.
type standIns struct {
	archive []deb             // the distribution's archive
	repos   []aptRepo         // others
	web     map[string]string // contents by address, "https://host/path"
	files   map[string]string // contents by path; those that begin with #! are programs
}

// aptRepo is a repository signed with the stand-in key.
type aptRepo struct {
	uri       string // "https://host/path"
	suite     string // "/" for a flat repository
	component string // "" is main
	debs      []deb
}

// deb is a stand-in package, for every architecture. When it is installed, the timeline says "installed NAME".
type deb struct {
	name, version string
	fields        string            // further lines of its control file: "Depends: a, b\n"
	files         map[string]string // by path; those that begin with #! are programs
	postinst      string            // sh, run when it is installed
}

// install puts the stand-ins on the node's disk. systemd-detect-virt says that the node is no container, so that
// recipes do what they do on machines.
func (s standIns) install(t *testing.T, n *node) {
	t.Helper()
	write := func(name, content string) {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := n.WriteFile(boot.File{Path: name, Content: []byte(content), Mode: mode}); err != nil {
			t.Fatal(err)
		}
	}
	write("/usr/local/bin/systemd-detect-virt", "#!/bin/sh\nexit 1\n")
	for name, content := range (aptRepo{suite: "/", debs: s.archive}).files(t) {
		write("/srv/archive/"+name, content)
	}
	write("/etc/apt/sources.list", "deb [trusted=yes] file:/srv/archive /\n")

	pages := maps.Clone(s.web)
	if pages == nil {
		pages = map[string]string{}
	}
	for _, r := range s.repos {
		for name, content := range r.files(t) {
			pages[strings.TrimSuffix(r.uri, "/")+"/"+name] = content
		}
	}
	var hosts []string
	for address, content := range pages {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
		write(path.Join("/srv/web", u.Host, u.Path), content)
	}
	if len(hosts) > 0 {
		certificate, key := serverCertificate(t, hosts)
		store, err := n.ReadFile("/etc/ssl/certs/ca-certificates.crt")
		if err != nil {
			t.Fatal(err)
		}
		write("/etc/ssl/certs/ca-certificates.crt", string(store)+certificate)
		write("/usr/local/share/ca-certificates/stand-in.crt", certificate)
		write("/srv/web.pem", certificate+key)
		write("/srv/web.py", webServer)
		write("/etc/systemd/system/stand-in-web.service", webUnit)
		write("/etc/systemd/system/sysinit.target.d/stand-in-web.conf", "[Unit]\nWants=stand-in-web.service\n")
		slices.Sort(hosts)
		write("/etc/hosts", "127.0.0.1 localhost "+strings.Join(hosts, " ")+"\n")
	}
	for name, content := range s.files {
		write(name, content)
	}
}

const webUnit = `[Unit]
DefaultDependencies=no
After=local-fs.target
Before=network-online.target
[Service]
Type=notify
ExecStart=/usr/bin/python3 /srv/web.py
`

// webServer serves /srv/web/HOST on 127.0.0.1, and says to the timeline what was asked for.
const webServer = `import http.server, os, socket, ssl, subprocess
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1" # apt with OpenSSL minds how a connection is closed
    def translate_path(self, path):
        return super().translate_path("/" + self.headers["Host"] + path)
    def log_message(self, *words):
        pass
    def send_response(self, code, message=None):
        if code == 200:
            subprocess.run(["/trial/bin/event", "got " + self.headers["Host"] + self.path])
        super().send_response(code, message)
os.chdir("/srv/web")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/srv/web.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
    s.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
server.serve_forever()
`

// files returns the repository's files by their paths.
func (r aptRepo) files(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	packages := ""
	for _, d := range r.debs {
		data := d.build(t)
		file := fmt.Sprintf("pool/%s_%s_all.deb", d.name, d.version)
		files[file] = data
		packages += fmt.Sprintf("%sFilename: %s\nSize: %d\nSHA256: %s\n\n", d.control(), file, len(data), sha256sum(data))
	}
	dir, component, indexes := "", cmp.Or(r.component, "main"), []string{"Packages"}
	if r.suite != "/" {
		dir = "dists/" + r.suite + "/"
		indexes = []string{component + "/binary-amd64/Packages", component + "/binary-arm64/Packages"}
	}
	release := fmt.Sprintf("Origin: stand-in\nSuite: %[1]s\nCodename: %[1]s\nDate: %[2]s\nComponents: %[3]s\nArchitectures: amd64 arm64 all\nSHA256:\n",
		r.suite, time.Now().UTC().Format(time.RFC1123), component)
	for _, index := range indexes {
		files[dir+index] = packages
		release += fmt.Sprintf(" %s %d %s\n", sha256sum(packages), len(packages), index)
	}
	files[dir+"InRelease"] = gpg(t, release, "--clearsign")
	return files
}

func (d deb) control() string {
	return fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: stand-in <stand-in@example.com>\nDescription: stands for %[1]s\n%[3]s",
		d.name, d.version, d.fields)
}

func (d deb) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"DEBIAN/control":  d.control(),
		"DEBIAN/postinst": "#!/bin/sh\nset -e\n[ \"$1\" = configure ] || exit 0\n/trial/bin/event 'installed " + d.name + "'\n" + d.postinst + "\n",
	}
	maps.Copy(files, d.files)
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(at, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "built.deb")
	if text, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", dir, out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func sha256sum(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// keyring is a folder of gpg's with the stand-in key.
var keyring = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stand-in-key-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("gpg", "--homedir", dir, "--batch", "--quiet", "--passphrase", "",
		"--quick-generate-key", "stand-in", "rsa3072", "sign", "never").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

func gpg(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	dir, err := keyring()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gpg", append([]string{"--homedir", dir, "--batch", "--quiet", "--armor"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gpg %v: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

// standInKey is the public key of all stand-in repositories, and its fingerprint.
func standInKey(t *testing.T) (key, fingerprint string) {
	t.Helper()
	for line := range strings.Lines(gpg(t, "", "--list-keys", "--with-colons")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return gpg(t, "", "--export"), fields[9]
		}
	}
	t.Fatal("there is no stand-in key")
	return "", ""
}

// serverCertificate makes a certificate for hosts that signs itself, and its key, both in PEM.
func serverCertificate(t *testing.T, hosts []string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// codename is what a suite calls itself, and archives call it: that of testing is the next release's.
func codename(t *testing.T, suite string) string {
	t.Helper()
	return osRelease(t, suite, "VERSION_CODENAME")
}

// osRelease returns a value of a suite's /etc/os-release, "" when there is none.
func osRelease(t *testing.T, suite, key string) string {
	t.Helper()
	data, err := newNode(t, suite, nil).ReadFile("/etc/os-release")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// kernelRelease is `uname -r` of this machine, and so of containers.
func kernelRelease(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}
