package lint

import (
	"kopshook.dev/kopshook/internal/report"
)

// Rule is one thing that is looked for. Codes are stable: a rule that goes away leaves its code unused.
type Rule struct {
	Code     string
	Name     string // a few words, for machines and for the index
	Severity report.Severity
	Title    string // what is wrong
	Remedy   string // what to do, unless the finding knows better
}

// DocURL is where a rule's page is.
func (r *Rule) DocURL() string {
	return "https://kopshook.dev/rules/" + r.Code
}

// Rules returns all rules in the order of their codes.
func Rules() []Rule { return rules[:] }

// RuleOf returns the rule of a code; it panics for a code that is none.
func RuleOf(code string) *Rule {
	for i := range rules {
		if rules[i].Code == code {
			return &rules[i]
		}
	}
	panic("no rule " + code)
}

// Known says whether a code is that of a rule.
func Known(code string) bool {
	for i := range rules {
		if rules[i].Code == code {
			return true
		}
	}
	return false
}

// DroppedDocument is the code of the rule that the files are read with, not lint itself.
const DroppedDocument = "KH081"

// Size is the code of the rule about what the user data takes.
const Size = "KH082"

var rules = [...]Rule{
	// parts
	{"KH001", "type-refused", report.Error, "kops refuses the part's type", "use text/x-shellscript, text/cloud-config or text/cloud-boothook"},
	{"KH002", "type-ignored", report.Error, "cloud-init ignores the part's type", "use text/x-shellscript, text/cloud-config or text/cloud-boothook"},
	{"KH003", "type-and-content-differ", report.Error, "the part's content is not of its type", "declare the type that the content has"},
	{"KH004", "empty-part", report.Error, "the part holds nothing that cloud-init can use", "write a mapping of keys, or take the part away"},
	{"KH005", "unreadable-yaml", report.Error, "cloud-init cannot read the cloud-config: it is not valid YAML", "fix the YAML; what other tools accept does not count, cloud-init reads YAML 1.1 with PyYAML"},
	{"KH006", "tab", report.Error, "a tab stands where YAML wants spaces", "indent with spaces"},
	{"KH007", "not-ascii", report.Error, "characters that are not ASCII are lost or changed on the way", "write ASCII; in YAML, \"\\u00e9\" in double quotes arrives as the character"},
	{"KH008", "crlf", report.Error, "lines end in CRLF", "end lines in LF"},
	{"KH009", "byte-order-mark", report.Error, "the part begins with a byte order mark", "save the file without a byte order mark"},
	{"KH010", "boundary", report.Error, "a line is the boundary that kops puts between parts", "indent the line, or take it away"},
	{"KH011", "names-collide", report.Error, "two scripts are written to the same file", "give each part a name of its own; characters but letters, digits, _, -, . and parentheses do not count"},
	{"KH012", "replaces-nodeup", report.Error, "a part replaces kops' own nodeup.sh", "give the part another name"},
	{"KH013", "name-lost", report.Error, "nothing is left of the part's name", "use letters, digits, -, _ and . in the name"},
	{"KH014", "script-after-nodeup", report.Warning, "a script runs beside nodeup, not before it", "give it a name that sorts before nodeup.sh, such as 00-NAME.sh; or make it a hook, which the kubelet waits for"},
	{"KH015", "no-interpreter", report.Error, "a script does not begin with #!", "begin it with #!/bin/sh, in the first line"},
	{"KH016", "unpredictable", report.Warning, "what becomes of the part is decided on the node", "write out what the node is to run, so that reviewers see it"},
	{"KH017", "reboots", report.Error, "a script takes the machine down before it is done", "make it a hook with rebootExitCodes: it goes on after the reboot, and nodeup and the kubelet wait for it"},
	{"KH018", "text-turned", report.Error, "characters turn the direction of text: people read something else than the node", "delete the characters"},
	// merging
	{"KH020", "lost-in-merge", report.Error, "configuration of one part is lost to another part", "add to every cloud-config part but the first: merge_how: \"list(append)+dict(no_replace,recurse_list)+str()\""},
	{"KH021", "null-swallows", report.Error, "a key without a value swallows what others put there", "take away the key that has no value"},
	{"KH022", "merge-how-without-dict", report.Error, "merge_how names no merger of dicts, so the part is lost", "write merge_how: \"list(append)+dict(no_replace,recurse_list)+str()\""},
	{"KH023", "merge-how-invalid", report.Error, "merge_how cannot be read, so the part is lost", "write merge_how: \"list(append)+dict(no_replace,recurse_list)+str()\""},
	{"KH024", "key-twice", report.Warning, "a key is written twice", "keep the one that counts"},
	{"KH025", "key-not-string", report.Error, "a key of the configuration is no string", "put the key into quotes"},
	{"KH026", "image-keys", report.Warning, "user data replaces what the image has", "take the key away, or repeat what the image has"},
	{"KH027", "user-data-dies", report.Error, "cloud-init crashes on this user data, and nothing of it takes effect", "fix what it crashes on"},
	// commands
	{"KH030", "command-no-string", report.Error, "a command is neither a string nor a list", "put the command into quotes"},
	{"KH032", "bootcmd-before-write-files", report.Warning, "bootcmd uses a file of write_files, which comes later", "make the file in bootcmd itself, or run the command as a hook"},
	{"KH033", "appends-on-every-boot", report.Warning, "a command that runs on every boot appends to a file", "write the file as a whole, or look first whether the line is there"},
	{"KH034", "systemctl-blocks", report.Error, "systemctl waits where nothing can start yet", "add --no-block"},
	{"KH035", "exits-for-all", report.Error, "a command ends the commands of others", "put it into a subshell: ( ... )"},
	{"KH036", "runcmd-too-late", report.Warning, "runcmd runs beside nodeup, and nothing waits for it", "make it a hook of phase pre-nodeup; kopshook adopt makes a spec of it"},
	{"KH037", "packages-too-early", report.Error, "packages are installed where their services cannot start", "install them in a hook of phase pre-nodeup"},
	{"KH038", "comment-cuts-command", report.Error, "a YAML comment cuts a command", "put the whole command into quotes, or write it as a block: - |"},
	{"KH039", "waits-for-itself", report.Error, "a hook starts or restarts a unit that waits for the hook", "add --no-block, or leave the start to systemd: the unit starts when the hook is done"},
	// files
	{"KH040", "mode-unquoted", report.Error, "permissions without quotes are a number", "put them into quotes: '0755'"},
	{"KH041", "owner-too-early", report.Error, "a file's owner does not exist yet", "add defer: true, or let the owner be root"},
	{"KH042", "entry-stops-write-files", report.Error, "an entry of write_files fails, and those behind it are dropped", "fix the entry"},
	{"KH043", "source-too-new", report.Warning, "write_files with source: needs cloud-init 24.3", "fetch the file in a hook: files: with url and sha256"},
	{"KH044", "mode-unreadable", report.Warning, "permissions are not octal", "write four octal digits: '0644'"},
	{"KH045", "setuid-lost", report.Warning, "a setuid bit is lost", "set it with chmod in a hook"},
	{"KH046", "encoding-unknown", report.Warning, "an encoding that cloud-init does not know", "write b64, gz+b64, gzip or text/plain"},
	// units
	{"KH050", "unit-after-cloud-init", report.Error, "ordering cycle with cloud-init: a unit waits for what waits for it", "order it after network-online.target instead"},
	{"KH051", "unit-never-starts", report.Warning, "nothing starts the unit", "run systemctl enable and systemctl start --no-block, or make it a hook"},
	{"KH052", "kubelet-exec-start-pre", report.Error, "ExecStartPre= on the kubelet is killed by nodeup", "make it a hook of phase pre-kubelet"},
	{"KH053", "gate-opens", report.Warning, "a unit that holds the kubelet up can let it go too soon", "retry inside of the script, and keep stamps there too; or make it a hook"},
	{"KH054", "hides-nodeup", report.Error, "a mount hides what nodeup has written", "make it a hook of phase pre-nodeup: nodeup then writes to the disk"},
	{"KH055", "unit-below-lib", report.Info, "a unit or drop-in of yours is where packages put theirs", "write it below /etc/systemd/system"},
	{"KH056", "older-recipe", report.Warning, "ExecStartPre= on kops-configuration holds nodeup up, but not the kubelet", "make it a hook of phase pre-nodeup, as kopshook adopt does"},
	// shell
	{"KH060", "shell-syntax", report.Error, "the shell cannot read the script", "fix the script"},
	{"KH061", "apt-lock", report.Warning, "apt does not wait for its lock", "add -o DPkg::Lock::Timeout=600"},
	{"KH062", "apt-asks", report.Error, "apt asks, and nobody answers", "write DEBIAN_FRONTEND=noninteractive apt-get install -y"},
	{"KH063", "waits-for-cloud-init", report.Error, "a script waits for cloud-init, which waits for the script", "take it away: what runs here runs in its turn"},
	{"KH064", "pipe-to-shell", report.Warning, "what is downloaded is run unseen", "download to a file, compare its checksum, run it then"},
	{"KH065", "download-unchecked", report.Info, "a download is not checked", "compare it with sha256sum -c"},
	{"KH066", "systemd-for-systemctl", report.Error, "systemd is called where systemctl is meant", "write systemctl"},
	{"KH067", "command-not-there", report.Info, "a command is not on the image", "install it first, or do without it"},
	{"KH068", "failure-passes", report.Warning, "a hook goes on when a command in its middle fails", "add set -e below the first line"},
	{"KH069", "lost-in-image", report.Warning, "a once-per-image hook does what an image does not keep", "do it in verify, which runs on each boot, or in a hook of its own with run: once-per-instance"},
	// secrets
	{"KH070", "secret", report.Error, "a secret in user data", "name it with `secret:` in a file of a hook: the node asks for it as itself"},
	// kops
	{"KH080", "kops-has-a-field", report.Info, "kops has a field for this", "use the field: kops does it on every boot, before the kubelet, and outside of the size limit"},
	{DroppedDocument, "document-dropped", report.Error, "kops drops a document of the file", "separate documents by lines that are exactly ---"},
	{Size, "size", report.Warning, "the user data takes most of what the cloud takes, or more", "kopshook explain shows what takes how much; with archive: true in their specs, hooks take less than half"},
	{"KH083", "cannot-run-here", report.Error, "user data does not reach these nodes, or breaks them", "leave the group without additionalUserData"},
	{"KH084", "driver-twice", report.Warning, "kops installs an NVIDIA driver, and so does a hook or a script", "choose one: set spec.containerd.nvidiaGPU.enabled to false in the instance group, or remove the other driver"},
	{"KH085", "warm-pool-wait", report.Warning, "hooks may take longer than a warm pool waits for a machine", "raise spec.warmPool.lifecycleHookTimeout, or lower attempts and timeout of the hooks"},
	{"KH086", "warm-pool-cut-off", report.Warning, "a warm pool stops machines without waiting for nodeup and hooks", "set spec.warmPool.enableLifecycleHook: true"},
	{"KH087", "warm-pool-phase", report.Warning, "a pre-kubelet hook may be cut off when a machine of a warm pool is stopped", "make it a hook of phase pre-nodeup: the machine is stopped only when nodeup is done"},
	{"KH088", "another-cloud", report.Error, "a hook asks a cloud that its machines are not in", "name a store of the machines' own cloud, by an override where a spec has groups of several clouds; or add an https:// mirror"},
	{"KH089", "without-effect", report.Warning, "nodeup writes the file itself, or the kubelet of kops does not read it", "use the field of kops"},
	{"KH090", "swap-on", report.Error, "swap is switched on, and the kubelet does not start", "leave swap off, or set spec.kubelet.failSwapOn: false in the instance group"},
	{"KH091", "autoscaler-wait", report.Warning, "hooks may take longer than cluster-autoscaler waits for a node", "raise spec.clusterAutoscaler.maxNodeProvisionTime of the Cluster, or lower attempts and timeout of the hooks"},
	{"KH092", "validation-wait", report.Info, "hooks may take longer than kops rolling-update waits for a node", "give kops rolling-update cluster a longer --validation-timeout, or lower attempts and timeout of the hooks"},
	{"KH093", "done-twice", report.Warning, "a hook does what a part beside it does, too", "remove the part, or the hook; kopshook adopt -f SPEC -w removes the parts that the spec was made of"},
}
