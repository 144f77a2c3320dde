package plan

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
)

// Base is user data that kops made for an instance group.
type Base struct {
	Group string // its name, or CLUSTER/NAME; "" is all
	File  string
	Data  []byte
}

// BaseRemedy says which files hold what a base is made of.
const BaseRemedy = "give what kops update cluster --target=terraform wrote, such as data/aws_launch_template_GROUP.CLUSTER_user_data"

// names says whether the base is that of the group by name.
func (b Base) names(g *Group) bool {
	return b.Group != "" && (b.Group == g.Name || b.Group == g.Cluster+"/"+g.Name)
}

// setBases gives each group the script of kops' own that the user data of its base begins with.
func setBases(groups []*Group, bases []Base) error {
	for _, b := range bases {
		if err := b.check(groups); err != nil {
			return err
		}
		script, err := cloudinit.Nodeup(b.Data)
		if err != nil {
			return report.Hint(BaseRemedy, "%s: %w", report.Position{File: b.File}, err)
		}
		for _, g := range groups {
			own := slices.ContainsFunc(bases, func(b Base) bool { return b.names(g) })
			if b.names(g) || b.Group == "" && !own {
				g.Nodeup = script
			}
		}
	}
	return nil
}

// check says whether it is clear which groups the base is of: one by name, or all, of one role.
func (b Base) check(groups []*Group) error {
	if b.Group == "" {
		var roles []string
		for _, g := range groups {
			if len(g.Parts) > 0 && g.Role != "Bastion" && !slices.Contains(roles, g.Role) {
				roles = append(roles, g.Role)
			}
		}
		if len(roles) > 1 {
			return report.Hint("give each its own: --base GROUP=FILE",
				"--base %s: groups of roles %s differ in what kops writes", b.File, strings.Join(roles, " and "))
		}
		return nil
	}
	var all, named []string
	for _, g := range groups {
		all = append(all, g.Label())
		if b.names(g) {
			named = append(named, g.Label())
		}
	}
	switch len(named) {
	case 0:
		return report.Hint("name one of "+someNames(all), "--base %s=%s: there is no instance group %q", b.Group, b.File, b.Group)
	case 1:
		return nil
	}
	return report.Hint(fmt.Sprintf("name the cluster too: --base %s=%s", named[0], b.File),
		"--base %s=%s: there are %s", b.Group, b.File, strings.Join(named, " and "))
}
