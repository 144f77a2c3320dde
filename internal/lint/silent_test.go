package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// silent are pieces of the corpus that come near to a rule, and on which it says nothing. Rules that look at more than one
// part, at hooks or at the instance group have theirs on their page: the good example.
var silent = map[string]string{
	"KH001": "cloudinit/repo.inc",     // an include, which kops takes
	"KH002": "cloudinit/repo.inc",     // and cloud-init reads
	"KH003": "eks/storage.hook",       // a boothook that begins as a script does
	"KH004": "cloudinit/header.yaml",  // a header that is only a comment
	"KH005": "cloudinit/tailnet.yaml", // a line --- behind the header
	"KH006": "eks/profile.sh",         // tabs, in a script
	"KH007": "page", "KH008": "page", "KH009": "page",
	"KH010": "karpenter/whole.mime", // another boundary
	"KH011": "page", "KH012": "page", "KH013": "page",
	"KH014": "kops/00-raid.sh",      // a script before nodeup.sh
	"KH015": "karpenter/setup.py",   // an interpreter that is no shell
	"KH016": "eks/tagged.yaml",      // a template that is not rendered
	"KH017": "cloudinit/power.yaml", // a reboot behind nodeup.sh
	"KH018": "page", "KH020": "page", "KH021": "page", "KH022": "page", "KH023": "page", "KH024": "page", "KH025": "page",
	"KH026": "cloudinit/hashed.yaml", // users, with default
	"KH027": "page",
	"KH030": "cloudinit/runcmd.yaml",      // strings and lists
	"KH032": "kops/documented.txt",        // the path of a file, in a line that is written for later
	"KH033": "eks/storage.hook",           // appends once, by cloud-init-per
	"KH034": "kops/resolv.yaml",           // restarts a unit that is up by then
	"KH035": "cloudinit/swap.yaml",        // if and && in bootcmd
	"KH036": "cloudinit/hetzner-net.yaml", // bootcmd alone
	"KH037": "eks/iptables.hook",          // packages in a boothook, of a system that starts no services for them
	"KH038": "cloudinit/power.yaml",       // comments behind whole commands
	"KH039": "page",
	"KH040": "cloudinit/write-files.yaml", // quoted permissions
	"KH041": "cloudinit/write-files.yaml", // root:root
	"KH042": "cloudinit/write-files.yaml", // an entry that appends
	"KH043": "page",
	"KH044": "cloudinit/thp.yaml", // four digits
	"KH045": "page",
	"KH046": "cloudinit/write-files.yaml", // b64
	"KH050": "cloudinit/thp.yaml",         // a unit before basic.target
	"KH051": "kops/node-exporter.yaml",    // enabled by runcmd
	"KH052": "eks/kubelet-labels.sh",      // a drop-in of the kubelet that runs nothing
	"KH053": "page", "KH054": "page",
	"KH055": "kops/documented-kubelet.txt", // a drop-in below /etc
	"KH056": "kops/documented-kubelet.txt", // the recipe, aimed at another unit
	"KH060": "eks/raid.hook",               // arrays of bash
	"KH061": "kops/00-kernel.sh",           // a timeout for the lock
	"KH062": "kops/00-kernel.sh",           // -y, and DEBIAN_FRONTEND exported
	"KH063": "eks/per-once.sh",             // cloud-init-per, which waits for nobody
	"KH064": "kops/falco.sh",               // piped to gpg
	"KH065": "kops/00-gvisor.sh",           // checked by sha512sum
	"KH066": "karpenter/limits.sh",         // systemctl daemon-reload
	"KH067": "eks/docker-data.yaml",        // aws, on Amazon Linux
	"KH068": "page", "KH069": "page",
	"KH070": "eks/parameters.sh", // a password that a command brings
	"KH080": "eks/efs.sh",        // a mount that kops has no field for
	"KH081": "page", "KH082": "page", "KH083": "page", "KH084": "page", "KH085": "page", "KH086": "page", "KH087": "page", "KH088": "page",
	"KH089": "eks/proxy.hook",      // a drop-in of containerd's unit
	"KH090": "cloudinit/swap.yaml", // the mode of a swap file
	"KH091": "page", "KH092": "page",
	"KH093": "page",
}

func TestEachRuleHasACaseOnWhichItIsSilent(t *testing.T) {
	archives, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	pieces := map[string]bool{}
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			name, _, _ := strings.Cut(f.Name, " ")
			pieces[strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name] = true
		}
	}
	found := map[string]bool{}
	lines, _ := corpusFindings(t)
	for _, l := range lines {
		f := strings.Fields(l)
		found[f[0]+" "+f[2]] = true
	}
	for _, r := range Rules() {
		switch piece := silent[r.Code]; {
		case piece == "page": // TestEachRuleHasAPageWhoseExamplesHold wants it silent there
			page, err := os.ReadFile(filepath.Join(rulesDir, r.Code+".md"))
			if err != nil {
				t.Fatal(err)
			}
			good := example(t, string(page), "good")
			if !strings.Contains(good, "content:") && !strings.Contains(good, "hooks:") && !strings.Contains(good, "kind:") {
				t.Errorf("%s: its good example has nothing that it looks at", r.Code)
			}
		case !pieces[piece]:
			t.Errorf("%s has no case on which it is silent: %q", r.Code, piece)
		case found[piece+" "+r.Code]:
			t.Errorf("%s is found in %s", r.Code, piece)
		}
	}
	if len(silent) != len(Rules()) {
		t.Errorf("%d cases for %d rules", len(silent), len(Rules()))
	}
}
