package hookspec

import (
	"regexp"
	"slices"
	"sync"
)

// Type is what a field holds, in the words of the docs.
type Type string

const (
	String        Type = "string"
	StringOrList  Type = "string or list of strings"
	StringList    Type = "list of strings"
	StringMap     Type = "mapping of strings"
	Integer       Type = "integer"
	IntegerList   Type = "list of integers"
	Boolean       Type = "boolean"
	Span          Type = "duration"
	AnyMapping    Type = "mapping"
	OneObject     Type = "object"
	ObjectList    Type = "list of objects"
	ObjectsByName Type = "mapping of objects"
)

// Object is one kind of mapping in a hook spec, for instance a hook or a file.
type Object struct {
	Name   string // "hook", "file"
	Doc    string
	Fields []Field
}

// Field is one key of an Object, with its type, default and limits. Its value is checked by it, and the JSON Schema and
// the reference page are made from it. Where the value goes is in the decoder (decode.go); tests name a field that is only here or
// only there.
type Field struct {
	Name     string
	Type     Type
	Of       *Object // of OneObject, ObjectList and ObjectsByName
	Doc      string
	Required bool
	Absent   string // the remedy where it is missing or has no value; "" where there is nothing special to say
	Default  string // as one writes it in YAML; "" where there is none
	// DefaultIn holds the defaults of phases that differ from Default.
	DefaultIn []PhaseValue
	Enum      []string
	// Pattern is what each string must match (RE2, anchored); Says tells people so: "must be SAYS".
	Pattern, Says string
	// MaxLength bounds strings, in bytes; 0 does not.
	MaxLength int
	// Min and Max bound integers, and durations in seconds.
	Min, Max int
	// Also holds words that other systems use for the field.
	Also []string
	// Not holds the phases that do not take the field.
	Not []Refusal
}

// PhaseValue is a value that holds in one phase.
type PhaseValue struct {
	Phase Phase
	Value string
}

// Refusal says that a field does not go with phases, why, and what to do instead. Except is the one value that is
// taken all the same, since it says what happens anyway.
type Refusal struct {
	Phases []Phase
	Except string
	Why    string
	Remedy string
}

// Refused returns why the field does not go with a phase, or nil when it does.
func (f *Field) Refused(p Phase) *Refusal {
	for i := range f.Not {
		if slices.Contains(f.Not[i].Phases, p) {
			return &f.Not[i]
		}
	}
	return nil
}

// DefaultFor returns the field's default in a phase, as one writes it in YAML.
func (f *Field) DefaultFor(p Phase) string {
	for _, d := range f.DefaultIn {
		if d.Phase == p {
			return d.Value
		}
	}
	return f.Default
}

// Field returns the field called name, or nil.
func (o *Object) Field(name string) *Field {
	for i := range o.Fields {
		if o.Fields[i].Name == name {
			return &o.Fields[i]
		}
	}
	return nil
}

// matches says whether s is as long as the field may be, and what its pattern wants.
func (f *Field) matches(s string) bool {
	if f.Pattern == "" {
		return true
	}
	re, ok := patterns.Load(f.Pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(f.Pattern, regexp.MustCompile(`^(?:`+f.Pattern+`)$`))
	}
	return (f.MaxLength == 0 || len(s) <= f.MaxLength) && re.(*regexp.Regexp).MatchString(s)
}

// patterns holds the compiled patterns that were needed so far.
var patterns sync.Map

// names returns the names of all fields.
func (o *Object) names() []string {
	names := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		names[i] = f.Name
	}
	return names
}

// Objects returns all objects of a hook spec; the first is the document itself.
func Objects() []*Object {
	return []*Object{&documentObject, &metadataObject, &specObject, &selectorObject, &hookObject, &fileObject, &dropInObject, &overrideObject}
}

// HookField returns a hook's field of that name, or nil.
func HookField(name string) *Field { return hookObject.Field(name) }

const (
	dnsLabel = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	// bucketURL is a folder. A node's shell reads it as it is.
	bucketURL     = `((s3|gs)://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]|azureblob://[a-z0-9]{3,24}/[a-z0-9][a-z0-9-]{1,61}[a-z0-9]|https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?)(/[A-Za-z0-9_][A-Za-z0-9._=-]*)*`
	bucketURLSays = "s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, azureblob://ACCOUNT/CONTAINER/FOLDER or https://HOST/FOLDER, of letters, digits, dots, dashes and underscores: without a user, a query or a slash at the end"
	dnsLabelSays  = "1 to 63 lower case letters, digits and dashes, with a letter or digit at both ends"
)

var documentObject = Object{
	Name: "document",
	Doc:  "A hook spec: which hooks run on which instance groups.",
	Fields: []Field{
		{Name: "apiVersion", Type: String, Required: true, Enum: []string{APIVersion}, Doc: "The version of the spec's format."},
		{Name: "kind", Type: String, Required: true, Enum: []string{Kind}, Doc: "What the document is."},
		{Name: "metadata", Type: OneObject, Of: &metadataObject, Required: true, Doc: "Names the spec."},
		{Name: "spec", Type: OneObject, Of: &specObject, Required: true, Doc: "The hooks, and where they run."},
	},
}

var metadataObject = Object{
	Name: "metadata",
	Doc:  "What names a spec.",
	Fields: []Field{
		{Name: "name", Type: String, Required: true, Pattern: dnsLabel, MaxLength: 63, Says: dnsLabelSays, Doc: "The name of the spec."},
		{Name: "labels", Type: StringMap, Doc: "For other tools; kopshook ignores them."},
		{Name: "annotations", Type: StringMap, Doc: "For other tools; kopshook ignores them."},
	},
}

var specObject = Object{
	Name: "spec",
	Doc:  "The hooks, and where they run.",
	Fields: []Field{
		{Name: "runtime", Type: String, Default: "v1", Enum: []string{"v1"},
			Doc: "The templates that land on the node. A released runtime never changes, so a new kopshook replaces no machines; a newer runtime is chosen here."},
		{Name: "selector", Type: OneObject, Of: &selectorObject, Required: true,
			Absent: "write `selector: {}` to select every instance group that has a kubelet",
			Doc:    "The instance groups on which the hooks run. {} is every one that has a kubelet."},
		{Name: "compress", Type: Boolean, Default: "false", Doc: "The default of each hook's compress."},
		{Name: "archive", Type: Boolean, Default: "false",
			Doc: "All hooks in one compressed part, which takes less than half: to fit many into 16 KiB. Reviewers see them with diff and render, no longer in the manifest."},
		{Name: "archiveURL", Type: String, Pattern: bucketURL, MaxLength: 512, Says: bucketURLSays, Also: []string{"bucket", "archiveUrl", "archiveBucket"},
			Doc: "With archive: true, where the archive lies in place of the user data: a folder in a bucket (s3, gs, azureblob) or on a server (https). Nodes read it with their own identity. `kopshook push` puts it there."},
		{Name: "hooks", Type: ObjectList, Of: &hookObject, Required: true, Doc: "The hooks. Their order here means nothing: phase, weight and name order them."},
		{Name: "overrides", Type: ObjectList, Of: &overrideObject, Doc: "The same hooks, different where it matters. Later ones win."},
	},
}

var selectorObject = Object{
	Name: "selector",
	Doc:  "Selects instance groups: every field that is given must match, and of a list any one item. Globs know *, ?, [a-z] and [^a-z].",
	Fields: []Field{
		{Name: "clusters", Type: StringList, Also: []string{"cluster", "clusterNames"}, Doc: "Globs on the label kops.k8s.io/cluster."},
		{Name: "names", Type: StringList, Also: []string{"name", "instanceGroups", "groups"},
			Doc: "Globs on metadata.name. An instance group that is named without a wildcard must be one that hooks can serve."},
		{Name: "excludeNames", Type: StringList, Also: []string{"exclude", "excludes", "except"}, Doc: "Globs on metadata.name: these are not selected."},
		{Name: "roles", Type: StringList, Also: []string{"role"}, Enum: []string{"ControlPlane", "APIServer", "Node", "Bastion", "Master"},
			Doc: "Roles of kops. Master is ControlPlane. A Bastion has no kubelet: it is selected only by its role or its exact name."},
		{Name: "matchLabels", Type: StringMap, Also: []string{"labels"}, Doc: "Labels of the InstanceGroup object (metadata.labels)."},
		{Name: "nodeLabels", Type: StringMap, Doc: "Labels that its nodes get (spec.nodeLabels)."},
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

var hookObject = Object{
	Name: "hook",
	Doc:  "One piece of work on a node: a script, files, or both.",
	Fields: []Field{
		{Name: "name", Type: String, Required: true, Pattern: dnsLabel, MaxLength: 63, Says: dnsLabelSays,
			Doc: "Names the hook and its unit, kopshook-NAME.service. Unique within an instance group."},
		{Name: "phase", Type: StringOrList, Default: string(PreNodeup), Enum: phaseNames(), Also: []string{"phases", "stage", "when", "schedule"},
			Doc: "The moment in a node's life. A list makes one hook per phase, called NAME-PHASE."},
		{Name: "weight", Type: Integer, Default: "0", Min: -400, Max: 499, Also: []string{"order", "priority"},
			Doc: "Orders the hooks of a phase: lighter ones first, then by name."},
		{Name: "run", Type: String, Default: oncePerInstance, Enum: []string{oncePerInstance, oncePerImage, everyBoot}, Also: []string{"frequency"},
			DefaultIn: []PhaseValue{{Boot, everyBoot}, {PreShutdown, everyBoot}},
			Doc: "Whether the hook runs again after a reboot. once-per-image: where the node's image (kopshook bake) or an earlier boot has done the same, only verify runs, on each boot; " +
				"in phases pre-nodeup and pre-kubelet, without cloudConfig. In phase daemon, once-per-instance is once per node and content.",
			Not: []Refusal{
				{onlyBoot, everyBoot, "it runs on every boot", "leave it out, or let the script remember that it has run"},
				{onlyStop, everyBoot, "it runs at every shutdown", "leave it out"},
			}},
		{Name: "script", Type: String, Also: []string{"command", "commands", "exec", "inline"},
			Doc: "The script itself. Its first line says what runs it: #!/bin/sh."},
		{Name: "source", Type: String, Also: []string{"path", "scriptFile", "from"},
			Doc: "Where the script is: a file or a folder of scripts beside the spec, or a remote source. Instead of script."},
		{Name: "verify", Type: String, Also: []string{"check", "test", "healthcheck"},
			Doc: "A script that must succeed after the script, or the attempt has failed. Without #! it is run by /bin/sh.",
			Not: []Refusal{
				{onlyBoot, "", noRunner, "let the script check its own result, or choose phase: pre-nodeup"},
				{onlyStop, "", "nobody waits for its result", "let the script check its own result"},
			}},
		{Name: "env", Type: StringMap, Also: []string{"environment", "envs", "vars", "variables"},
			Doc: "Environment of script and verify, beside the KOPSHOOK_ variables."},
		{Name: "timeout", Type: Span, Default: "20m", Min: 1, Max: 24 * 60 * 60, Also: []string{"timeoutSeconds", "timeoutSec", "deadline"},
			DefaultIn: []PhaseValue{{PreShutdown, "90s"}},
			Doc:       "How long one attempt may take, verify included; of a folder of scripts, how long each of them may. Then all of its processes are killed.",
			Not:       []Refusal{{onlyBoot, "", noRunner, "use timeout(1) in the script, or choose phase: pre-nodeup"}}},
		{Name: "attempts", Type: Integer, Default: "3", Min: 1, Max: 100, Also: []string{"retries", "retry", "tries", "maxAttempts", "backoffLimit"},
			DefaultIn: []PhaseValue{{PreShutdown, "1"}},
			Doc:       "How often the hook is tried.",
			Not: []Refusal{
				{onlyBoot, "", noRunner, "repeat in the script, or choose phase: pre-nodeup"},
				{onlyStop, "", "the machine is going down", "repeat in the script, within timeout"},
			}},
		{Name: "retryDelay", Type: Span, Default: "10s", Min: 0, Max: 120, Also: []string{"retryAfter", "retryAfterSeconds", "delay", "backoff"},
			Doc: "The pause after a failed attempt. It doubles each time, up to 2m.",
			Not: []Refusal{
				{onlyBoot, "", noRunner, "repeat in the script, or choose phase: pre-nodeup"},
				{onlyStop, "", "the machine is going down", "repeat in the script, within timeout"},
			}},
		{Name: "onFailure", Type: String, Default: "block", Enum: []string{"block", "continue"}, Also: []string{"failurePolicy", "ignoreFailure"},
			DefaultIn: []PhaseValue{{Boot, "continue"}, {PostNodeup, "continue"}, {PostKubelet, "continue"}, {PreShutdown, "continue"}, {Daemon, "continue"}},
			Doc:       "What happens when the last attempt failed. block: the kubelet does not start. continue: it is recorded, and the node joins.",
			Not: []Refusal{
				{onlyBoot, "continue", noRunner, "choose phase: pre-nodeup, or leave it out"},
				{notGatingUp, "continue", "the kubelet is not held back by it", "choose phase: pre-kubelet, or leave it out"},
				{onlyStop, "continue", "the machine goes down in any case", "leave it out"},
			}},
		{Name: "onDrift", Type: String, Default: "report", Enum: []string{"report", onDriftRun}, Also: []string{"onVerifyFailure", "selfHeal", "repair"},
			Doc: "What happens when verify fails later, in phase daemon. report: the status says so. run: the hook runs again, attempts times at most, on one node in ten at a time.",
			Not: []Refusal{{notDaemon, "report", "nobody asks verify later", "choose phase: daemon, or leave it out"}}},
		{Name: "before", Type: StringList, Also: []string{"requiredBy", "wantedBy"},
			Doc: "Further units that wait for this hook, as kops-configuration.service and kubelet.service do.",
			Not: []Refusal{{notGating, "", "only pre-nodeup and pre-kubelet hooks hold units back", "choose phase: pre-nodeup or pre-kubelet, or order the unit with dropIns"}}},
		{Name: "rebootExitCodes", Type: IntegerList, Min: 1, Max: 255, Also: []string{"rebootExitCode", "rebootCodes"},
			Doc: "Exit codes with which the script asks for a reboot. It runs again after it; at most 3 times.",
			Not: []Refusal{{notGating, "", "only pre-nodeup and pre-kubelet hooks may ask for a reboot", "choose phase: pre-nodeup or pre-kubelet"}}},
		{Name: "compress", Type: Boolean, Default: "false", Also: []string{"compressed", "gzip"},
			Doc: "Contents as gzip in base64, to fit into the cloud's limit. Reviewers see the plain text with render -o tree and diff.",
			Not: []Refusal{
				{onlyBoot, "false", "bootcmd carries its script as it is", "keep the script short, or choose phase: pre-nodeup"},
				{onlyDaemon, "false", "it is no user data", "leave it out"},
			}},
		{Name: "cleanup", Type: String, Default: "never", Enum: []string{"never", "on-success"}, Also: []string{"deletePolicy", "hookDeletePolicy"},
			Doc: "on-success removes the script and the staged files when the hook is done. Only with run: once-per-instance.",
			Not: []Refusal{
				{onlyBoot, "never", noRunner, "leave it out"},
				{onlyStop, "never", "the next shutdown needs the script again", "leave it out"},
				{onlyDaemon, "never", "it leaves nothing on the node", "leave it out"},
			}},
		{Name: "files", Type: ObjectList, Of: &fileObject, Also: []string{"file", "writeFiles", "write_files", "fileAssets"},
			Doc: "Files that are put in place before the script runs.",
			Not: []Refusal{
				{onlyBoot, "", "it runs before files are written", "write them in the script, or choose phase: pre-nodeup"},
				{onlyDaemon, "", "the addon carries scripts only", "write them in the script"},
			}},
		{Name: "dropIns", Type: ObjectList, Of: &dropInObject, Also: []string{"dropins", "dropIn", "drop_ins"},
			Doc: "systemd drop-ins for units that need not exist yet.",
			Not: []Refusal{
				{onlyBoot, "", "it runs before files are written", "put them into a hook of phase pre-nodeup"},
				{onlyDaemon, "", "it is no user data", "put them into a hook of phase pre-nodeup"},
			}},
		{Name: "cloudConfig", Type: AnyMapping, Also: []string{"cloud-config", "cloudInit", "cloud_config"},
			Doc: "cloud-config keys that are passed through to cloud-init (apt, ca_certs, ...). Keys of earlier parts win; lists are appended.",
			Not: []Refusal{
				{onlyBoot, "", "cloud-init reads it at times of its own", "put it into a hook of phase pre-nodeup"},
				{onlyDaemon, "", "it is no user data", "put it into a hook of phase pre-nodeup"},
			}},
		{Name: "enabled", Type: Boolean, Default: "true", Also: []string{"disabled"}, Doc: "false drops the hook; it is still checked."},
	},
}

var fileObject = Object{
	Name: "file",
	Doc:  "A file that the runner puts in place. It has exactly one of content, contentBase64, source, url and secret.",
	Fields: []Field{
		{Name: "path", Type: String, Required: true, Also: []string{"dest", "destination", "target"}, Doc: "Where the file goes: absolute. Folders are made."},
		{Name: "content", Type: String, Also: []string{"contents", "inline", "data"}, Doc: "The text of the file."},
		{Name: "contentBase64", Type: String, Also: []string{"contentsBase64", "isBase64"}, Doc: "The bytes of the file in base64."},
		{Name: "source", Type: String, Also: []string{"src", "from"}, Doc: "Where the file is, as a hook's source. It is embedded."},
		{Name: "url", Type: StringOrList, Also: []string{"urls", "mirrors"},
			Doc: "Where the node downloads the file: https or http, or, as the machine itself, s3://BUCKET/KEY, gs://BUCKET/KEY or " +
				"azureblob://ACCOUNT/CONTAINER/KEY. A list holds mirrors of the same bytes. Needs sha256."},
		{Name: "sha256", Type: String, Pattern: `[0-9a-fA-F]{64}`, Says: "64 hexadecimal digits", Also: []string{"checksum", "sha256sum", "hash"},
			Doc: "The checksum of what url serves."},
		{Name: "secret", Type: String, Also: []string{"secretRef", "secretName", "valueFrom"},
			Doc: "What the node asks a store of secrets for, as the machine itself, before each run: aws-ssm:NAME, aws-secretsmanager:NAME, gcp-secretmanager:NAME " +
				"or azure-keyvault:VAULT/NAME; with #KEY for one value of a secret that is JSON. With run: every-boot it is kept in memory, and path is a link to it."},
		{Name: "mode", Type: String, Default: `"0644"`, Pattern: `0?[0-7]{3,4}`, Says: `an octal mode such as "0644"`, Also: []string{"permissions", "perm"},
			Doc: "The file's mode, octal and in quotes. Of a secret, 0600 is the default."},
		{Name: "owner", Type: String, Default: "root:root", Pattern: `[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*`, Says: "USER:GROUP, such as root:root",
			Also: []string{"user"}, Doc: "The file's user and group, by name or number."},
	},
}

var dropInObject = Object{
	Name: "dropIn",
	Doc:  "A systemd drop-in.",
	Fields: []Field{
		{Name: "unit", Type: String, Required: true, Also: []string{"name", "service"}, Doc: "The unit that it changes."},
		{Name: "content", Type: String, Required: true, Also: []string{"contents"}, Doc: "The drop-in, with its section headers."},
	},
}

var overrideObject = Object{
	Name: "override",
	Doc:  "Changes hooks for some of the instance groups. A field that is given replaces the hook's; env is merged key by key.",
	Fields: []Field{
		{Name: "selector", Type: OneObject, Of: &selectorObject, Required: true,
			Absent: "write `selector: {}` to select every instance group that has a kubelet", Doc: "The instance groups for which the hooks differ."},
		{Name: "hooks", Type: ObjectsByName, Of: &hookObject, Required: true, Doc: "By hook name, the fields that differ. name and phase cannot."},
	},
}
