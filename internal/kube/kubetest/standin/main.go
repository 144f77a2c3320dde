// Command standin is an API server of a test that cannot link one: see kubetest.Main.
package main

import (
	"fmt"
	"os"

	"kopshook.dev/kopshook/internal/kube/kubetest"
)

func main() {
	if err := kubetest.Main(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
