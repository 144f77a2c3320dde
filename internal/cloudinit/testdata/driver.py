"""Runs cloud-init's own code over user data and says what it did, without booting.

It runs as root inside of a root file system that it may change. Each line of standard input is a JSON request, each
line of standard output its answer. The first request names the folders, users and groups that the machine has.
Nothing of the user data is executed: commands, boothooks and scripts are noted where cloud-init would start them.
"""
import base64
import datetime
import json
import logging
import os
import pickle
import re
import shutil
import sys
import types

import yaml

from cloudinit import handlers, helpers, sources, stages, subp, util, version
from cloudinit import user_data
from cloudinit.config import cc_bootcmd, cc_runcmd, cc_users_groups, cc_write_files
from cloudinit.distros import fetch
from cloudinit.handlers import boot_hook
from cloudinit.settings import PER_ALWAYS

try:
    from cloudinit.config import cc_write_files_deferred
except ImportError:
    cc_write_files_deferred = None  # before 21.3

WORK = "/dev/shm/kopshook"
CLOUD, RUN, FILES = WORK + "/cloud", WORK + "/run", WORK + "/files"


def b64(data):
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return base64.b64encode(data).decode()


def canon(v):
    """One text for each value: types, order of keys and all."""
    if v is None:
        return "N"
    if isinstance(v, bool):
        return "T" if v else "F"
    if isinstance(v, int):
        return "i%d" % v
    if isinstance(v, float):
        return "f" + repr(v)
    if isinstance(v, str):
        return "s" + v.encode("utf-8", "surrogatepass").hex()
    if isinstance(v, bytes):
        return "b" + v.hex()
    if isinstance(v, (datetime.datetime, datetime.date)):
        return "d" + repr(v)
    if isinstance(v, list):
        return "[" + ",".join(canon(i) for i in v) + "]"
    if isinstance(v, tuple):
        return "(" + ",".join(canon(i) for i in v) + ")"
    if isinstance(v, dict):
        return "{" + ",".join(canon(k) + ":" + canon(v[k]) for k in v) + "}"
    if isinstance(v, (set, frozenset)):
        return "<" + ",".join(sorted(canon(i) for i in v)) + ">"
    raise TypeError(type(v))


class Log(logging.Handler):
    """Counts what cloud-init complains of."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


LOG = Log()
logging.getLogger().handlers = [LOG]
logging.getLogger().setLevel(logging.WARNING)


class Source(sources.DataSource):
    dsname = "Kopshook"

    def __init__(self, paths, data, index):
        super().__init__({}, None, paths)
        self.userdata_raw = data
        self.metadata = {"instance-id": "i-kopshook"}
        if index is not None:
            self.metadata["launch-index"] = index

    def get_instance_id(self):
        return "i-kopshook"

    def _get_data(self):
        return True

    def get_vendordata(self):
        return None  # there is none, so that none needs to be processed

    def get_vendordata2(self):
        return None


def redirect_paths():
    init = helpers.Paths.__init__

    def paths_init(self, path_cfgs, ds=None):
        init(self, dict(path_cfgs or {}, cloud_dir=CLOUD, run_dir=RUN), ds)

    helpers.Paths.__init__ = paths_init


STATE = {}


def base_config(*_args, **_kwargs):
    own = {"def_log_file": WORK + "/log", "syslog_fix_perms": []}
    return util.mergemanydict([yaml.safe_load(STATE["base"]) or {}, own])


def fake_boothook(args, *_args, **_kwargs):
    with open(args[0], "rb") as f:
        STATE["boothooks"].append([os.path.basename(args[0]), b64(f.read())])
    return "", ""


def fake_bootcmd(args, *_args, **_kwargs):
    with open(args[1], "rb") as f:
        STATE["bootcmd"] = b64(f.read())
    return "", ""


def fake_script(args, *_args, **_kwargs):
    STATE["started"].append(args[-1])
    return "", ""


def watch_parts():
    callback = handlers.walker_callback

    def watched(data, filename, payload, headers):
        before = len(LOG.texts)
        callback(data, filename, payload, headers)
        # before 22.2 a job of upstart is taken without a word, and nothing comes of it
        lost = headers["Content-Type"] == handlers.INCLUSION_TYPES_MAP.get("#upstart-job") or len(LOG.texts) > before
        STATE["parts"].append([filename, headers["Content-Type"], lost])

    handlers.walker_callback = watched
    handlers.walker_handle_handler = lambda *_args: None
    user_data.UserDataProcessor._do_include = lambda *_args: None


def parse_once():
    """cloud-init parses the same text up to five times for a message: here PyYAML does it once for each."""
    load = yaml.load

    def remembered(text, Loader):
        key = (Loader, text)
        if not isinstance(text, (str, bytes)):
            return load(text, Loader)
        if key not in STATE["parsed"]:
            try:
                STATE["parsed"][key] = pickle.dumps(load(text, Loader)), None
            except Exception as e:
                STATE["parsed"][key] = None, e
        value, error = STATE["parsed"][key]
        if error:
            raise error.with_traceback(None)
        return pickle.loads(value)

    yaml.load = remembered


class Redirected:
    """cloudinit.util for cc_write_files, with all files below FILES."""

    def __getattr__(self, name):
        return getattr(util, name)

    @staticmethod
    def write_file(path, content, **kwargs):
        path = os.fsdecode(path)
        util.write_file(FILES + path, content, **kwargs)
        with open(FILES + path, "rb") as f:
            data = f.read()
        STATE["files"].append([path, oct(os.stat(FILES + path).st_mode & 0o7777), "a" in kwargs["omode"], b64(data), "", ""])

    @staticmethod
    def chownbyname(path, user=None, group=None):
        util.chownbyname(FILES + os.fsdecode(path), user, group)
        STATE["files"][-1][4:] = [user or "", group or ""]
        note_mode(path)

    @staticmethod
    def get_permissions(path):
        return util.get_permissions(FILES + os.fsdecode(path))

    @staticmethod
    def chmod(path, mode):
        util.chmod(FILES + os.fsdecode(path), mode)
        note_mode(path)


def note_mode(path):
    STATE["files"][-1][1] = oct(os.stat(FILES + os.fsdecode(path)).st_mode & 0o7777)


def offline(*_args, **_kwargs):
    raise OSError("offline")


def sandbox():
    redirect_paths()
    stages.fetch_base_config = base_config
    boot_hook.subp = types.SimpleNamespace(ProcessExecutionError=subp.ProcessExecutionError, subp=fake_boothook)
    cc_bootcmd.subp = types.SimpleNamespace(ProcessExecutionError=subp.ProcessExecutionError, subp=fake_bootcmd)
    cc_write_files.util = Redirected()
    if hasattr(cc_write_files, "url_helper"):
        cc_write_files.url_helper = types.SimpleNamespace(read_file_or_url=offline)
    watch_parts()
    parse_once()
    # Python looks for modules that are not there each time anew, and cloud-init makes it look in more and more folders
    sys.modules["selinux"] = None
    STATE["path"] = list(sys.path)


def accounts(users, groups):
    with open("/etc/passwd", "w") as f:
        for i, u in enumerate(users):
            f.write("%s:x:%d:%d::/:/bin/sh\n" % (u, i, i))
    with open("/etc/group", "w") as f:
        for i, g in enumerate(groups):
            f.write("%s:x:%d:\n" % (g, i))
    for name in ("shadow", "gshadow", "subuid", "subgid"):
        with open("/etc/" + name, "w"):
            pass


def call(module, cfg, cloud):
    """Runs a module as cloud-init does and says whether it failed."""
    args = [module.__name__, cfg, cloud, []]
    if module.handle.__code__.co_argcount == 5:  # before 23.1
        args.insert(3, logging.getLogger("module"))
    before = len(LOG.texts)
    try:
        module.handle(*args)
    except Exception as e:
        return "%s: %s" % (type(e).__name__, e)
    # runcmd only warns before 21.4
    return "".join(t for t in LOG.texts[before:] if t.startswith("Failed to shellify"))


def write_files(module, cfg, cloud):
    STATE.update(files=[], dirty=True)
    before = len(LOG.texts)
    failed = call(module, cfg, cloud)
    return {"files": STATE["files"], "failed": failed, "warnings": len(LOG.texts) - before}


def make_users(cfg, cloud):
    """Really makes the accounts, with useradd and groupadd."""
    if "users" in cfg or "groups" in cfg:
        STATE["accounts"] = True
        call(cc_users_groups, cfg, cloud)


def run_scripts():
    found = []
    real, subp.subp = subp.subp, fake_script
    try:
        for name, folder in (("per-once", CLOUD + "/scripts/per-once"), ("per-boot", CLOUD + "/scripts/per-boot"),
                             ("per-instance", CLOUD + "/scripts/per-instance"), ("", CLOUD + "/instance/scripts")):
            STATE["started"] = []
            subp.runparts(folder)
            for path in STATE["started"]:
                with open(path, "rb") as f:
                    found.append([name, os.path.basename(path), b64(f.read())])
    finally:
        subp.subp = real
    return found


def clear():
    shutil.rmtree(CLOUD, ignore_errors=True)
    os.makedirs(RUN, exist_ok=True)
    if STATE.pop("accounts", True):
        accounts(STATE["users"], STATE["groups"])
    if not STATE.pop("dirty", True):
        return
    shutil.rmtree(FILES, ignore_errors=True)
    for folder in STATE["folders"]:
        os.makedirs(FILES + folder, exist_ok=True)


def message(request):
    STATE.update(parsed={}, parts=[], boothooks=[], bootcmd=None, base=request.get("base", ""))
    clear()
    STATE["dirty"] = STATE["accounts"] = False
    sys.path[:] = STATE["path"]
    del LOG.texts[:]
    answer = {}
    init = stages.Init()
    init._write_to_cache = lambda: True
    init.datasource = Source(helpers.Paths({}), base64.b64decode(request["data"]), request.get("launchIndex"))
    init.initialize()
    init.instancify()
    for name in ("instance-data.json", "instance-data-sensitive.json"):
        with open(os.path.join(RUN, name), "w") as f:
            json.dump(request.get("instanceData", {}), f)
    config_file = CLOUD + "/instance/cloud-config.txt"
    try:
        init.update()
        try:
            init.consume_data(PER_ALWAYS)
        except Exception as e:
            if not os.path.exists(config_file):
                raise
            # the handlers are through: the init stage dies, those after it do not
            answer["initFailed"] = "%s: %s" % (type(e).__name__, e)
        with open(config_file) as f:
            config = util.load_yaml(f.read(), default={})
        cfg = init.cfg
    except Exception as e:
        return {"fatal": "%s: %s" % (type(e).__name__, e), "boothooks": STATE["boothooks"]}
    answer["config"] = canon(config)
    own = ("def_log_file", "syslog_fix_perms")
    answer["effective"] = canon({k: v for k, v in cfg.items() if k not in own})
    answer["parts"] = STATE["parts"]
    answer["boothooks"] = STATE["boothooks"]
    cloud = types.SimpleNamespace(
        distro=fetch("debian")("debian", cfg, init.paths), paths=init.paths, get_ipath=init.paths.get_ipath,
        get_instance_id=lambda: "i-kopshook", get_public_ssh_keys=lambda: [])
    # what is locked or unlocked does not matter here, and costs a process for each user
    cloud.distro.lock_passwd = cloud.distro.unlock_passwd = lambda *_args: None
    alive = "initFailed" not in answer
    answer["bootcmdFailed"] = call(cc_bootcmd, cfg, cloud) if alive and "bootcmd" in cfg else ""
    answer["bootcmd"] = STATE["bootcmd"]
    if alive and "write_files" in cfg:
        answer["writeFiles"] = write_files(cc_write_files, cfg, cloud)
    answer["runcmdFailed"] = call(cc_runcmd, cfg, cloud) if "runcmd" in cfg else ""
    if "write_files" in cfg:
        if alive:
            make_users(cfg, cloud)
        if cc_write_files_deferred:
            answer["deferred"] = write_files(cc_write_files_deferred, cfg, cloud)
    answer["scripts"] = run_scripts()
    return answer


def load(request):
    STATE["parsed"] = {}
    try:
        return {"value": canon(yaml.safe_load(base64.b64decode(request["yaml"]).decode()))}
    except Exception as e:
        mark = getattr(e, "problem_mark", None)
        return {
            "error": "%s: %s" % (type(e).__name__, e),
            "line": mark.line + 1 if mark else 0,
            "col": mark.column + 1 if mark else 0,
            "uncaught": not isinstance(e, (yaml.YAMLError, TypeError, ValueError)),
        }


def execute(request):
    """Really runs a script, which must be harmless, and says whether the kernel took it."""
    path = "/script"
    with open(path, "wb") as f:
        f.write(base64.b64decode(request["script"]))
    os.chmod(path, 0o700)
    try:
        subp.subp([path])
        return {"ran": True}
    except subp.ProcessExecutionError as e:
        return {"ran": e.exit_code not in ("-", None), "why": str(e.reason)}


def release():
    """The version of cloud-init. A source tree of 26.1 and later gets it from its build file."""
    if version.version_string()[0].isdigit():
        return version.version_string()
    with open(os.path.join(os.path.dirname(os.path.dirname(version.__file__)), "meson.build")) as f:
        return re.search(r"version: '([0-9.]+)'", f.read()).group(1)


def main():
    sandbox()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers on standard output
    for line in sys.stdin:
        request = json.loads(line)
        if "folders" in request:
            STATE.update(folders=request["folders"], users=request["users"], groups=request["groups"])
            answer = {"version": release(), "python": sys.version.split()[0], "yaml": yaml.__version__}
        elif "yaml" in request:
            answer = load(request)
        elif "script" in request:
            answer = execute(request)
        else:
            answer = message(request)
        out.write(json.dumps(answer) + "\n")
        out.flush()


main()
