package boot

import (
	_ "embed"
	"os"
	"path/filepath"
)

var (
	//go:embed standin/event
	standInEvent []byte
	//go:embed standin/nodeup
	standInNodeup []byte
	//go:embed standin/containerd
	standInContainerd []byte
	//go:embed standin/kubelet
	standInKubelet []byte
	//go:embed standin/watch
	standInWatch []byte
	//go:embed standin/trial.service
	trialService []byte
	//go:embed standin/trial-journal.service
	trialJournalService []byte
)

// standIns are the programs in /trial/bin of a node.
var standIns = map[string][]byte{
	"event": standInEvent, "nodeup": standInNodeup, "containerd": standInContainerd, "kubelet": standInKubelet, "watch": standInWatch,
}

// installStandIns puts the stand-ins where the node finds them: dir is /trial of the node, nodeup is downloaded
// already, and two units watch the boot from its beginning.
func (m *Machine) installStandIns(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	for name, program := range standIns {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), program, 0o755); err != nil {
			return err
		}
	}
	files := []File{
		{Path: "/etc/systemd/system/trial.service", Content: trialService},
		{Path: "/etc/systemd/system/trial-journal.service", Content: trialJournalService},
	}
	if m.config.Join == nil {
		files = append(files, File{Path: "/opt/kops/bin/nodeup", Content: standInNodeup, Mode: 0o755})
	}
	for _, f := range files {
		if err := m.WriteFile(f); err != nil {
			return err
		}
	}
	for _, unit := range []string{"trial.service", "trial-journal.service"} {
		if err := m.symlink("../"+unit, "/etc/systemd/system/sysinit.target.wants/"+unit); err != nil {
			return err
		}
	}
	return nil
}
