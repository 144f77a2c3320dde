package hookspec

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/strict"
)

// Objects returns all objects of a hook spec; the first is the document itself.
func Objects() []*strict.Object {
	return []*strict.Object{&documentObject, &metadataObject, &specObject, &selectorObject, &hookObject, &fileObject, &dropInObject, &overrideObject}
}

// HookField returns a hook's field of that name, or nil.
func HookField(name string) *strict.Field { return hookObject.Field(name) }

const (
	dnsLabel = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	// bucketURL is a folder. A node's shell reads it as it is.
	bucketURL     = `((s3|gs)://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]|azureblob://[a-z0-9]{3,24}/[a-z0-9][a-z0-9-]{1,61}[a-z0-9]|https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?)(/[A-Za-z0-9_][A-Za-z0-9._=-]*)*`
	bucketURLSays = "s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, azureblob://ACCOUNT/CONTAINER/FOLDER or https://HOST/FOLDER, of letters, digits, dots, dashes and underscores: without a user, a query or a slash at the end"
	dnsLabelSays  = "1 to 63 lower case letters, digits and dashes, with a letter or digit at both ends"
)

// IsArchive says whether something is the address of an archive in a bucket, as nodes read it: a folder, and the SHA-256 of
// the archive in it.
func IsArchive(url, sum string) bool {
	digest, err := hex.DecodeString(sum)
	return specObject.Field("archiveURL").Matches(url) && err == nil && len(digest) == sha256.Size && strings.ToLower(sum) == sum
}

var documentObject = strict.Object{
	Name: "document",
	Doc:  "A hook spec: which hooks run on which instance groups.",
	Fields: []strict.Field{
		{Name: "apiVersion", Type: strict.String, Required: true, Enum: []string{APIVersion}, Doc: "The version of the spec's format."},
		{Name: "kind", Type: strict.String, Required: true, Enum: []string{Kind}, Doc: "What the document is."},
		{Name: "metadata", Type: strict.OneObject, Of: &metadataObject, Required: true, Doc: "Names the spec."},
		{Name: "spec", Type: strict.OneObject, Of: &specObject, Required: true, Doc: "The hooks, and where they run."},
	},
}

var metadataObject = strict.Object{
	Name: "metadata",
	Doc:  "What names a spec.",
	Fields: []strict.Field{
		{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, MaxLength: 63, Says: dnsLabelSays, Doc: "The name of the spec."},
		{Name: "labels", Type: strict.StringMap, Doc: "For other tools; kopshook ignores them."},
		{Name: "annotations", Type: strict.StringMap, Doc: "For other tools; kopshook ignores them."},
	},
}

var specObject = strict.Object{
	Name: "spec",
	Doc:  "The hooks, and where they run.",
	Fields: []strict.Field{
		{Name: "runtime", Type: strict.String, Default: "v1", Enum: []string{"v1"},
			Doc: "The templates that land on the node. A released runtime never changes, so a new kopshook replaces no machines; a newer runtime is chosen here."},
		{Name: "selector", Type: strict.OneObject, Of: &selectorObject, Required: true,
			Absent: "write `selector: {}` to select every instance group that has a kubelet",
			Doc:    "The instance groups on which the hooks run. {} is every one that has a kubelet."},
		{Name: "compress", Type: strict.Boolean, Default: "false", Doc: "The default of each hook's compress."},
		{Name: "archive", Type: strict.Boolean, Default: "false",
			Doc: "All hooks in one compressed part, to fit many into 16 KiB. Reviewers see them with diff and render, no longer in the manifest."},
		{Name: "archiveURL", Type: strict.String, Pattern: bucketURL, MaxLength: 512, Says: bucketURLSays, Also: []string{"bucket", "archiveUrl", "archiveBucket"},
			Doc: "With archive: true, where the archive is kept, outside of the user data: a folder in a bucket (s3, gs, azureblob) or on a server (https). Nodes read it with their own identity. `kopshook push` puts it there."},
		{Name: "hooks", Type: strict.ObjectList, Of: &hookObject, Required: true, Doc: "The hooks. Their order here means nothing: phase, weight and name order them."},
		{Name: "overrides", Type: strict.ObjectList, Of: &overrideObject, Doc: "Change fields of hooks for some of the instance groups. Later overrides win."},
	},
}

var selectorObject = strict.Object{
	Name: "selector",
	Doc:  "Selects instance groups. Each field that is given must match; of a list, one item must match. Globs know *, ?, [a-z] and [^a-z].",
	Fields: []strict.Field{
		{Name: "clusters", Type: strict.StringList, Also: []string{"cluster", "clusterNames"}, Doc: "Globs on the label kops.k8s.io/cluster."},
		{Name: "names", Type: strict.StringList, Also: []string{"name", "instanceGroups", "groups"},
			Doc: "Globs on metadata.name. An instance group that is named without a wildcard must be one that hooks can serve."},
		{Name: "excludeNames", Type: strict.StringList, Also: []string{"exclude", "excludes", "except"}, Doc: "Globs on metadata.name: these are not selected."},
		{Name: "roles", Type: strict.StringList, Also: []string{"role"}, Enum: []string{"ControlPlane", "APIServer", "Node", "Bastion", "Master"},
			Doc: "Roles of kops. Master is ControlPlane. A Bastion has no kubelet: it is selected only by its role or its exact name."},
		{Name: "matchLabels", Type: strict.StringMap, Also: []string{"labels"}, Doc: "Labels of the InstanceGroup object (metadata.labels)."},
		{Name: "nodeLabels", Type: strict.StringMap, Doc: "Labels that its nodes get (spec.nodeLabels)."},
	},
}

// Where phases are refused together. The slices are shared and must not be changed.
var (
	onlyBoot    = []Phase{Boot}
	onlyDaemon  = []Phase{Daemon}
	notDaemon   = []Phase{Boot, PreNodeup, PreKubelet, PostNodeup, PostKubelet, PreShutdown}
	notGating   = []Phase{Boot, PostNodeup, PostKubelet, PreShutdown, Daemon}
	notGatingUp = []Phase{PostNodeup, PostKubelet, Daemon}
	onlyStop    = []Phase{PreShutdown}
)

const noRunner = "it has no runner"

// onDriftRun of a hook's onDrift.
const onDriftRun = "run"

var hookObject = strict.Object{
	Name: "hook",
	Doc:  "One piece of work on a node: a script, files, or both.",
	Fields: []strict.Field{
		{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, MaxLength: 63, Says: dnsLabelSays,
			Doc: "Names the hook and its unit, kopshook-NAME.service. Unique within an instance group."},
		{Name: "phase", Type: strict.StringOrList, Default: string(PreNodeup), Enum: phaseNames(), Also: []string{"phases", "stage", "when", "schedule"},
			Doc: "The moment in a node's life. A list makes one hook per phase, called NAME-PHASE."},
		{Name: "weight", Type: strict.Integer, Default: "0", Min: -400, Max: 499, Also: []string{"order", "priority"},
			Doc: "Orders the hooks of a phase: lighter ones first, then by name."},
		{Name: "run", Type: strict.String, Default: generator.OncePerInstance, Enum: []string{generator.OncePerInstance, generator.OncePerImage, generator.EveryBoot}, Also: []string{"frequency"},
			DefaultIn: []strict.PhaseValue{{Phase: Boot, Value: generator.EveryBoot}, {Phase: PreShutdown, Value: generator.EveryBoot}},
			Doc: "Whether the hook runs again after a reboot. once-per-image: if the node's image (kopshook bake) or an earlier boot has done the same hook, only verify runs, on each boot; " +
				"for phases pre-nodeup and pre-kubelet, without cloudConfig. In phase daemon, once-per-instance is once per node and content.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Except: generator.EveryBoot, Why: "it runs on every boot", Remedy: "leave it out, or let the script remember that it has run"},
				{Phases: onlyStop, Except: generator.EveryBoot, Why: "it runs at every shutdown", Remedy: "leave it out"},
			}},
		{Name: "script", Type: strict.String, Also: []string{"command", "commands", "exec", "inline"},
			Doc: "The script itself. Its first line says what runs it: #!/bin/sh."},
		{Name: "source", Type: strict.String, Also: []string{"path", "scriptFile", "from"},
			Doc: "Where the script is: a file or a folder of scripts beside the spec, or a remote source. Instead of script."},
		{Name: "verify", Type: strict.String, Also: []string{"check", "test", "healthcheck"},
			Doc: "A script that checks the result. If it fails, the attempt has failed. Without #! it is run by /bin/sh.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Why: noRunner, Remedy: "let the script check its own result, or choose phase: pre-nodeup"},
				{Phases: onlyStop, Why: "nobody waits for its result", Remedy: "let the script check its own result"},
			}},
		{Name: "env", Type: strict.StringMap, Also: []string{"environment", "envs", "vars", "variables"},
			Doc: "Environment of script and verify, in addition to the KOPSHOOK_ variables."},
		{Name: "timeout", Type: strict.Span, Default: "20m", Min: 1, Max: 24 * 60 * 60, Also: []string{"timeoutSeconds", "timeoutSec", "deadline"},
			DefaultIn: []strict.PhaseValue{{Phase: PreShutdown, Value: "90s"}},
			Doc:       "How long one attempt may take, verify included; for a folder of scripts, how long each script may take. After that all its processes are killed.",
			Not:       []strict.Refusal{{Phases: onlyBoot, Why: noRunner, Remedy: "use timeout(1) in the script, or choose phase: pre-nodeup"}}},
		{Name: "attempts", Type: strict.Integer, Default: "3", Min: 1, Max: 100, Also: []string{"retries", "retry", "tries", "maxAttempts", "backoffLimit"},
			DefaultIn: []strict.PhaseValue{{Phase: PreShutdown, Value: "1"}},
			Doc:       "How often the hook is tried.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Why: noRunner, Remedy: "repeat in the script, or choose phase: pre-nodeup"},
				{Phases: onlyStop, Why: "the machine is going down", Remedy: "repeat in the script, within timeout"},
			}},
		{Name: "retryDelay", Type: strict.Span, Default: "10s", Min: 0, Max: 120, Also: []string{"retryAfter", "retryAfterSeconds", "delay", "backoff"},
			Doc: "The pause after a failed attempt. It doubles each time, up to 2m.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Why: noRunner, Remedy: "repeat in the script, or choose phase: pre-nodeup"},
				{Phases: onlyStop, Why: "the machine is going down", Remedy: "repeat in the script, within timeout"},
			}},
		{Name: "onFailure", Type: strict.String, Default: "block", Enum: []string{"block", "continue"}, Also: []string{"failurePolicy", "ignoreFailure"},
			DefaultIn: []strict.PhaseValue{{Phase: Boot, Value: "continue"}, {Phase: PostNodeup, Value: "continue"}, {Phase: PostKubelet, Value: "continue"}, {Phase: PreShutdown, Value: "continue"}, {Phase: Daemon, Value: "continue"}},
			Doc:       "What happens when the last attempt has failed. block: the kubelet does not start. continue: the failure is recorded, and the node joins.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Except: "continue", Why: noRunner, Remedy: "choose phase: pre-nodeup, or leave it out"},
				{Phases: notGatingUp, Except: "continue", Why: "the kubelet does not wait for it", Remedy: "choose phase: pre-kubelet, or leave it out"},
				{Phases: onlyStop, Except: "continue", Why: "the machine goes down in any case", Remedy: "leave it out"},
			}},
		{Name: "onDrift", Type: strict.String, Default: "report", Enum: []string{"report", onDriftRun}, Also: []string{"onVerifyFailure", "selfHeal", "repair"},
			Doc: "What happens when verify fails later, in phase daemon. report: the status says so. run: the hook runs again, at most attempts times, on one node in ten at a time.",
			Not: []strict.Refusal{{Phases: notDaemon, Except: "report", Why: "verify does not run later", Remedy: "choose phase: daemon, or leave it out"}}},
		{Name: "undo", Type: strict.String, Also: []string{"revert", "rollback", "uninstall", "teardown", "onRemove", "onDelete"},
			Doc: "A script that takes back what the hook did, in phase daemon. It runs on nodes that have the hook when the spec no longer has it, or has it with enabled: false. Without #! it is run by /bin/sh.",
			Not: []strict.Refusal{{Phases: notDaemon, Why: "nobody is there to run it: a node keeps its user data until it is replaced", Remedy: "choose phase: daemon, or leave it out"}}},
		{Name: "before", Type: strict.StringList, Also: []string{"requiredBy", "wantedBy"},
			Doc: "Further units that wait for this hook, as kops-configuration.service and kubelet.service do.",
			Not: []strict.Refusal{{Phases: notGating, Why: "only pre-nodeup and pre-kubelet hooks hold units back", Remedy: "choose phase: pre-nodeup or pre-kubelet, or order the unit with dropIns"}}},
		{Name: "rebootExitCodes", Type: strict.IntegerList, Min: 1, Max: 255, Also: []string{"rebootExitCode", "rebootCodes"},
			Doc: "Exit codes with which the script asks for a reboot. It runs again after the reboot; at most 3 reboots.",
			Not: []strict.Refusal{{Phases: notGating, Why: "only pre-nodeup and pre-kubelet hooks may ask for a reboot", Remedy: "choose phase: pre-nodeup or pre-kubelet"}}},
		{Name: "compress", Type: strict.Boolean, Default: "false", Also: []string{"compressed", "gzip"},
			Doc: "Contents as gzip in base64, to fit into the cloud's limit. Reviewers see the plain text with render -o tree and diff.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Except: "false", Why: "bootcmd carries its script as it is", Remedy: "keep the script short, or choose phase: pre-nodeup"},
				{Phases: onlyDaemon, Except: "false", Why: "it is no user data", Remedy: "leave it out"},
			}},
		{Name: "cleanup", Type: strict.String, Default: "never", Enum: []string{"never", "on-success"}, Also: []string{"deletePolicy", "hookDeletePolicy"},
			Doc: "on-success removes the script and the staged files when the hook is done. Only with run: once-per-instance.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Except: "never", Why: noRunner, Remedy: "leave it out"},
				{Phases: onlyStop, Except: "never", Why: "the next shutdown needs the script again", Remedy: "leave it out"},
				{Phases: onlyDaemon, Except: "never", Why: "it leaves nothing on the node", Remedy: "leave it out"},
			}},
		{Name: "files", Type: strict.ObjectList, Of: &fileObject, Also: []string{"file", "writeFiles", "write_files", "fileAssets"},
			Doc: "Files that are put in place before the script runs.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Why: "it runs before files are written", Remedy: "write them in the script, or choose phase: pre-nodeup"},
				{Phases: onlyDaemon, Why: "the addon carries scripts only", Remedy: "write them in the script"},
			}},
		{Name: "dropIns", Type: strict.ObjectList, Of: &dropInObject, Also: []string{"dropins", "dropIn", "drop_ins"},
			Doc: "systemd drop-ins for units that need not exist yet.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Why: "it runs before files are written", Remedy: "put them into a hook of phase pre-nodeup"},
				{Phases: onlyDaemon, Why: "it is no user data", Remedy: "put them into a hook of phase pre-nodeup"},
			}},
		{Name: "cloudConfig", Type: strict.AnyMapping, Also: []string{"cloud-config", "cloudInit", "cloud_config"},
			Doc: "cloud-config keys that are passed through to cloud-init (apt, ca_certs, ...). Keys of earlier parts win; lists are appended.",
			Not: []strict.Refusal{
				{Phases: onlyBoot, Why: "cloud-init reads it at times of its own", Remedy: "put it into a hook of phase pre-nodeup"},
				{Phases: onlyDaemon, Why: "it is no user data", Remedy: "put it into a hook of phase pre-nodeup"},
			}},
		{Name: "enabled", Type: strict.Boolean, Default: "true", Also: []string{"disabled"}, Doc: "false drops the hook; it is still checked."},
	},
}

var fileObject = strict.Object{
	Name: "file",
	Doc:  "A file that the runner puts in place. It has exactly one of content, contentBase64, source, url and secret.",
	Fields: []strict.Field{
		{Name: "path", Type: strict.String, Required: true, Also: []string{"dest", "destination", "target"}, Doc: "Where the file goes: absolute. Folders are made."},
		{Name: "content", Type: strict.String, Also: []string{"contents", "inline", "data"}, Doc: "The text of the file."},
		{Name: "contentBase64", Type: strict.String, Also: []string{"contentsBase64", "isBase64"}, Doc: "The bytes of the file in base64."},
		{Name: "source", Type: strict.String, Also: []string{"src", "from"}, Doc: "Where the file is, as a hook's source. It is embedded."},
		{Name: "url", Type: strict.StringOrList, Also: []string{"urls", "mirrors"},
			Doc: "Where the node downloads the file: https or http, or, as the machine itself, s3://BUCKET/KEY, gs://BUCKET/KEY or " +
				"azureblob://ACCOUNT/CONTAINER/KEY. A list holds mirrors of the same bytes. Needs sha256."},
		{Name: "sha256", Type: strict.String, Pattern: `[0-9a-fA-F]{64}`, Says: "64 hexadecimal digits", Also: []string{"checksum", "sha256sum", "hash"},
			Doc: "The checksum of what url serves."},
		{Name: "secret", Type: strict.String, Also: []string{"secretRef", "secretName", "valueFrom"},
			Doc: "What the node asks a store of secrets for, as the machine itself, before each run: aws-ssm:NAME, aws-secretsmanager:NAME, gcp-secretmanager:NAME " +
				"or azure-keyvault:VAULT/NAME; with #KEY for one value of a secret that is JSON. With run: every-boot it is kept in memory, and path is a link to it."},
		{Name: "mode", Type: strict.String, Default: `"0644"`, Pattern: `0?[0-7]{3,4}`, Says: `an octal mode such as "0644"`, Also: []string{"permissions", "perm"},
			Doc: "The file's mode, octal and in quotes. Of a secret, 0600 is the default."},
		{Name: "owner", Type: strict.String, Default: "root:root", Pattern: `[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*`, Says: "USER:GROUP, such as root:root",
			Also: []string{"user"}, Doc: "The file's user and group, by name or number."},
	},
}

var dropInObject = strict.Object{
	Name: "dropIn",
	Doc:  "A systemd drop-in.",
	Fields: []strict.Field{
		{Name: "unit", Type: strict.String, Required: true, Also: []string{"name", "service"}, Doc: "The unit that it changes."},
		{Name: "content", Type: strict.String, Required: true, Also: []string{"contents"}, Doc: "The drop-in, with its section headers."},
	},
}

var overrideObject = strict.Object{
	Name: "override",
	Doc:  "Changes hooks for some of the instance groups. A field that is given replaces the hook's; env is merged key by key.",
	Fields: []strict.Field{
		{Name: "selector", Type: strict.OneObject, Of: &selectorObject, Required: true,
			Absent: "write `selector: {}` to select every instance group that has a kubelet", Doc: "The instance groups for which the hooks differ."},
		{Name: "hooks", Type: strict.ObjectsByName, Of: &hookObject, Required: true, Doc: "By hook name, the fields that differ. name and phase cannot."},
	},
}
