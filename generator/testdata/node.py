"""What cloud-init's own code makes of user data: node.py USER_DATA ROOT

Takes the message apart, merges the cloud-config and writes the files of
write_files below ROOT/fs. Boothooks are not run but kept in ROOT/boothooks,
the script that bootcmd becomes is ROOT/bootcmd, the merged config without the
two ROOT/config.json. Warnings of cloud-init are errors here.
"""

import json
import logging
import os
import sys

from cloudinit import handlers, helpers, user_data, util
from cloudinit.config import cc_write_files
from cloudinit.handlers import boot_hook, cloud_config, shell_script
from cloudinit.settings import PER_INSTANCE

source, root = sys.argv[1], sys.argv[2]
complaints = []


class Complain(logging.Handler):
    def emit(self, record):
        if record.levelno >= logging.WARNING:
            complaints.append(record.getMessage())


logging.getLogger().addHandler(Complain())


class Machine:
    def get_instance_id(self):
        return "i-1"


def keep(args, *_, **__):
    os.makedirs(root + "/boothooks", exist_ok=True)
    with open(args[0], "rb") as f, open(root + "/boothooks/" + os.path.basename(args[0]), "wb") as g:
        g.write(f.read())


boot_hook.subp.subp = keep
paths = helpers.Paths({"cloud_dir": root + "/cloud", "run_dir": root + "/run"}, Machine())
for place in ("boothooks", "scripts", "cloud_config"):
    os.makedirs(os.path.dirname(paths.get_ipath(place) + "/x" * (place != "cloud_config")), exist_ok=True)

takers = {}
for taker in (
    cloud_config.CloudConfigPartHandler(paths),
    boot_hook.BootHookPartHandler(paths, Machine()),
    shell_script.ShellScriptPartHandler(paths),
):
    for kind in taker.list_types():
        takers[kind] = taker


def part(data, filename, payload, headers):
    handlers.run_part(takers[headers["Content-Type"]], data, filename, payload, PER_INSTANCE, headers)


with open(source, "rb") as f:
    message = user_data.UserDataProcessor(paths).process(f.read())
for taker in set(takers.values()):
    handlers.call_begin(taker, None, PER_INSTANCE)
handlers.walk(message, part, None)
for taker in set(takers.values()):
    handlers.call_end(taker, None, PER_INSTANCE)

with open(paths.get_ipath("cloud_config"), "rb") as f:
    config = util.load_yaml(f.read().decode(), default={})

write = util.write_file


def below(path, content, mode=0o644, omode="wb", **_):
    write(root + "/fs" + path, content, mode=mode, omode=omode)


util.write_file = below
util.chownbyname = lambda *_, **__: None
cc_write_files.write_files("write_files", config.pop("write_files", []), "root:root")
if "bootcmd" in config:
    write(root + "/bootcmd", util.shellify(config.pop("bootcmd")), mode=0o700)


def typed(value):
    """With Python's types in it: yes is True, "yes" is 'yes'."""
    if isinstance(value, dict):
        return {repr(k): typed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [typed(v) for v in value]
    if isinstance(value, set):
        return sorted(repr(v) for v in value)
    return repr(value)


write(root + "/config.json", json.dumps(typed(config)))
if complaints:
    sys.exit("\n".join(complaints))
