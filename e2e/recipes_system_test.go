//go:build e2e

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/boot"
)

func init() {
	recipeBoots["corporate-root-ca"] = bootCorporateRootCA
	recipeBoots["registry-mirror"] = bootRegistryMirror
	recipeBoots["proxy"] = bootProxy
	recipeBoots["falco"] = bootFalco
	recipeBoots["chrony"] = bootChrony
	recipeBoots["limits-modules"] = bootLimitsModules
	recipeBoots["hugepages-thp"] = bootHugepages
	recipeBoots["local-nvme"] = bootLocalNVMe
}

// rootCertificate makes the certificate of an authority, in PEM, as it stands in the recipe.
func rootCertificate(t *testing.T, until time.Time) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Stand-in Root"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	body := strings.TrimSuffix(strings.TrimPrefix(text, "-----BEGIN CERTIFICATE-----\n"), "\n-----END CERTIFICATE-----\n")
	return strings.ReplaceAll(body, "\n", "\n      ")
}

// seesStore is a script of the user's that runs before kops' nodeup.sh, as that is a script too.
var seesStore = script("00-store.sh", `openssl verify -no-CApath -CAfile /etc/ssl/certs/ca-certificates.crt \
  /usr/local/share/ca-certificates/corporate-root-ca.crt && /trial/bin/event trusted
`)

func bootCorporateRootCA(t *testing.T, suite string) {
	const placeholder = "REPLACE THIS LINE BY YOUR CERTIFICATE"
	valid := rootCertificate(t, time.Now().AddDate(1, 0, 0))
	ours := parts(t, recipeText(t, "corporate-root-ca", placeholder, valid))
	n := newNode(t, suite, userData(t, append([]kops.UserData{seesStore}, ours...)...))
	const store = "/etc/ssl/certs/ca-certificates.crt"
	without, err := n.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	n.boot(boot.Options{}).joins().fails().ordered("trusted", "nodeup-installed", "nodeup-start", "kubelet-start")
	with, err := n.ReadFile(store)
	if err != nil || len(with) <= len(without) {
		t.Errorf("the store had %d bytes and has %d: %v", len(without), len(with), err)
	}
	// an update of the image brings a store without it
	if err := n.WriteFile(boot.File{Path: store, Content: without}); err != nil {
		t.Fatal(err)
	}
	n.boot(boot.Options{}).joins().fails()

	recipeNode(t, suite, "corporate-root-ca", standIns{}).boot(boot.Options{}).blocks().fails("kopshook-corporate-root-ca-trusted.service")
	expired := rootCertificate(t, time.Now().Add(-24*time.Hour))
	recipeNode(t, suite, "corporate-root-ca", standIns{}, placeholder, expired).boot(boot.Options{}).blocks()
}

func bootRegistryMirror(t *testing.T, suite string) {
	s := standIns{web: map[string]string{"https://mirror.example.com/v2/index.html": "{}\n"}}
	n := recipeNode(t, suite, "registry-mirror", s)
	configured := "mkdir -p /etc/containerd\necho '        config_path = \"/etc/containerd/certs.d\"' > /etc/containerd/config.toml"
	if err := n.SetNodeup(boot.Nodeup{Script: configured}); err != nil {
		t.Fatal(err)
	}
	n.boot(boot.Options{}).joins().fails().ordered("got mirror.example.com/v2/", "nodeup-start", "containerd-start")
	n.hasStatus("registry-mirror", "succeeded", "")
	n.hasStatus("registry-mirror-read", "succeeded", "")
	if err := n.SetNodeup(boot.Nodeup{Script: "echo 'version = 3' > /etc/containerd/config.toml"}); err != nil {
		t.Fatal(err)
	}
	n.boot(boot.Options{}).joins().fails("kopshook-registry-mirror-read.service")

	gone := recipeNode(t, suite, "registry-mirror", standIns{}, "attempts: 2", "attempts: 1")
	gone.boot(boot.Options{}).joins().fails("kopshook-registry-mirror.service", "kopshook-registry-mirror-read.service")
	if text, err := gone.ReadFile("/etc/containerd/certs.d/docker.io/hosts.toml"); err != nil || !strings.Contains(string(text), "mirror.example.com") {
		t.Errorf("hosts.toml is %q, %v", text, err)
	}
}

// proxyServer answers on 127.0.0.1:3128 and says to the timeline what was asked for, by whose will.
const proxyServer = `import http.server, os, socket, subprocess
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("http://"):
            subprocess.run(["/trial/bin/event", "proxied " + self.path])
        self.send_response(200 if self.path.startswith("http://") else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 3128), Handler)
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
    s.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
server.serve_forever()
`

func bootProxy(t *testing.T, suite string) {
	s := standIns{files: map[string]string{
		"/srv/proxy.py": proxyServer,
		"/etc/systemd/system/stand-in-proxy.service":           strings.ReplaceAll(webUnit, "web.py", "proxy.py"),
		"/etc/systemd/system/sysinit.target.d/stand-in-p.conf": "[Unit]\nWants=stand-in-proxy.service\n",
		"/etc/environment": "LANG=C.UTF-8\nhttp_proxy=http://old.example.com:1\n",
		"/root/.curlrc":    "silent\n",
		"/etc/hosts":       "127.0.0.1 localhost proxy.example.com\n",
	}}
	// what nodeup.sh, nodeup, containerd and the kubelet would do
	asks := script("00-asks.sh", `curl -f -Lo /dev/null http://nodeup.example.net/
curl -f -s -m 5 -o /dev/null http://x.main.example.com/ || /trial/bin/event excluded
`)
	n := newNode(t, suite, userData(t, append([]kops.UserData{asks}, parts(t, recipeText(t, "proxy"))...)...))
	s.install(t, n)
	look := `
look() { tr '\0' '\n' < /proc/"$(systemctl show -P MainPID "$1")"/environ | grep -q '^HTTPS_PROXY=http://proxy.example.com:3128$' && /trial/bin/event "$1 has it"; }
look containerd.service
look kubelet.service
apt-config dump Acquire::https::Proxy | grep -q proxy.example.com && /trial/bin/event "apt has it"
`
	nodeup := boot.Nodeup{Script: `[ "$https_proxy" = http://proxy.example.com:3128 ] && /trial/bin/event "nodeup has it"`}
	if err := n.SetNodeup(nodeup); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		r := n.boot(boot.Options{Scenario: look}).joins().fails()
		if i == 0 {
			r.ordered("proxied http://nodeup.example.net/", "excluded", "nodeup-installed").never("proxied http://x.main.example.com/")
		}
		r.ordered("nodeup has it", "kubelet-start", "containerd.service has it", "kubelet.service has it", "apt has it")
	}
	for name, want := range map[string]int{"/etc/environment": 7, "/root/.curlrc": 3} {
		text, err := n.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "\n"); got != want || strings.Contains(string(text), "old.example.com") {
			t.Errorf("%s has %d lines after two boots, want %d, and nothing old:\n%s", name, got, want, text)
		}
	}

	delete(s.files, "/srv/proxy.py")
	recipeNode(t, suite, "proxy", s, "attempts: 5", "attempts: 1").boot(boot.Options{}).blocks()
}

const falcoUnit = `[Unit]
Description=stands for Falco
[Service]
ExecStart=/usr/bin/falco -o engine.kind=modern_ebpf
[Install]
WantedBy=multi-user.target
Alias=falco.service
`

func bootFalco(t *testing.T, suite string) {
	key, _ := standInKey(t)
	falco := deb{name: "falco", version: "0.44.1", files: map[string]string{
		"usr/bin/falco": "#!/bin/sh\n/trial/bin/event falco\n[ ! -e /srv/no-btf ] || exit 1\nexec sleep infinity\n",
		"usr/lib/systemd/system/falco-modern-bpf.service": falcoUnit,
	}, postinst: `/trial/bin/event "$FALCO_FRONTEND $FALCO_DRIVER_CHOICE $FALCOCTL_ENABLED"`}
	newer := falco
	newer.version = "0.99.0"
	s := standIns{
		web:   map[string]string{"https://falco.org/repo/falcosecurity-B35B1B1F.asc": key},
		repos: []aptRepo{{uri: "https://download.falco.org/packages/deb", suite: "stable", debs: []deb{falco, newer}}},
	}
	const theirs = "b4ea2e03c13bd49f1fbbbcb10f7eec5404b6663218109cac7c3a08a6232c8c04"
	n := recipeNode(t, suite, "falco", s, theirs, sha256sum(key))
	n.boot(boot.Options{}).joins().fails().
		ordered("installed falco", "noninteractive modern_ebpf no", "falco", "nodeup-start", "kubelet-start").happens("installed falco")
	n.boot(boot.Options{}).joins().fails().ordered("falco", "kubelet-start").never("installed falco")

	// as on Amazon Linux and RHEL
	dnf := standIns{web: s.web, files: map[string]string{
		"/etc/yum.repos.d/other.repo": "",
		"/usr/local/bin/rpm":          "#!/bin/sh\ncat /srv/falco-version\n",
		"/usr/local/bin/dnf": dnfStandIn("echo 0.44.1 > /srv/falco-version\ngrep -q '^baseurl=https://download.falco.org/packages/rpm$' /etc/yum.repos.d/falco.repo || exit 1\n"+
			"[ -s \"$(sed -n 's,^gpgkey=file://,,p' /etc/yum.repos.d/falco.repo)\" ] || exit 1\n/trial/bin/event \"$FALCO_DRIVER_CHOICE\"", map[string]string{
			"/usr/bin/falco": falco.files["usr/bin/falco"], "/etc/systemd/system/falco-modern-bpf.service": falcoUnit}),
	}}
	n = recipeNode(t, suite, "falco", dnf, theirs, sha256sum(key))
	n.boot(boot.Options{}).joins().fails().ordered("dnf -y install falco-0.44.1", "modern_ebpf", "falco", "nodeup-start", "kubelet-start")
	n.boot(boot.Options{}).joins().fails().ordered("falco", "kubelet-start").never("dnf -y install falco-0.44.1")

	// another key than the one that the recipe names: nothing is taken from there
	recipeNode(t, suite, "falco", s, "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks().never("installed falco")
	s.files = map[string]string{"/srv/no-btf": ""}
	recipeNode(t, suite, "falco", s, theirs, sha256sum(key), "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks()
}

// dnfStandIn is a dnf that notes what it was asked for, writes files, and then runs a script.
func dnfStandIn(script string, files map[string]string) string {
	text := "#!/bin/sh\n/trial/bin/event \"dnf $*\"\n"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text += "cat > " + name + " << 'END OF FILE'\n" + files[name] + "\nEND OF FILE\nchmod 755 " + name + "\n"
	}
	return text + script + "\n"
}

// chronyc stands for chrony's client: its clock is right at the second look, or never.
const chronyc = `#!/bin/sh
/trial/bin/event "chronyc $*"
[ ! -e /srv/no-time ] || { echo "506 Cannot talk to daemon"; exit 1; }
case $2 in tracking) echo "Leap status     : Normal" ;; esac
`

func bootChrony(t *testing.T, suite string) {
	chrony := deb{name: "chrony", version: "4.3", files: map[string]string{
		"usr/bin/chronyc":                       chronyc,
		"usr/sbin/chronyd":                      "#!/bin/sh\n/trial/bin/event \"chronyd $(grep -c 169.254.169.123 /etc/chrony/chrony.conf)\"\n",
		"usr/lib/systemd/system/chrony.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/chronyd\n[Install]\nWantedBy=multi-user.target\n",
		"etc/chrony/chrony.conf":                "pool 2.debian.pool.ntp.org iburst\n",
		"DEBIAN/conffiles":                      "/etc/chrony/chrony.conf\n",
	}}
	s := standIns{archive: []deb{chrony}}
	n := recipeNode(t, suite, "chrony", s)
	n.boot(boot.Options{}).joins().fails().
		ordered("installed chrony", "chronyd 1", "chronyc -n waitsync 30 0.5 0 2", "chronyc -n tracking", "nodeup-start", "kubelet-start")
	n.boot(boot.Options{}).joins().fails().ordered("chronyd 1", "chronyc -n tracking", "kubelet-start").never("installed chrony")

	// as on Amazon Linux and RHEL
	unit := strings.Replace(chrony.files["usr/lib/systemd/system/chrony.service"], "/usr/sbin/chronyd", "/usr/local/sbin/chronyd", 1)
	dnf := standIns{files: map[string]string{"/etc/chrony.conf": "pool 2.amazon.pool.ntp.org iburst\n", "/usr/local/bin/dnf": dnfStandIn("", map[string]string{
		"/usr/local/bin/chronyc": chronyc, "/etc/systemd/system/chronyd.service": unit,
		"/usr/local/sbin/chronyd": "#!/bin/sh\n/trial/bin/event \"chronyd $(grep -c 169.254.169.123 /etc/chrony.conf) $(grep -c pool /etc/chrony.conf)\"\n"})}}
	n = recipeNode(t, suite, "chrony", dnf)
	n.boot(boot.Options{}).joins().fails().ordered("dnf -y install chrony", "chronyd 1 0", "chronyc -n tracking", "nodeup-start", "kubelet-start")
	n.boot(boot.Options{}).joins().fails().ordered("chronyd 1 0", "kubelet-start").never("dnf -y install chrony")

	s.files = map[string]string{"/srv/no-time": ""}
	recipeNode(t, suite, "chrony", s, "attempts: 3", "attempts: 1").boot(boot.Options{}).blocks()
}

// sysctl stands for the kernel's settings: those of tcp_bbr are there when the module is.
const sysctl = `#!/bin/sh
set -eu
mkdir -p /run/sysctl
case $1 in
-n) cat "/run/sysctl/$2" ;;
-p)
  while read -r key equals value; do
    [ "$value" != bbr ] || [ -e /run/modules/tcp_bbr ] || { echo "sysctl: setting key \"$key\": No such file or directory" >&2; exit 1; }
    echo "$value" > "/run/sysctl/$key"
    /trial/bin/event "set $key"
  done < "$2"
  ;;
esac
`

func bootLimitsModules(t *testing.T, suite string) {
	s := standIns{files: map[string]string{
		"/usr/local/sbin/modprobe": modprobe, "/usr/local/sbin/sysctl": sysctl,
		"/srv/modules/sch_fq": "", "/srv/modules/tcp_bbr": "",
	}}
	n := recipeNode(t, suite, "limits-modules", s)
	// a container cannot raise all limits: of memory that is locked, systemd's word is taken
	look := "systemctl show -P LimitMEMLOCK containerd.service; grep 'Max stack' /proc/$(systemctl show -P MainPID containerd.service)/limits"
	for range 2 {
		r := n.boot(boot.Options{Scenario: look}).joins().fails().
			ordered("loaded tcp_bbr", "set net.ipv4.tcp_congestion_control", "nodeup-start", "kubelet-start")
		if got := strings.Join(strings.Fields(r.Scenario), " "); got != "infinity Max stack size 67108864 unlimited bytes" {
			t.Errorf("containerd's limits are %q", got)
		}
	}
	delete(s.files, "/srv/modules/tcp_bbr")
	recipeNode(t, suite, "limits-modules", s, "attempts: 2", "attempts: 1").boot(boot.Options{}).blocks()
}
