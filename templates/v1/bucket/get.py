
def get(address, path, want):  # the file may hold the beginning
    data = b""
    if os.path.exists(path):
        data = open(path, "rb").read()
    had = len(data)
    end = time.time() + 180
    if sha256(data) == want:
        return
    scheme, place = address.split("://")
    r = globals()[scheme](place, {"range": "bytes=%d-" % had})
    if r.status != 206:
        data = b""
    size = len(data) + int(r.headers["content-length"] or 0)
    try:
        for more in iter(lambda: r.read(65536), b""):
            data += more
            if time.time() > end or len(data) > 1 << 26:
                raise OSError("too slow or too large, after %d bytes" % len(data))
    finally:
        open(path, "wb").write(data)
    if len(data) < size:
        raise OSError("cut off after %d of %d bytes" % (len(data), size))
    if sha256(data) != want:
        os.remove(path)
        raise OSError("wrong sha256: " + sha256(data))

def attempt(f, *args):  # returns why it failed
    global skew
    try:
        f(*args)
    except HTTPError as e:
        if e.code == 416:  # there is less of it than here
            os.remove(args[1])
        if e.headers["date"]:  # a wrong clock makes signatures wrong
            skew = parsedate_to_datetime(e.headers["date"]).timestamp() - time.time()
        code = re.search(r"<Code>(\w+)", str(e.read(4096)))
        return "%s, asked as %s" % (code and code.group(1) or e, who)
    except Exception as e:
        return str(e)
