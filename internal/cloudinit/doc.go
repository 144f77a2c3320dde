// Package cloudinit is a model of what cloud-init does with the user data that kops sends to a node: which parts
// survive, how their cloud-config merges, what runs in which order, and what is lost on the way.
//
// It is pure: it boots, fetches and runs nothing. A differential test holds it against cloud-init's own code.
package cloudinit

// What kops frames a message with (kops pkg/model/resources/nodeup.go:294,304).
const (
	Boundary   = "MIMEBOUNDARY"
	NodeupName = "nodeup.sh"
)

// The content types that cloud-init acts on (cloudinit/handlers/__init__.py:42).
const (
	TypeCloudConfig      = "text/cloud-config"
	TypeCloudConfigJSONP = "text/cloud-config-jsonp"
	TypeArchive          = "text/cloud-config-archive"
	TypeShellScript      = "text/x-shellscript"
	TypePerBoot          = "text/x-shellscript-per-boot"
	TypePerInstance      = "text/x-shellscript-per-instance"
	TypePerOnce          = "text/x-shellscript-per-once"
	TypeBoothook         = "text/cloud-boothook"
	TypePartHandler      = "text/part-handler"
	TypeInclude          = "text/x-include-url"
	TypeIncludeOnce      = "text/x-include-once-url"
	TypeJinja            = "text/jinja2"
)
