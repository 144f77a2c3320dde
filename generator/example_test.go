package generator_test

import (
	"fmt"
	"time"

	"kopshook.dev/kopshook/generator"
)

func ExampleGenerate() {
	hook := generator.Hook{
		Name:     "nvidia-driver",
		Phase:    generator.PreNodeup,
		Scripts:  []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\nmodprobe nvidia\n")}},
		Timeout:  20 * time.Minute,
		Attempts: 3,
	}
	group := generator.InstanceGroup{Cluster: "prod.example.com", Name: "gpu", Role: "Node"}
	parts, err := generator.Generate(group, "v1", []generator.Hook{hook})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range parts {
		fmt.Println(p.Name, p.Type)
	}
	// Output:
	// kopshook-000-gate.sh text/cloud-boothook
	// kopshook-001-runtime.sh text/cloud-boothook
	// kopshook-500-nvidia-driver.yaml text/cloud-config
}
