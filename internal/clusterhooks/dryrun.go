package clusterhooks

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"kopshook.dev/kopshook/internal/report"
)

// printPlan says what would run, and what extensions have.
func (r *runner) printPlan() {
	if r.result.Note != "" {
		fmt.Fprintf(r.Stdout, "no hooks: %s\n", report.OneLine(r.result.Note))
	}
	first, rest, split := r.splits()
	if !split {
		rest = r.Command
	}
	for i := range r.targets {
		r.printStages(&r.targets[i], r.targets[i].before)
	}
	for _, args := range first {
		r.printKops(args)
	}
	for i := range r.targets {
		if between, _ := r.targets[i].parts(); split {
			r.printStages(&r.targets[i], between)
		}
	}
	r.printKops(rest)
	for i := range r.targets {
		last := r.targets[i].after
		if split {
			_, last = r.targets[i].parts()
		}
		r.printStages(&r.targets[i], last)
	}
	r.printHandlers()
}

func (r *runner) printKops(args []string) {
	fmt.Fprintf(r.Stdout, "%-26s %-10s %s\n", "", "kops", report.OneLine(strings.Join(args, " ")))
}

func (r *runner) printStages(t *target, stages []stage) {
	for _, st := range stages {
		for _, s := range st.steps {
			names := []string{s.name()}
			if handlers, ok := r.found[s.extension]; ok {
				names = nil
				for i := range handlers {
					if h := &handlers[i]; h.isFor(st.event) {
						names = append(names, h.Name+"."+s.name())
					}
				}
			}
			for _, name := range names {
				fmt.Fprintf(r.Stdout, "%-26s %-10s %s (%s)\n", st.event, s.kind(), report.OneLine(name), report.OneLine(t.Cluster.Name))
			}
		}
	}
}

// foundHandler is a handler as .status.handlers of an ExtensionConfig has it.
type foundHandler struct {
	FailurePolicy string `yaml:"failurePolicy"`
	Name          string `yaml:"name"`
	RequestHook   struct {
		APIVersion string `yaml:"apiVersion"`
		Hook       string `yaml:"hook"`
	} `yaml:"requestHook"`
	TimeoutSeconds int `yaml:"timeoutSeconds"`
}

// printHandlers prints what the discovery of each extension found.
func (r *runner) printHandlers() {
	done := map[*Extension]bool{}
	r.eachStep(func(s *step) {
		handlers, ok := r.found[s.extension]
		if !ok || done[s.extension] {
			return
		}
		done[s.extension] = true
		var found struct {
			Handlers []foundHandler `yaml:"handlers"`
		}
		for i := range handlers {
			h := &handlers[i]
			f := foundHandler{FailurePolicy: policyFail, Name: h.Name + "." + s.name(), TimeoutSeconds: int(h.timeout().Seconds())}
			if h.ignoresErrors() {
				f.FailurePolicy = policyIgnore
			}
			f.RequestHook.APIVersion, f.RequestHook.Hook = h.RequestHook.APIVersion, h.RequestHook.Hook
			found.Handlers = append(found.Handlers, f)
		}
		fmt.Fprintf(r.Stdout, "\n# extension %s\n", report.OneLine(s.name()))
		enc := yaml.NewEncoder(r.Stdout)
		enc.SetIndent(2)
		enc.Encode(found)
		enc.Close()
	})
}
