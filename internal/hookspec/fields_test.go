package hookspec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/strict"
)

// The table of fields and the Go types cannot drift apart.
func TestTableHoldsEveryFieldOfTheTypes(t *testing.T) {
	goTypes := map[string]any{
		"document": InstanceGroupHooks{}, "metadata": Metadata{}, "spec": Spec{}, "selector": Selector{},
		"hook": Hook{}, "file": File{}, "dropIn": DropIn{}, "override": Override{},
	}
	types := map[reflect.Type]strict.Type{
		reflect.TypeFor[string]():            strict.String,
		reflect.TypeFor[*string]():           strict.String,
		reflect.TypeFor[PhaseList]():         strict.StringOrList,
		reflect.TypeFor[URLList]():           strict.StringOrList,
		reflect.TypeFor[[]string]():          strict.StringList,
		reflect.TypeFor[map[string]string](): strict.StringMap,
		reflect.TypeFor[*int]():              strict.Integer,
		reflect.TypeFor[[]int]():             strict.IntegerList,
		reflect.TypeFor[bool]():              strict.Boolean,
		reflect.TypeFor[*bool]():             strict.Boolean,
		reflect.TypeFor[*time.Duration]():    strict.Span,
		reflect.TypeFor[*yaml.Node]():        strict.AnyMapping,
		reflect.TypeFor[Metadata]():          strict.OneObject,
		reflect.TypeFor[Spec]():              strict.OneObject,
		reflect.TypeFor[*Selector]():         strict.OneObject,
		reflect.TypeFor[[]Hook]():            strict.ObjectList,
		reflect.TypeFor[[]File]():            strict.ObjectList,
		reflect.TypeFor[[]DropIn]():          strict.ObjectList,
		reflect.TypeFor[[]Override]():        strict.ObjectList,
		reflect.TypeFor[map[string]Hook]():   strict.ObjectsByName,
	}
	if len(Objects()) != len(goTypes) {
		t.Errorf("%d objects, %d types", len(Objects()), len(goTypes))
	}
	for _, o := range Objects() {
		goType := reflect.TypeOf(goTypes[o.Name])
		want := map[string]strict.Type{}
		for i := range goType.NumField() {
			f := goType.Field(i)
			want[f.Tag.Get("yaml")] = types[f.Type]
		}
		got := map[string]strict.Type{}
		for _, f := range o.Fields {
			got[f.Name] = f.Type
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-types +table)\n%s", o.Name, diff)
		}
		if len(got) != len(o.Fields) {
			t.Errorf("%s has a field twice", o.Name)
		}
	}
}

func TestTableIsSound(t *testing.T) {
	for _, o := range Objects() {
		if o.Doc == "" {
			t.Errorf("%s: no doc", o.Name)
		}
		for _, f := range o.Fields {
			name := o.Name + "." + f.Name
			if !strings.HasSuffix(f.Doc, ".") {
				t.Errorf("%s: doc %q is no sentence", name, f.Doc)
			}
			if (f.Of != nil) != slices.Contains([]strict.Type{strict.OneObject, strict.ObjectList, strict.ObjectsByName}, f.Type) {
				t.Errorf("%s: type %s, of %v", name, f.Type, f.Of)
			}
			if (f.Pattern == "") != (f.Says == "") {
				t.Errorf("%s: a pattern needs words", name)
			}
			if (f.Type == strict.Integer || f.Type == strict.IntegerList || f.Type == strict.Span) && f.Max <= f.Min {
				t.Errorf("%s: no bounds", name)
			}
			for _, also := range f.Also {
				if o.Field(also) != nil {
					t.Errorf("%s: %q is a field", name, also)
				}
			}
			for _, phase := range Phases {
				checkDefault(t, name, &f, f.DefaultFor(phase))
				if refused := f.Refused(phase); refused != nil {
					if refused.Why == "" || refused.Remedy == "" {
						t.Errorf("%s: refused in %s without words", name, phase)
					}
					// what is taken all the same must be what happens anyway
					if refused.Except != "" && refused.Except != f.DefaultFor(phase) {
						t.Errorf("%s: in %s %q is taken, but the default is %q", name, phase, refused.Except, f.DefaultFor(phase))
					}
				}
			}
		}
	}
	if diff := cmp.Diff(hookObject.Field("phase").Enum, []string{"boot", "pre-nodeup", "pre-kubelet", "post-nodeup", "post-kubelet", "daemon", "pre-shutdown"}); diff != "" {
		t.Error(diff)
	}
}

func checkDefault(t *testing.T, name string, f *strict.Field, value string) {
	t.Helper()
	if value == "" {
		return
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(value), &n); err != nil {
		t.Fatal(err)
	}
	said := n.Content[0].Value
	ok := f.Matches(said) && (len(f.Enum) == 0 || slices.Contains(f.Enum, said))
	switch f.Type {
	case strict.Integer:
		i, err := strconv.Atoi(said)
		ok = err == nil && i >= f.Min && i <= f.Max
	case strict.Span:
		d, err := time.ParseDuration(said)
		ok = err == nil && d >= time.Duration(f.Min)*time.Second && d <= time.Duration(f.Max)*time.Second
	case strict.Boolean:
		ok = said == "true" || said == "false"
	}
	if !ok {
		t.Errorf("%s: default %q is not valid", name, value)
	}
}

// Each field of a hook is tried in each phase: taken, or refused at its key with the reason of the table.
func TestMatrixOfPhaseAndField(t *testing.T) {
	values := map[string]string{
		"name": "a", "phase": "", "weight": "1", "run": "once-per-instance", "script": `"#!/bin/sh"`, "source": "a.sh", "verify": `"true"`,
		"env": "{A: b}", "timeout": "1m", "attempts": "2", "retryDelay": "1s", "onFailure": "block", "before": "[containerd.service]",
		"rebootExitCodes": "[100]", "compress": "true", "cleanup": "on-success", "onDrift": "run", "undo": "rm -f /etc/a", "files": "[{path: /etc/a, content: a}]",
		"dropIns": `[{unit: a.service, content: "[Unit]"}]`, "cloudConfig": "{apt: {}}", "enabled": "true",
	}
	for _, f := range hookObject.Fields {
		value, known := values[f.Name]
		if !known {
			t.Fatalf("no value for %s", f.Name)
		}
		for _, phase := range Phases {
			hook := fmt.Sprintf("{name: a, phase: %s, script: \"#!/bin/sh\"", phase)
			switch f.Name {
			case "name", "phase", "script":
			case "source":
				hook = fmt.Sprintf("{name: a, phase: %s, source: a.sh", phase)
			default:
				hook += ",\n    " + f.Name + ": " + value
				if f.Name == "onDrift" && phase == Daemon {
					hook += `, verify: "true"`
				}
			}
			var r report.Report
			Decode("a.yaml", []byte(spec("  - "+hook+"}\n")), &r)
			refused := f.Refused(phase)
			switch {
			case refused == nil && len(r.Findings) > 0:
				t.Errorf("%s in %s: %v", f.Name, phase, r.Findings)
			case refused != nil && len(r.Findings) != 1:
				t.Errorf("%s in %s: want one finding, got %v", f.Name, phase, r.Findings)
			case refused != nil:
				got := r.Findings[0]
				if got.Line != 8 || got.Col != 5 || got.Path != "spec.hooks[0]."+f.Name || !strings.HasSuffix(got.Message, fmt.Sprintf("does not go with phase `%s`: %s", phase, refused.Why)) || got.Remedy != refused.Remedy {
					t.Errorf("%s in %s: %+v", f.Name, phase, got)
				}
			}
			// a refused field may still say what happens anyway
			if refused != nil && refused.Except != "" {
				var r report.Report
				hook := fmt.Sprintf("  - {name: a, phase: %s, script: \"#!/bin/sh\", %s: %s}\n", phase, f.Name, refused.Except)
				Decode("a.yaml", []byte(spec(hook)), &r)
				if len(r.Findings) > 0 {
					t.Errorf("%s: %s in %s: %v", f.Name, refused.Except, phase, r.Findings)
				}
			}
		}
	}
	// the phases that gate take everything but what is for daemon hooks
	for _, f := range hookObject.Fields {
		if f.Name == "onDrift" || f.Name == "undo" {
			continue
		}
		for _, phase := range []Phase{PreNodeup, PreKubelet} {
			if f.Refused(phase) != nil {
				t.Errorf("%s is refused in %s", f.Name, phase)
			}
		}
	}
}

// spec is a hook spec with these hooks; the first stands in line 7.
func spec(hooks string) string {
	return `apiVersion: kopshook.dev/v1alpha1
kind: InstanceGroupHooks
metadata: {name: test}
spec:
  selector: {}
  hooks:
` + hooks
}
