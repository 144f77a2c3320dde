package clusterhooks

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Command is what the words of a kops command line say.
type Command struct {
	Args     []string // as given; Args[0] is the program
	Name     string   // "update cluster", "replace", "get cluster"; "" where there is none
	Operands []string // what comes after Name and is no option
	// Doubt is an option that kopshook does not know together with the word behind it, which may be its value or an
	// operand: "--new thing". "" where all is clear.
	Doubt   string
	options map[string][]string
	nameAt  []int    // where in Args the words of Name stand
	given   []option // in their order
}

// option is one that is given, and where: Args[from:to].
type option struct {
	name     string
	from, to int
}

// ParseCommand reads a command line as kops does: options may stand anywhere, "--name x" and "--name=x" are the same,
// "--" ends them.
func ParseCommand(args []string) *Command {
	c := &Command{Args: args, options: map[string][]string{}}
	var words []string
	var wordAt []int
	for i := 1; i < len(args); i++ {
		arg, from := args[i], i
		if arg == "--" {
			words = append(words, args[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			words, wordAt = append(words, arg), append(wordAt, i)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if long, isLong := strings.CutPrefix(name, "-"); isLong {
			name = long
		} else {
			// a bundle of letters: all but the last are booleans, or the rest is the value of the first that is none
			for len(name) > 1 && isBoolean(name[:1]) {
				c.set(name[:1], "true")
				name = name[1:]
			}
			if len(name) > 1 {
				rest := name[1:]
				if hasValue {
					rest += "=" + value
				}
				name, value, hasValue = name[:1], rest, true
			}
		}
		following, isLast := "", i+1 == len(args)
		if !isLast {
			following = args[i+1]
		}
		switch {
		case hasValue:
		case isBoolean(name):
			value = "true"
		case name == "admin" && (following == "" || following[0] < '0' || following[0] > '9'):
			value = "true" // update cluster takes a value only with "=" (cmd/kops/update_cluster.go:170)
		case isLast:
		case takesValue(name):
			value = following
			i++
		case !strings.HasPrefix(following, "-"):
			value = following
			i++
			c.Doubt = arg + " " + following
		}
		c.set(name, value)
		c.given = append(c.given, option{canonical(name), from, i + 1})
	}
	c.Name, c.Operands = splitName(words)
	c.nameAt = wordAt[:min(len(wordAt), len(words)-len(c.Operands))]
	return c
}

func (c *Command) set(name, value string) {
	name = canonical(name)
	c.options[name] = append(c.options[name], value)
}

// splitName takes the words that name the command off the front.
func splitName(words []string) (name string, operands []string) {
	nouns := map[string]bool{"create": true, "delete": true, "edit": true, "export": true, "get": true, "promote": true,
		"reconcile": true, "rolling-update": true, "toolbox": true, "trust": true, "distrust": true, "update": true,
		"upgrade": true, "validate": true}
	if len(words) == 0 {
		return "", nil
	}
	if len(words) > 1 && nouns[words[0]] {
		return words[0] + " " + words[1], words[2:]
	}
	return words[0], words[1:]
}

// Option returns the last value of an option, "" when it is not given.
func (c *Command) Option(name string) string {
	values := c.options[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// List returns all values of an option that may be repeated or hold several, split at commas. One that is given without
// any, as by a variable that is not set, has none: so kops takes it.
func (c *Command) List(name string) []string {
	var list []string
	for _, v := range c.options[name] {
		if v != "" {
			list = append(list, strings.Split(v, ",")...)
		}
	}
	return list
}

// Yes says whether the command is to be done for good.
func (c *Command) Yes() bool {
	yes, err := strconv.ParseBool(c.Option("yes"))
	return err == nil && yes
}

// Program is what the command is called: "kops".
func (c *Command) Program() string { return filepath.Base(c.Args[0]) }

// isKops says whether the program is kops, by its name: "kops-1.36" is.
func (c *Command) isKops() bool { return strings.HasPrefix(c.Program(), "kops") }

// ClusterName is the cluster that the command line itself names, "" when it leaves that to the environment.
func (c *Command) ClusterName() string {
	if name := c.Option("name"); name != "" {
		return name
	}
	if strings.HasSuffix(c.Name, " cluster") && len(c.Operands) > 0 {
		return c.Operands[0]
	}
	return ""
}

// Operation is the part of a cluster's life that a command is.
type Operation struct {
	// Events before and after the command. A command that is two things at once, such as reconcile, has several.
	Before, After []Event
	// IfAll are events after the command that come only if the instance groups that it names are all that there are of
	// their kind.
	IfAll []Event
	// ByManifest says that the command's files decide: which clusters, and whether there are events at all.
	ByManifest bool
	// None says why there are no events, where one might have thought so.
	None string
}

// isNothing says whether the command has no part in a cluster's life.
func (op *Operation) isNothing() bool {
	return len(op.Before) == 0 && len(op.After) == 0 && !op.ByManifest
}

// Operation says what the command line means.
func (c *Command) Operation() Operation {
	if c.Option("help") != "" {
		return Operation{}
	}
	var op Operation
	switch c.Name {
	case "create cluster":
		op = operation("create")
	case "update cluster":
		op = operation("update")
	case "upgrade cluster":
		op = operation("upgrade")
	case "rolling-update cluster":
		op = operation("rolling-update")
		if len(c.List("instance-group")) > 0 {
			op.IfAll = c.rolled()
		} else {
			op.After = append(op.After, c.rolled()...)
		}
	case "reconcile cluster":
		op = Operation{Before: []Event{BeforeUpdate, BeforeRollingUpdate},
			After: []Event{AfterUpdate, AfterRollingUpdate, AfterControlPlaneUpgrade, AfterClusterUpgrade}}
	case "delete cluster":
		op = operation("delete")
	case "delete instance":
		op = operation("delete-instance")
	case "delete":
		op = operation("delete")
		op.ByManifest = true
	case "replace":
		return Operation{ByManifest: true}
	case "validate cluster":
		return Operation{After: []Event{AfterControlPlaneReady}}
	default:
		return Operation{}
	}
	if !c.Yes() {
		return Operation{None: "it has no --yes"}
	}
	return op
}

// operation returns the events of "create", "update" and so on.
func operation(name string) Operation {
	return Operation{Before: []Event{Event("before-" + name)}, After: []Event{Event("after-" + name)}}
}

// Operations are the names that operationNamed knows.
var Operations = []string{"create", "update", "upgrade", "rolling-update", "rollback", "delete", "delete-instance", "validate"}

// operationNamed is the operation that people name themselves, where the command line does not show it.
func operationNamed(name string) Operation {
	switch name {
	case "validate":
		return Operation{After: []Event{AfterControlPlaneReady}}
	case "rolling-update":
		op := operation(name)
		op.After = append(op.After, AfterControlPlaneUpgrade, AfterClusterUpgrade)
		return op
	}
	return operation(name)
}

// rolled returns the events of a rolling update by the roles that it goes over: all control planes, or all nodes.
func (c *Command) rolled() []Event {
	roles := c.roles()
	has := func(role string) bool { return len(roles) == 0 || slices.Contains(roles, role) }
	var events []Event
	if has(roleControlPlane) {
		events = append(events, AfterControlPlaneUpgrade)
	}
	if has(roleNode) {
		events = append(events, AfterClusterUpgrade)
	}
	return events
}

// kops' roles of instance groups, as its options name them.
const (
	roleControlPlane = "control-plane"
	roleAPIServer    = "apiserver"
	roleNode         = "node"
	roleBastion      = "bastion"
)

// roles returns the roles that the command names, each as kops calls it (pkg/apis/kops/parse.go:28).
func (c *Command) roles() []string {
	var roles []string
	for _, r := range c.List("instance-group-roles") {
		roles = append(roles, roleOf(r))
	}
	return roles
}

// roleOf is kops' name of a role, however it is written.
func roleOf(r string) string {
	r = strings.TrimSuffix(strings.ToLower(r), "s")
	if r = strings.Replace(r, "controlplane", roleControlPlane, 1); r == "master" {
		return roleControlPlane
	}
	return r
}
