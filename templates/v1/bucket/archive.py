
def place():
    tarfile.open(want).extractall("/")  # units come last
    os.sync()
    open(stamp, "w").write(want)

def note(state, why=""):
    now = time.strftime("%FT%TZ", time.gmtime())
    began.append(now)
    text = json.dumps(dict(hook="archive", phase="pre-nodeup", state=state, reason=why, attempts=n, exitCode=0, startedAt=began[0], updatedAt=now, instanceID=machine, hash=want[:12]))
    print("kopshook:", text, file=open("/dev/console", "w"))
    path = "/var/lib/kopshook/status/archive.json"
    print(text, file=open(path + "~", "w"))
    os.rename(path + "~", path)

address, want = sys.argv[1:]
part = want
machine = open("/run/kopshook/hook/archive").readline().strip()
stamp = "/var/lib/kopshook/%s/.bucket" % machine
began = []
why = ""
if not os.path.exists(stamp) or open(stamp).read() != want:
    for n in range(1, 7):
        note("running", why)
        why = attempt(get, address + "/" + want, want, want) or attempt(place)
        if not why:
            break
        why = "attempt %d of 6: %s/%s: %s" % (n, address, want, why)
        print(why, flush=True)
        if n == 6:
            note("failed", why)
            sys.exit(1)
        time.sleep(5 << n - 1)
    os.system("systemctl daemon-reload; systemctl --no-block start kops-configuration")  # which did not know the hooks
    note("succeeded")
open("/run/kopshook/ok/archive", "w")
