package cli

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/plan"
	"kopshook.dev/kopshook/internal/report"
)

// checkUserData says whether files with user data that kops wrote hold what the specs say for their instance groups:
// the manifest's own parts and then the hooks', byte for byte.
func checkUserData(c *cli.Context, groups []*plan.Group) (fine bool, err error) {
	fine = true
	for _, name := range c.StringSlice("user-data") {
		data, err := readInput(c.Context, name, c.App.Reader)
		if err != nil {
			return false, err
		}
		data = plainUserData(data)
		nodeup, has, err := cloudinit.Parts(data)
		if err != nil {
			return false, report.Hint("give the file that kops writes, such as data/aws_launch_template_NAME_user_data", "%s: %w", display(name), err)
		}
		g, err := groupOfUserData(display(name), nodeup, groups)
		if err != nil {
			return false, err
		}
		want := g.Merged()
		if bytes.Equal(data, g.Message(nodeup)) {
			fmt.Fprintf(c.App.Writer, "%s: holds what the specs say for instance group %s\n", report.OneLine(display(name)), report.OneLine(g.Label()))
			continue
		}
		fine = false
		fmt.Fprintf(c.App.Writer, "%s: does not hold what the specs say for instance group %s\n", report.OneLine(display(name)), report.OneLine(g.Label()))
		for _, w := range compareParts(want, has) {
			fmt.Fprintf(c.App.Writer, "  %s\n", report.OneLine(w))
		}
	}
	return fine, nil
}

// plainUserData takes off the base64 in which clouds keep user data and show it, and the gzip that cloud-init takes off.
func plainUserData(data []byte) []byte {
	if bytes.HasPrefix(data, []byte("#!")) || bytes.HasPrefix(data, []byte("Content-Type:")) {
		return data
	}
	if plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(data)), "")); err == nil {
		data = plain
	}
	if plain, err := cloudinit.Gunzip(string(data)); err == nil {
		return []byte(plain)
	}
	return data
}

// kubeEnv finds a name in the configuration that kops puts into nodeup.sh (nodeup.Config in kops pkg/apis/nodeup/config.go).
func kubeEnv(nodeup []byte, key string) string {
	m := regexp.MustCompile(`(?m)^` + key + `: "?([^"\s]+)"?$`).FindSubmatch(nodeup)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// groupOfUserData returns the instance group that user data is for: the one that its nodeup.sh names or, where that is
// compressed or not there, the only one.
func groupOfUserData(file string, nodeup []byte, groups []*plan.Group) (*plan.Group, error) {
	name, cluster := kubeEnv(nodeup, "InstanceGroupName"), kubeEnv(nodeup, "ClusterName")
	if name == "" {
		if len(groups) == 1 {
			return groups[0], nil
		}
		return nil, report.Hint(chooseOne(labels(groups)), "%s: does not say which of %d instance groups it is for", file, len(groups))
	}
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
		if g.Name == name && (g.Cluster == "" || cluster == "" || g.Cluster == cluster) {
			return g, nil
		}
	}
	remedy := "give the manifest of that instance group"
	if near := report.Nearest(name, names); near != "" {
		remedy = fmt.Sprintf("the manifests have %q; was it renamed?", near)
	}
	return nil, report.Hint(remedy, "%s: is for instance group %q of cluster %s, which is not among the manifests", file, name, cmp.Or(cluster, "?"))
}

// compareParts says what is wrong with the parts of a message. Names may be there several times.
func compareParts(want, has []cloudinit.Part) []string {
	var wrong []string
	left := append([]cloudinit.Part(nil), has...)
	take := func(match func(cloudinit.Part) bool) (cloudinit.Part, bool) {
		for i, p := range left {
			if match(p) {
				left = append(left[:i:i], left[i+1:]...)
				return p, true
			}
		}
		return cloudinit.Part{}, false
	}
	for _, w := range want {
		if _, ok := take(func(p cloudinit.Part) bool { return p == w }); ok {
			continue
		}
		_, ok := take(func(p cloudinit.Part) bool { return p.Name == w.Name })
		switch {
		case ok:
			wrong = append(wrong, "differs: "+w.Name)
		default:
			wrong = append(wrong, "lacks: "+w.Name)
		}
	}
	for _, p := range left {
		whose := "which is not in the manifest"
		if strings.HasPrefix(p.Name, instancegroups.Prefix) {
			whose = "which no spec makes"
		}
		wrong = append(wrong, fmt.Sprintf("has: %s, %s", p.Name, whose))
	}
	if len(wrong) == 0 {
		wrong = []string{"has the parts in another order or framing"}
	}
	return wrong
}
