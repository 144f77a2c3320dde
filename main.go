// Command kopshook turns hook specs into ordered user data of kops instance groups.
package main

import (
	"os"

	"kopshook.dev/kopshook/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args))
}
