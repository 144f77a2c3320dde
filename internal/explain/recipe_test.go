package explain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kopshook.dev/kopshook/internal/cloudinit"
)

// TestDropInOfNodeup: what bootcmd has nodeup's unit run stands before nodeup and after it.
func TestDropInOfNodeup(t *testing.T) {
	const file = "/lib/systemd/system/kops-configuration.service.d/a.conf"
	timeline := Make(example(t, []cloudinit.Part{{Name: "a.yaml", Type: cloudinit.TypeCloudConfig, Content: "bootcmd:\n" +
		"- echo [Service] >> " + file + "\n- echo ExecStartPre=/bin/bash /opt/log-time.sh >> " + file + "\n- echo ExecStopPost=/bin/touch /var/done >> " + file + "\n"}}))
	var got []string
	for _, stage := range timeline.Stages {
		if stage.ID != StageNodeup {
			continue
		}
		for _, s := range stage.Steps {
			got = append(got, fmt.Sprintf("%s %s %v %s", s.Owner, s.Name, s.Blocks, s.Detail))
		}
	}
	want := []string{
		"yours /bin/bash /opt/log-time.sh true before nodeup; after a reboot the kubelet does not wait",
		"kops nodeup true installs containerd and the kubelet",
		"yours /bin/touch /var/done false ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
