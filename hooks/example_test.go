package hooks_test

import (
	"context"
	"fmt"
	"strings"

	"kopshook.dev/kopshook/hooks"
)

const spec = `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata:
  name: gpu
spec:
  selector: {names: ["gpu-*"]}
  hooks:
  - name: driver
    script: |
      #!/bin/sh
      modprobe nvidia
`

const manifest = `apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  labels: {kops.k8s.io/cluster: prod.example.com}
  name: gpu-a
spec:
  role: Node
`

func ExampleMerge() {
	out, report := hooks.Merge(context.Background(), hooks.Input{
		Specs:     []hooks.File{{Name: "hooks.yaml", Data: []byte(spec)}},
		Manifests: []hooks.File{{Name: "gpu-a.yaml", Data: []byte(manifest)}},
	}, hooks.Options{})
	if err := report.Err(); err != nil {
		fmt.Println(err)
		return
	}
	g := out.Groups[0]
	for _, c := range g.Changes {
		fmt.Println(g.Name, c.Verb, c.Hook)
	}
	fmt.Println("timeout", g.Hooks[0].Timeout, "attempts", g.Hooks[0].Attempts, "the kubelet waits at most", g.KubeletWaits)
	for _, p := range g.Parts {
		fmt.Println(p.Name, p.Type)
	}
	fmt.Println(g.Parts[2].Content)
	// Output:
	// gpu-a adds driver
	// timeout 20m0s attempts 3 the kubelet waits at most 1h0m30s
	// kopshook-000-gate.sh text/cloud-boothook
	// kopshook-001-runtime.sh text/cloud-boothook
	// kopshook-500-driver.yaml text/cloud-config
	// #cloud-config
	// merge_how: "list(append)+dict(no_replace,recurse_list)+str()"
	// write_files:
	// - path: /etc/systemd/system/kopshook-driver.service
	//   content: |
	//     [Unit]
	//     After=network-online.target cloud-config.target
	//     [Service]
	//     Type=oneshot
	//     RemainAfterExit=yes
	//     Delegate=yes
	//     SyslogIdentifier=%N
	//     TimeoutStartSec=4272
	//     EnvironmentFile=-/etc/environment
	//     ExecStart=/bin/sh /opt/kopshook/bin/run driver pre-nodeup ac1ec111e4aa once block 3 10 1200 : /bin/sh ./script
	// - path: /opt/kopshook/hooks/driver/script
	//   permissions: '0700'
	//   content: |
	//     #!/bin/sh
	//     modprobe nvidia
}

func ExampleReport_Err() {
	_, report := hooks.Merge(context.Background(), hooks.Input{
		Specs:     []hooks.File{{Name: "hooks.yaml", Data: []byte(strings.Replace(spec, "#!/bin/sh", "echo", 1))}},
		Manifests: []hooks.File{{Name: "gpu-a.yaml", Data: []byte(manifest)}},
	}, hooks.Options{})
	fmt.Println(report.Err())
	// Output:
	// hooks.yaml:9:13: `script` does not begin with #! (begin it with a line #!/bin/sh, or #!/bin/bash if it needs that)
}
