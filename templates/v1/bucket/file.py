
import base64, subprocess

def secret(address):
    scheme, name = address.split(":", 1)
    name, _, key = name.partition("#")
    value = globals()[scheme.replace("-", "_")](name)
    if key:
        value = json.loads(value)
        if key not in dict(value):
            raise OSError("its JSON does not have this key")
        value = value[key]
        if not isinstance(value, str):
            value = json.dumps(value)
    if isinstance(value, str):
        value = value.encode()
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
        f.write(value)

def bring(address):
    if want == "-":
        secret(address)
    elif os.path.isfile(real) and digest(real) == want:
        subprocess.run(["chown", owner, real], check=True)
        return os.chmod(real, int(mode, 8))
    else:
        get(address, part, want, 1 << 50, 1 << 30)
    user, group = owner.split(":")
    try:
        subprocess.run(["install", "-DT", "-m", mode, "-o", user, "-g", group, part, real], check=True)
    finally:
        os.remove(part)
    if real != path:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path + "~"):
            os.remove(path + "~")
        os.symlink(real, path + "~")
        os.rename(path + "~", path)

label, path, real, mode, owner, want, *addresses = sys.argv[1:]
part = "fetched-" + want
if want == "-":
    part = "/run/kopshook/secret." + str(os.getpid())
for n in range(5):
    for address in addresses:
        why = attempt(bring, address)
        if not why:
            sys.exit()
        why = address + ": " + why
        print(why, flush=True)
    if n < 4:
        time.sleep(1 << n)
open(label, "w").write("files: " + re.sub(r"[^\w ./:=@+,#-]", " ", why) + ":\n")
sys.exit(1)
