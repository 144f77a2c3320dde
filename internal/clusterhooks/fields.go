package clusterhooks

import (
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/strict"
)

// Objects returns all objects of a ClusterHooks document; the first is the document itself.
func Objects() []*strict.Object {
	return []*strict.Object{&documentObject, &metadataObject, &specObject, &selectorObject, &expressionObject, &hookObject, &extensionObject, &clientConfigObject, &serviceObject}
}

const (
	dnsLabel     = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	secretName   = `[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?`
	dnsLabelSays = "1 to 63 lower case letters, digits and dashes, with a letter or digit at both ends"
)

var documentObject = strict.Object{
	Name: "document",
	Doc:  "Which hooks run around kops commands.",
	Fields: []strict.Field{
		{Name: "apiVersion", Type: strict.String, Required: true, Enum: []string{hookspec.APIVersion}, Doc: "The version of the format."},
		{Name: "kind", Type: strict.String, Required: true, Enum: []string{Kind}, Doc: "What the document is."},
		{Name: "metadata", Type: strict.OneObject, Of: &metadataObject, Required: true, Doc: "Names the document."},
		{Name: "spec", Type: strict.OneObject, Of: &specObject, Required: true, Doc: "The hooks and extensions."},
	},
}

var metadataObject = strict.Object{
	Name: "metadata",
	Doc:  "What names the document.",
	Fields: []strict.Field{
		{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, Says: dnsLabelSays, Doc: "The name of the document."},
		{Name: "labels", Type: strict.StringMap, Doc: "For other tools; kopshook ignores them."},
		{Name: "annotations", Type: strict.StringMap, Doc: "For other tools; kopshook ignores them."},
	},
}

const everyCluster = "write `selector: {}` to select every cluster"

var specObject = strict.Object{
	Name: "spec",
	Doc:  "The hooks and extensions, and for which clusters they are.",
	Fields: []strict.Field{
		{Name: "selector", Type: strict.OneObject, Of: &selectorObject, Required: true, Absent: everyCluster,
			Doc: "The clusters for which the hooks are. {} is every one."},
		{Name: "hooks", Type: strict.ObjectList, Of: &hookObject, Doc: "Scripts. Their order here means nothing: weight and name order them."},
		{Name: "extensions", Type: strict.ObjectList, Of: &extensionObject, Also: []string{"runtimeExtensions", "extensionConfigs"},
			Doc: "Servers of Cluster API Runtime Extensions."},
	},
}

var selectorObject = strict.Object{
	Name: "selector",
	Doc:  "Selects clusters: every field that is given must match, and of a list any one item. Globs know *, ?, [a-z] and [^a-z].",
	Fields: []strict.Field{
		{Name: "clusters", Type: strict.StringList, Also: []string{"cluster", "names", "name"}, Doc: "Globs on the cluster's name."},
		{Name: "excludeClusters", Type: strict.StringList, Also: []string{"exclude", "excludeNames", "except"}, Doc: "Globs on the cluster's name: these are not selected."},
		{Name: "matchLabels", Type: strict.StringMap, Also: []string{"labels"}, Doc: "Labels of the Cluster object (metadata.labels). A cluster that `kops create cluster` is about to make has none."},
		{Name: "matchExpressions", Type: strict.ObjectList, Of: &expressionObject, Also: []string{"expressions"}, Doc: "Requirements of labels, as in Kubernetes' label selectors: all must hold."},
	},
}

var expressionObject = strict.Object{
	Name: "label expression",
	Doc:  "A requirement of a label.",
	Fields: []strict.Field{
		{Name: "key", Type: strict.String, Required: true, Doc: "The label."},
		{Name: "operator", Type: strict.String, Required: true, Enum: []string{opIn, opNotIn, opExists, opDoesNotExist}, Doc: "What is wanted of its value."},
		{Name: "values", Type: strict.StringList, Doc: "The values, for In and NotIn."},
	},
}

var hookObject = strict.Object{
	Name: "hook",
	Doc:  "A script that runs on this machine, once for the cluster.",
	Fields: []strict.Field{
		{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, Says: dnsLabelSays, Doc: "Names the hook. Unique among all hooks and extensions."},
		{Name: "on", Type: strict.StringOrList, Required: true, Also: []string{"event", "events", "hook", "phase"},
			Doc: "The events on which it runs, or other systems' names for them."},
		{Name: "when", Type: strict.String, Default: string(Always), Enum: []string{string(Always), string(OnSuccess), string(OnFailure)}, Also: []string{"runOn", "if"},
			Doc: "After which ends of the kops command it runs. Only for after- events."},
		{Name: "weight", Type: strict.Integer, Default: "0", Min: -1000000, Max: 1000000, Also: []string{"order", "priority"},
			Doc: "Lower ones run first. Equal ones run by name."},
		{Name: "script", Type: strict.String, Also: []string{"run", "command", "exec", "inline"}, Doc: "The script, beginning with #!. Exactly one of script and source."},
		{Name: "source", Type: strict.String, Also: []string{"src", "file", "path"},
			Doc: "Where the script is: a file, a folder of scripts, or a remote source. Relative to the document."},
		{Name: "env", Type: strict.StringMap, Also: []string{"environment", "envs", "vars", "variables"}, Doc: "Environment of the script, beside the KOPSHOOK_ variables and kopshook's own environment."},
		{Name: "timeout", Type: strict.Span, Default: "5m", Min: 1, Max: 24 * 60 * 60, Also: []string{"timeoutSeconds", "deadline"},
			Doc: "How long one attempt may take. Then all of its processes are killed."},
		{Name: "attempts", Type: strict.Integer, Default: "1", Min: 1, Max: 100, Also: []string{"retries", "retry", "tries", "maxAttempts", "backoffLimit"}, Doc: "How often the hook is tried."},
		{Name: "retryDelay", Type: strict.Span, Default: "10s", Min: 0, Max: 120, Also: []string{"retryAfter", "delay", "backoff"},
			Doc: "The pause after a failed attempt. It doubles each time, up to 2m."},
		{Name: "failurePolicy", Type: strict.String, Default: policyFail, Enum: []string{policyFail, policyIgnore}, Also: []string{"onFailure", "ignoreFailure"},
			Doc: "Fail: kops does not start (before-), or the command fails (after-), and later hooks do not run. Ignore: it is reported, and all goes on."},
		{Name: "deletePolicy", Type: strict.StringOrList, Default: string(BeforeHookCreation),
			Enum: []string{string(BeforeHookCreation), string(HookSucceeded), string(HookFailed)}, Also: []string{"hookDeletePolicy", "hook-delete-policy", "cleanup"},
			Doc: "When the hook's work folder is removed: before it runs again, after it succeeded, after it failed."},
		{Name: "selector", Type: strict.OneObject, Of: &selectorObject, Absent: everyCluster, Doc: "Narrows the document's selector for this hook."},
		{Name: "enabled", Type: strict.Boolean, Default: "true", Also: []string{"disabled"}, Doc: "false drops the hook; it is still checked."},
	},
}

var extensionObject = strict.Object{
	Name: "extension",
	Doc:  "A server of Cluster API Runtime Extensions. Its handlers say what they are for, how long they take and what their failures mean.",
	Fields: []strict.Field{
		{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, Says: dnsLabelSays, Doc: "Names the extension. Unique among all hooks and extensions."},
		{Name: "clientConfig", Type: strict.OneObject, Of: &clientConfigObject, Required: true, Doc: "How to reach the server."},
		{Name: "settings", Type: strict.StringMap, Doc: "Goes along with every call."},
		{Name: "weight", Type: strict.Integer, Default: "0", Min: -1000000, Max: 1000000, Doc: "Where it comes among the hooks."},
		{Name: "failurePolicy", Type: strict.String, Default: policyFail, Enum: []string{policyFail, policyIgnore},
			Doc: "What a failed discovery means. Once discovered, each handler's own failurePolicy counts."},
		{Name: "selector", Type: strict.OneObject, Of: &selectorObject, Absent: everyCluster, Also: []string{"namespaceSelector"}, Doc: "Narrows the document's selector for this extension."},
		{Name: "enabled", Type: strict.Boolean, Default: "true", Also: []string{"disabled"}, Doc: "false drops the extension; it is still checked."},
	},
}

var clientConfigObject = strict.Object{
	Name: "clientConfig",
	Doc:  "How to reach a server, as in Cluster API's ExtensionConfig. Files are relative to the document.",
	Fields: []strict.Field{
		{Name: "url", Type: strict.String, Doc: "https://HOST:PORT, with a path if the server has one. Exactly one of url and service."},
		{Name: "service", Type: strict.OneObject, Of: &serviceObject, Doc: "The Service of a server in the cluster of the kubeconfig's context (--context): it is reached through a port-forward to a ready pod."},
		{Name: "caBundle", Type: strict.String, Doc: "The CA that signed the server's certificate: PEM in base64. Without caBundle and caFile the system's CAs count."},
		{Name: "caFile", Type: strict.String, Also: []string{"ca"}, Doc: "The same as a PEM file."},
		{Name: "caSecret", Type: strict.String, Also: []string{"injectCAFromSecret", "caFromSecret"}, Pattern: dnsLabel + "/" + secretName, Says: "NAMESPACE/NAME",
			Doc: "The same from ca.crt of a Secret, NAMESPACE/NAME, in the cluster of the kubeconfig's context."},
		{Name: "certFile", Type: strict.String, Also: []string{"clientCertificate", "cert", "clientCertFile"}, Doc: "The client certificate, a PEM file, where the server wants one."},
		{Name: "keyFile", Type: strict.String, Also: []string{"clientKey", "key", "clientKeyFile"}, Doc: "The key of the client certificate, a PEM file."},
		{Name: "serverName", Type: strict.String, Also: []string{"tlsServerName"}, Doc: "The name that the server's certificate is for, where it is not the URL's host: behind kubectl port-forward, SERVICE.NAMESPACE.svc."},
	},
}

var serviceObject = strict.Object{
	Name: "service",
	Doc:  "A Service, as in Cluster API's ExtensionConfig.",
	Fields: []strict.Field{
		{Name: "namespace", Type: strict.String, Required: true, Pattern: dnsLabel, Says: dnsLabelSays, Doc: "The namespace of the Service."},
		{Name: "name", Type: strict.String, Required: true, Pattern: dnsLabel, Says: dnsLabelSays, Doc: "The name of the Service."},
		{Name: "path", Type: strict.String, Pattern: "/.*", Says: "a path that begins with /", Doc: "A path that comes before those of the hooks."},
		{Name: "port", Type: strict.Integer, Default: "443", Min: 1, Max: 65535, Doc: "The port of the Service."},
	},
}
