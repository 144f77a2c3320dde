package fakecloud

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/boot"
)

const settings = "cloud.json"

// Prepare writes what Play needs into dir: settings, a certificate for all hosts, and its key.
func (c *Cloud) Prepare(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a cloud that kopshook plays"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), DNSNames: c.Hosts, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		settings:   data,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Surround has the cloud around the machine from its next boot on. The machine must have no network of others. program
// is one that plays the cloud when it is started as `program try-cloud DIR`.
func (c *Cloud) Surround(ctx context.Context, m *boot.Machine, program string) error {
	dir := filepath.Join(m.Dir(), "trial")
	if err := c.Prepare(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "ready")); err != nil {
		return err
	}
	// with its loader and libraries: the node's may be older
	const copyProgram = `cp --reflink=auto "$1" "$2/cloud"
ldd "$1" 2>/dev/null | sed -n 's/^[^/]*\(\/[^ ]*\) .*/\1/p' | while read -r f; do cp "$f" "$2"; done
for f in "$2"/ld-*; do if [ -e "$f" ]; then echo "/trial/${f##*/} --library-path /trial "; fi; done`
	out, err := exec.Command("sh", "-ec", copyProgram, "-", program, dir).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	start := strings.TrimRight(string(out), "\n") + "/trial/cloud try-cloud /trial"
	cert, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		return err
	}
	for _, f := range []boot.File{
		{Path: "/usr/local/share/ca-certificates/trial.crt", Content: cert},
		{Path: "/etc/hosts", Content: []byte("127.0.0.1 localhost " + strings.Join(c.Hosts, " ") + "\n")},
		{Path: "/etc/systemd/system/trial-cloud.service", Content: []byte("[Unit]\nDefaultDependencies=no\nAfter=local-fs.target\nBefore=network-online.target\n" +
			"[Service]\nExecStart=" + start + "\nExecStartPost=/bin/sh -c 'until [ -e /trial/ready ]; do sleep .1; done'\n")},
		{Path: "/etc/systemd/system/network-online.target.d/trial-cloud.conf", Content: []byte("[Unit]\nWants=trial-cloud.service\n")},
	} {
		if err := m.WriteFile(f); err != nil {
			return err
		}
	}
	if out, err := m.Chroot(ctx, []byte("export PATH=/usr/sbin:/usr/bin:/sbin:/bin\nexec update-ca-certificates\n")); err != nil {
		return fmt.Errorf("update-ca-certificates on the node: %w\n%s", err, out)
	}
	return nil
}
