package cloudinit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// wanted are accounts in the order in which they are first named: a group's value lists its members, a user's maps its
// settings.
type wanted struct{ dict *pyyaml.Value }

func noneWanted() wanted { return wanted{&pyyaml.Value{Kind: pyyaml.Dict}} }

func (w wanted) accounts() []account {
	var list []account
	for _, e := range w.dict.Entries {
		list = append(list, account{e.Key, e.Value})
	}
	return list
}

// wantedGroups reads groups: (cloudinit/distros/ug_util.py, _normalize_groups).
func wantedGroups(e pyyaml.Entry, ok bool) ([]account, error) {
	if !ok {
		return nil, nil
	}
	groups, v := noneWanted(), e.Value
	var err error
	switch {
	case v.IsString():
		for _, name := range strings.Split(pyyaml.Strip(v.Str), ",") {
			groups.addMembers(str(name))
		}
	case v.Kind == pyyaml.List:
		err = groups.addListOfGroups(v)
	case v.IsDict():
		err = groups.addMapOfGroups(v)
	default:
		err = fmt.Errorf("groups is %s", v.Kind.Noun())
	}
	if err != nil {
		return nil, err
	}
	list := groups.accounts()
	for _, g := range list {
		for _, m := range g.config.Items {
			if m.Kind != g.config.Items[0].Kind {
				return nil, fmt.Errorf("the members of the group %s cannot be sorted", g.name)
			}
		}
	}
	return list, nil
}

func (w wanted) addMembers(group *pyyaml.Value, members ...*pyyaml.Value) {
	all := w.dict.Lookup(group)
	if all == nil {
		all = &pyyaml.Value{Kind: pyyaml.List}
		w.dict.Set(group, all)
	}
	all.Items = append(all.Items, members...)
}

func (w wanted) addListOfGroups(list *pyyaml.Value) error {
	for _, item := range list.Items {
		if item.IsString() {
			w.addMembers(item)
			continue
		}
		if !item.IsDict() {
			return fmt.Errorf("a group is %s", item.Kind.Noun())
		}
		for _, e := range item.Entries {
			switch {
			case e.Value.Kind == pyyaml.List:
				w.addMembers(e.Key, e.Value.Items...)
			case e.Value.IsString():
				w.addMembers(e.Key, e.Value)
			default:
				return membersAre(e)
			}
		}
	}
	return nil
}

func (w wanted) addMapOfGroups(groups *pyyaml.Value) error {
	for _, e := range groups.Entries {
		if e.Value.IsString() {
			w.addMembers(e.Key)
			continue
		}
		members, err := iterate(e.Value)
		if err != nil {
			return membersAre(e)
		}
		w.addMembers(e.Key, members...)
	}
	return nil
}

func membersAre(group pyyaml.Entry) error {
	return fmt.Errorf("the members of the group %s are %s", group.Key, group.Value.Kind.Noun())
}

// wantedUsers reads users: and user: (cloudinit/distros/ug_util.py, _normalize_users). The user "default" is the image's.
func wantedUsers(config *pyyaml.Value) ([]account, error) {
	users := noneWanted()
	var err error
	switch v := config.Get("users"); {
	case v.IsDict():
		err = users.addMapOfUsers(v)
	case v.IsString():
		names := strings.Split(pyyaml.Strip(v.Str), ",")
		slices.Sort(names)
		for _, n := range names {
			users.addNames(n)
		}
	case v != nil && v.Kind == pyyaml.List:
		err = users.addListOfUsers(v)
	}
	if err != nil {
		return nil, err
	}
	users.dict.Delete(str("default"))
	// user: is an old way to name the default user
	switch old := config.Get("user"); {
	case old.IsString() && old.Str != "":
		users.addUser(old, nothing)
	case old.IsDict() && old.Get("name").IsString():
		users.addUser(old.Get("name"), old)
	}
	return users.accounts(), nil
}

// nothing are the settings of a user who is only named.
var nothing = &pyyaml.Value{Kind: pyyaml.Dict}

// addUser adds settings of a user. Those that it has stay.
func (w wanted) addUser(name, settings *pyyaml.Value) error {
	if name.IsDict() || name.Kind == pyyaml.List || name.Kind == pyyaml.Set {
		return errors.New("a user's name is " + name.Kind.Noun())
	}
	user := w.dict.Lookup(name)
	if user == nil {
		user = &pyyaml.Value{Kind: pyyaml.Dict}
	}
	for _, e := range settings.Entries {
		if !e.Key.IsString() {
			return fmt.Errorf("a key of the user %s is %s", name, e.Key.Kind.Noun())
		}
		key := str(pyyaml.Strip(strings.ReplaceAll(e.Key.Str, "-", "_")))
		if key.Str != "name" && !user.Has(key) {
			user.Set(key, e.Value)
		}
	}
	w.dict.Set(name, user)
	return nil
}

// addNames adds the users of a list with commas.
func (w wanted) addNames(list string) {
	for _, n := range strings.Split(pyyaml.Strip(list), ",") {
		if n != "" {
			w.addUser(str(n), nothing)
		}
	}
}

func (w wanted) addMapOfUsers(users *pyyaml.Value) error {
	for _, e := range users.Entries {
		switch e.Value.Kind {
		case pyyaml.Bool, pyyaml.Int, pyyaml.Float, pyyaml.Str:
			if slices.Contains([]string{"true", "1", "on", "yes"}, pyyaml.Strip(pyLower(e.Value.String()))) {
				w.addNames(e.Key.String())
			}
		case pyyaml.Dict:
			if err := w.addUser(e.Key, e.Value); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the user %s is %s", e.Key, e.Value.Kind.Noun())
		}
	}
	return nil
}

func (w wanted) addListOfUsers(list *pyyaml.Value) error {
	for _, item := range list.Items {
		var err error
		switch {
		case item.IsString():
			w.addNames(item.Str)
		case item.Kind == pyyaml.List:
			for _, n := range item.Items {
				if n.Truth() {
					err = errors.Join(err, w.addUser(n, nothing))
				}
			}
		case item.IsDict():
			name := item.Get("name")
			if name == nil {
				name = str("default")
			}
			err = w.addUser(name, item)
		default:
			err = fmt.Errorf("a user is %s", item.Kind.Noun())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
