package cloudinit

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// Users and groups that Debian, Ubuntu and the images of the clouds have before cloud-init makes any.
var (
	knownUsers = strings.Fields(`root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc _apt nobody
		systemd-network systemd-timesync messagebus sshd polkitd _chrony`)
	knownGroups = strings.Fields(`root daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy
		tape sudo audio dip www-data backup operator list irc src shadow utmp video sasl plugdev staff games users nogroup
		systemd-journal systemd-network systemd-timesync input sgx kvm render crontab messagebus netdev polkitd _ssh`)
)

// accounts are the users and groups of a machine.
type accounts struct {
	users, groups map[string]bool
	failed        error // what ended the making of more
}

func newAccounts(users, groups []string) *accounts {
	a := &accounts{users: map[string]bool{}, groups: map[string]bool{}}
	for _, u := range slices.Concat(knownUsers, users) {
		a.users[u] = true
	}
	for _, g := range slices.Concat(knownGroups, groups) {
		a.groups[g] = true
	}
	return a
}

// noAccount is a user or a group that a file is to belong to and that is not there.
type noAccount struct{ user, group string }

func (e *noAccount) Error() string {
	if e.user != "" {
		return fmt.Sprintf("its owner %q is no user that exists by then", e.user)
	}
	return fmt.Sprintf("its group %q is none that exists by then", e.group)
}

// check says whether the owner of a file is somebody that exists.
func (a *accounts) check(f *File) error {
	var err error
	switch {
	case f.User != "" && !a.users[f.User]:
		err = &noAccount{user: f.User}
	case f.Group != "" && !a.groups[f.Group]:
		err = &noAccount{group: f.Group}
	}
	if err != nil && a.failed != nil {
		err = fmt.Errorf("%w (making users and groups failed: %w)", err, a.failed)
	}
	return err
}

// account is a user or group to make, with its configuration or its members.
type account struct {
	name   *pyyaml.Value
	config *pyyaml.Value
}

// make adds the groups and users that a configuration asks for, up to the first that fails
// (cloudinit/config/cc_users_groups.py, handle). If either of groups: and users: cannot be read, nothing is made.
func (a *accounts) make(config *pyyaml.Value) error {
	groups, err := wantedGroups(config.GetEntry("groups"))
	if err != nil {
		return err
	}
	users, err := wantedUsers(config)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if !g.name.IsString() {
			return fmt.Errorf("a group is called %s, which is no string", g.name)
		}
		a.addGroup(g.name.Str)
		for _, member := range g.config.Items {
			if !member.IsString() {
				return fmt.Errorf("a member of the group %s is %s", g.name, member.Kind.Noun())
			}
		}
	}
	for _, u := range users {
		if err := a.addUser(u); err != nil {
			return err
		}
	}
	return nil
}

// addGroup is groupadd, whose failure is only logged.
func (a *accounts) addGroup(name string) {
	if isAccountName(name) {
		a.groups[name] = true
	}
}

// addUser is Distro.add_user, and useradd behind it (cloudinit/distros/__init__.py).
func (a *accounts) addUser(u account) error {
	if !u.name.IsString() {
		return fmt.Errorf("a user is called %s, which is no string", u.name)
	}
	name := u.name.Str
	set := func(key string) bool { return u.config.Get(key).Truth() }
	if (set("no_create_home") || set("system")) && (set("ssh_authorized_keys") || set("ssh_import_id") || set("ssh_redirect_user")) {
		return fmt.Errorf("the user %s has keys for ssh and no home to put them into", name)
	}
	if a.users[name] || u.config.Has(str("snapuser")) {
		return nil
	}
	primary, own := u.config.Get("primary_group"), !set("no_user_group")
	groups, err := userGroups(u.config.Get("groups"))
	if err != nil {
		return fmt.Errorf("the groups of the user %s: %w", name, err)
	}
	create := u.config.Get("create_groups")
	if create == nil || create.Truth() {
		for _, g := range groups {
			a.addGroup(g)
		}
		if len(groups) > 0 && primary.Truth() {
			if !primary.IsString() {
				return fmt.Errorf("the primary group of the user %s is %s", name, primary.Kind.Noun())
			}
			a.addGroup(primary.Str)
		}
	}
	if primary.Truth() && primary.IsString() {
		own = false
		groups = append(groups, primary.Str)
	}
	switch i := slices.IndexFunc(groups, func(g string) bool { return !a.groups[g] }); {
	case !isAccountName(name):
		return fmt.Errorf("useradd takes no user called %q", name)
	case i >= 0:
		return fmt.Errorf("the user %s is in the group %q, which does not exist", name, groups[i])
	case own && a.groups[name]:
		return fmt.Errorf("the user %s cannot be made, since there is a group of that name already: primary_group: %s would use it", name, name)
	}
	a.users[name] = true
	if own {
		a.groups[name] = true
	}
	return nil
}

// userGroups are the names that groups: of a user names.
func userGroups(v *pyyaml.Value) ([]string, error) {
	if !v.Truth() {
		return nil, nil
	}
	items := []*pyyaml.Value{}
	if v.IsString() {
		for _, s := range strings.Split(v.Str, ",") {
			items = append(items, str(s))
		}
	} else {
		var err error
		if items, err = iterate(v); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, item := range items {
		if !item.IsString() {
			return nil, fmt.Errorf("one is %s", item.Kind.Noun())
		}
		names = append(names, pyyaml.Strip(item.Str))
	}
	return names, nil
}

// isAccountName says whether Debian's useradd and groupadd take a name.
func isAccountName(s string) bool {
	return s != "" && len(s) <= 32 && !strings.ContainsAny(s, ":, \t\n/") && !strings.ContainsAny(s[:1], "-+~")
}
