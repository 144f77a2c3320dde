package clusterhooks

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// Decode reads all ClusterHooks and ExtensionConfig documents of a file, YAML or JSON, and validates them. Documents of other kinds are
// skipped. It reports all mistakes at once; a document with mistakes may be among the results, so look at r before
// going on.
func Decode(file string, data []byte, r *report.Report) []*Doc {
	var docs []*Doc
	hookspec.ReadKind(file, data, Objects(), r, func(r *strict.Reader, v strict.Value) {
		doc := &Doc{File: file, pos: r.Doc.Pos}
		for field, v := range r.Fields(v, &documentObject) {
			switch field {
			case "apiVersion", "kind":
				r.String(v)
			case "metadata":
				doc.Name = readMetadata(r, v)
			case "spec":
				readSpec(r, v, doc)
			}
		}
		docs = append(docs, doc)
	})
	return append(docs, decodeExtensionConfigs(file, data, r)...)
}

func readMetadata(r *strict.Reader, v strict.Value) (name string) {
	for field, v := range r.Fields(v, &metadataObject) {
		switch field {
		case "name":
			name = r.String(v)
		case "labels", "annotations":
			r.StringMap(v)
		}
	}
	return name
}

func readSpec(r *strict.Reader, v strict.Value, doc *Doc) {
	for field, v := range r.Fields(v, &specObject) {
		switch field {
		case "selector":
			doc.Selector = *readSelector(r, v)
		case "hooks":
			for v := range r.Items(v) {
				doc.Hooks = append(doc.Hooks, readHook(r, v))
			}
		case "extensions":
			for v := range r.Items(v) {
				doc.Extensions = append(doc.Extensions, readExtension(r, v))
			}
		}
	}
	if !r.Bad(v.Path()) && !r.Given("spec.hooks") && !r.Given("spec.extensions") {
		r.KeyErrorf(v.Path(), "add `hooks:`, `extensions:` or both", "the spec has neither hooks nor extensions")
	}
}

func readSelector(r *strict.Reader, v strict.Value) *Selector {
	s := new(Selector)
	for field, v := range r.Fields(v, &selectorObject) {
		switch field {
		case "clusters":
			s.Clusters = hookspec.ReadGlobs(r, v)
		case "excludeClusters":
			s.ExcludeClusters = hookspec.ReadGlobs(r, v)
		default:
			readLabels(r, s, field, v)
		}
	}
	return s
}

// readLabels reads what a selector says of labels.
func readLabels(r *strict.Reader, s *Selector, field string, v strict.Value) {
	switch field {
	case "matchLabels":
		s.MatchLabels = r.StringMap(v)
	case "matchExpressions":
		for v := range r.Items(v) {
			s.MatchExpressions = append(s.MatchExpressions, readExpression(r, v))
		}
	}
}

func readExpression(r *strict.Reader, v strict.Value) (e Expression) {
	for field, v := range r.Fields(v, &expressionObject) {
		switch field {
		case "key":
			e.Key = r.String(v)
		case "operator":
			e.Operator = r.String(v)
		case "values":
			e.Values = r.Strings(v)
		}
	}
	if p := v.Path(); !r.Bad(p) && !r.Bad(p+".operator") && e.Operator != "" {
		switch wants := e.Operator == opIn || e.Operator == opNotIn; {
		case wants && len(e.Values) == 0:
			r.KeyErrorf(p, "add `values: [...]`", "`operator: %s` needs values", e.Operator)
		case !wants && len(e.Values) > 0:
			r.KeyErrorf(p+".values", "remove them", "`operator: %s` takes no values", e.Operator)
		}
	}
	return e
}

func readHook(r *strict.Reader, v strict.Value) Hook {
	p := v.Path()
	h := Hook{When: Always, Timeout: 5 * time.Minute, Attempts: 1, RetryDelay: 10 * time.Second,
		DeletePolicy: []DeletePolicy{BeforeHookCreation}, Enabled: true, path: p}
	for field, v := range r.Fields(v, &hookObject) {
		switch field {
		case "name":
			h.Name = r.String(v)
		case "on":
			h.On = readEvents(r, v)
		case "when":
			h.When = When(r.String(v))
		case "weight":
			h.Weight = r.Int(v)
		case "script":
			h.Script = new(hookspec.ReadScript(r, v))
		case "source":
			h.Source = new(hookspec.ReadSource(r, v))
		case "env":
			h.Env = hookspec.ReadEnv(r, v)
		case "timeout":
			h.Timeout = r.Duration(v)
		case "attempts":
			h.Attempts = r.Int(v)
		case "retryDelay":
			h.RetryDelay = r.Duration(v)
		case "failurePolicy":
			h.Ignore = r.String(v) == policyIgnore
		case "deletePolicy":
			h.DeletePolicy = nil
			for _, policy := range r.StringOrList(v) {
				h.DeletePolicy = append(h.DeletePolicy, DeletePolicy(policy))
			}
		case "selector":
			h.Selector = readSelector(r, v)
		case "enabled":
			h.Enabled = r.Bool(v)
		}
	}
	if r.Bad(p) {
		return h
	}
	switch {
	case h.Script != nil && h.Source != nil:
		r.KeyErrorf(p+".source", "remove one of them", "`script` and `source` do not go together")
	case h.Script == nil && h.Source == nil && !r.HasUnknown(p, &hookObject):
		r.KeyErrorf(p, "give it `script:` or `source:`", "the hook has nothing to run")
	}
	checkWhen(r, &h)
	return h
}

// checkWhen refuses `when` on a hook that only runs before kops commands, or only after those that succeeded.
func checkWhen(r *strict.Reader, h *Hook) {
	if !r.Given(h.path+".when") || r.Bad(h.path+".when") || len(h.On) == 0 {
		return
	}
	before, succeeded := true, true
	for _, e := range h.On {
		before = before && e.Before()
		succeeded = succeeded && e.onlyAfterSuccess()
	}
	switch {
	case before:
		r.KeyErrorf(h.path+".when", "remove it", "`when` is about the end of the kops command; this hook runs before it")
	case succeeded && h.When == OnFailure:
		r.KeyErrorf(h.path+".when", "remove it", "the events of this hook follow commands that succeeded only")
	}
}

// readEvents reads a list of events and puts kopshook's own names in the place of other systems'.
func readEvents(r *strict.Reader, v strict.Value) []Event {
	names := r.StringOrList(v)
	var events []Event
	for i, name := range names {
		p := v.Path()
		if item := fmt.Sprintf("%s[%d]", p, i); r.Given(item) {
			p = item
		}
		if r.Bad(p) {
			continue
		}
		found, remedy := eventsOf(name)
		if len(found) == 0 {
			r.Errorf(p, remedy, "there is no event %q", name)
		}
		for _, e := range found {
			if slices.Contains(events, e) {
				r.Errorf(p, "remove it", "event %s is there twice", e)
				continue
			}
			events = append(events, e)
		}
	}
	return events
}

func readExtension(r *strict.Reader, v strict.Value) Extension {
	e := Extension{Enabled: true, path: v.Path(), namePath: v.Path() + ".name"}
	for field, v := range r.Fields(v, &extensionObject) {
		switch field {
		case "name":
			e.Name = r.String(v)
		case "clientConfig":
			e.ClientConfig = readClientConfig(r, v)
		case "settings":
			e.Settings = r.StringMap(v)
		case "weight":
			e.Weight = r.Int(v)
		case "failurePolicy":
			e.Ignore = r.String(v) == policyIgnore
		case "selector":
			e.Selector = readSelector(r, v)
		case "enabled":
			e.Enabled = r.Bool(v)
		}
	}
	return e
}

func readClientConfig(r *strict.Reader, v strict.Value) ClientConfig {
	var c ClientConfig
	for field, v := range r.Fields(v, &clientConfigObject) {
		readClientField(r, &c, field, v)
	}
	p := v.Path()
	checkAddress(r, p, &clientConfigObject)
	var cas []string
	for _, field := range []string{"caBundle", "caFile", "caSecret"} {
		if r.Given(p + "." + field) {
			cas = append(cas, field)
		}
	}
	if len(cas) > 1 {
		r.KeyErrorf(p+"."+cas[1], "remove one of them", "`%s` and `%s` do not go together", cas[0], cas[1])
	}
	if r.Given(p+".certFile") != r.Given(p+".keyFile") {
		r.KeyErrorf(p, "give both", "`certFile` and `keyFile` belong together")
	}
	return c
}

// checkAddress sees to it that there is one way to the server.
func checkAddress(r *strict.Reader, p string, o *strict.Object) {
	switch {
	case r.Bad(p) || r.HasUnknown(p, o):
	case r.Given(p+".url") && r.Given(p+".service"):
		r.KeyErrorf(p+".service", "remove one of them", "`url` and `service` do not go together")
	case !r.Given(p+".url") && !r.Given(p+".service"):
		r.KeyErrorf(p, "write `url: https://HOST:PORT`, or `service:` with namespace and name", "it says neither `url` nor `service`")
	}
}

func readClientField(r *strict.Reader, c *ClientConfig, field string, v strict.Value) {
	p := v.Path()
	if field == "service" {
		c.Service = readService(r, v)
		return
	}
	s := r.String(v)
	if r.Bad(p) {
		return
	}
	switch field {
	case "url":
		c.URL = s
		checkURL(r, p, s)
	case "caBundle":
		pem, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
		if err != nil || !strings.Contains(string(pem), "-----BEGIN CERTIFICATE-----") {
			r.Errorf(p, "encode the PEM file with `base64 -w0`, or name it with `caFile:`", "`caBundle` is no PEM in base64")
		}
		c.CABundle = pem
	case "caFile":
		c.CAFile = s
	case "caSecret":
		c.CASecret = s
	case "certFile":
		c.CertFile = s
	case "keyFile":
		c.KeyFile = s
	case "serverName":
		c.ServerName = s
	}
}

func readService(r *strict.Reader, v strict.Value) *Service {
	s := &Service{Port: defaultServicePort}
	for field, v := range r.Fields(v, &serviceObject) {
		switch field {
		case "namespace":
			s.Namespace = r.String(v)
		case "name":
			s.Name = r.String(v)
		case "path":
			s.Path = r.String(v)
		case "port":
			s.Port = r.Int(v)
		}
	}
	return s
}

// checkURL holds a server's URL against the rules of ExtensionConfig (api/runtime/v1beta2/extensionconfig_types.go).
func checkURL(r *strict.Reader, p, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "":
		r.Errorf(p, "write https://HOST:PORT", "`url` is %q, which is no URL", s)
	case u.Scheme != "https":
		r.Errorf(p, "write https://HOST:PORT", "`url` is %q; extensions are called over https only", s)
	case u.User != nil:
		r.Errorf(p, "use certFile and keyFile", "`url` holds a user or password")
	case u.RawQuery != "" || u.Fragment != "":
		r.Errorf(p, "leave out what begins with ? or #", "`url` is %q; it may have a path, but no query and no fragment", s)
	}
}

// CheckNames sees to it that no two hooks or extensions have the same name: reports and work folders go by it.
func CheckNames(docs []*Doc, r *report.Report) {
	first := map[string]report.Position{}
	check := func(d *Doc, name, path string) {
		pos := d.Pos(path)
		if other, ok := first[name]; ok && name != "" {
			r.Errorf(pos, path, "choose another name", "%q is there twice, first at %s", name, other)
			return
		}
		first[name] = pos
	}
	for _, d := range docs {
		for _, h := range d.Hooks {
			check(d, h.Name, h.path+".name")
		}
		for _, e := range d.Extensions {
			check(d, e.Name, e.namePath)
		}
	}
}
