package cloudinit

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// module is a module of cloud-init that acts on keys of the configuration.
type module struct {
	stage Stage
	name  string
	keys  []string
	run   func(*reader) // nil: it is only named
}

// modules in the order in which they run on Debian, Ubuntu and Amazon Linux (config/cloud.cfg.tmpl). Modules that no key
// addresses, or that no kops node has, are left out.
func modules() []module {
	return []module{
		{Init, "seed_random", []string{"random_seed"}, nil},
		{Init, "bootcmd", []string{"bootcmd"}, (*reader).bootcmd},
		{Init, "write_files", []string{"write_files"}, func(r *reader) { r.writeFiles(false) }},
		{Init, "growpart", []string{"growpart"}, nil},
		{Init, "resizefs", []string{"resize_rootfs"}, nil},
		{Init, "disk_setup", []string{"disk_setup", "fs_setup"}, nil},
		{Init, "mounts", []string{"mounts", "swap", "mount_default_fields"}, nil},
		{Init, "set_hostname", []string{"hostname", "fqdn", "preserve_hostname", "prefer_fqdn_over_hostname"}, nil},
		{Init, "update_etc_hosts", []string{"manage_etc_hosts"}, nil},
		{Init, "ca_certs", []string{"ca_certs", "ca-certs"}, nil},
		{Init, "rsyslog", []string{"rsyslog"}, nil},
		{Init, "users_groups", []string{"users", "groups", "user"}, nil},
		{Init, "ssh", []string{"ssh_keys", "ssh_authorized_keys", "ssh_deletekeys", "ssh_genkeytypes", "disable_root", "allow_public_ssh_keys"}, nil},
		{Config, "snap", []string{"snap"}, nil},
		{Config, "ssh_import_id", []string{"ssh_import_id"}, nil},
		{Config, "keyboard", []string{"keyboard"}, nil},
		{Config, "locale", []string{"locale", "locale_configfile"}, nil},
		{Config, "set_passwords", []string{"password", "chpasswd", "ssh_pwauth"}, nil},
		{Config, "apt_pipelining", []string{"apt_pipelining"}, nil},
		{Config, "apt_configure", []string{"apt"}, nil},
		{Config, "yum_add_repo", []string{"yum_repos"}, nil},
		{Config, "ntp", []string{"ntp"}, nil},
		{Config, "timezone", []string{"timezone"}, nil},
		{Config, "disable_ec2_metadata", []string{"disable_ec2_metadata"}, nil},
		{Config, "runcmd", []string{"runcmd"}, (*reader).runcmd},
		{Final, "packages", []string{"packages", "package_update", "package_upgrade", "package_reboot_if_required"}, (*reader).packages},
		{Final, "write_files_deferred", []string{"write_files"}, func(r *reader) { r.writeFiles(true) }},
		{Final, "puppet", []string{"puppet"}, nil},
		{Final, "chef", []string{"chef"}, nil},
		{Final, "ansible", []string{"ansible"}, nil},
		{Final, "salt_minion", []string{"salt_minion"}, nil},
		{Final, "scripts", nil, (*reader).userScripts},
		{Final, "phone_home", []string{"phone_home"}, nil},
		{Final, "final_message", []string{"final_message"}, nil},
		{Final, "power_state_change", []string{"power_state"}, nil},
	}
}

// run lists what the modules do, in order.
func (r *reader) run() {
	for _, m := range modules() {
		if m.stage == Init && r.noInit {
			continue
		}
		var keys []string
		var first *pyyaml.Value
		for _, k := range m.keys {
			if e, ok := r.result.Config.GetEntry(k); ok {
				keys = append(keys, k)
				if first == nil {
					first = e.Key
				}
			}
		}
		switch {
		case m.run != nil && (len(keys) > 0 || m.keys == nil || r.result.Effective.Get(m.keys[0]) != nil):
			m.run(r)
		case m.run == nil && len(keys) > 0:
			r.result.Runs = append(r.result.Runs, Run{Stage: m.stage, What: m.name, Name: strings.Join(keys, ", "), At: r.locate(first)})
		}
		if m.name == "users_groups" {
			r.accounts.failed = r.accounts.make(r.result.Effective) // what was made before that is there
		}
	}
}

// config returns a key of the effective configuration.
func (r *reader) config(key string) *pyyaml.Value { return r.result.Effective.Get(key) }

// commandsLost tells that none of the commands run.
func (r *reader) commandsLost(key string, v *pyyaml.Value, err error) {
	l := Loss{Kind: LostCommands, Path: key, What: "all of " + key, Why: err.Error(), At: r.locate(v)}
	var e *itemError
	if errors.As(err, &e) {
		v = e.v
		l.At = r.locate(v)
	}
	l.Name = r.nameOf(v.Part)
	r.lose(l)
}

func (r *reader) bootcmd() {
	v := r.config("bootcmd")
	if v == nil {
		return
	}
	script, items, err := r.shellify(v)
	if err == nil && !utf8.ValidString(script) {
		err = errors.New("a character cannot be written as UTF-8")
	}
	if err != nil {
		r.commandsLost("bootcmd", v, err)
		return
	}
	r.result.Runs = append(r.result.Runs, Run{Stage: Init, What: "bootcmd", Name: "bootcmd", EveryBoot: true, Content: script, Items: items, At: r.locate(v)})
}

// runcmd is only written to a file here, which runs among the user scripts.
func (r *reader) runcmd() {
	v := r.config("runcmd")
	if v == nil {
		return
	}
	content, items, err := r.shellify(v)
	if err == nil && !utf8.ValidString(content) {
		err = errors.New("a character cannot be written as UTF-8")
	}
	if err != nil {
		r.commandsLost("runcmd", v, err)
		return
	}
	at := r.locate(v)
	if old, ok := r.scripts[""]["runcmd"]; ok {
		r.lose(Loss{Kind: Overwritten, Name: old.m.filename(), What: "the script", Why: "the commands of runcmd: are written to the same file, runcmd",
			At: r.start(old.m), By: at})
	}
	if r.scripts[""] == nil {
		r.scripts[""] = map[string]script{}
	}
	r.scripts[""]["runcmd"] = script{name: "runcmd", content: content}
	r.runcmdItems = items
	r.result.Runs = append(r.result.Runs, Run{Stage: Config, What: "runcmd", Name: "runcmd", Content: content, Items: items, At: at})
}

func (r *reader) packages() {
	v := r.config("packages")
	run := Run{Stage: Final, What: "packages", Name: "packages", At: r.locate(v)}
	if v.IsSequence() {
		for _, p := range v.Items {
			run.Items = append(run.Items, Item{Text: p.String(), At: r.locate(p)})
		}
	}
	if v == nil {
		run.Name = "package_update, package_upgrade"
	}
	r.result.Runs = append(r.result.Runs, run)
}

// userScripts run in the byte order of their names, one after the other, whether the one before failed or not
// (cloudinit/subp.py:391, runparts).
func (r *reader) userScripts() {
	for _, f := range []struct {
		folder, what string
		everyBoot    bool
	}{{"per-once", "script-per-once", false}, {"per-boot", "script-per-boot", true}, {"per-instance", "script-per-instance", false}, {"", "script", false}} {
		for _, name := range slices.Sorted(maps.Keys(r.scripts[f.folder])) {
			s := r.scripts[f.folder][name]
			run := Run{Stage: Final, What: f.what, Name: name, EveryBoot: f.everyBoot, Content: s.content}
			if s.m == nil {
				run.At, run.Items = r.locate(r.config("runcmd")), r.runcmdItems
			} else {
				run.At = r.start(s.m)
				r.checkRuns(s.m.filename(), s.content, run.At)
			}
			r.result.Runs = append(r.result.Runs, run)
		}
	}
}
