
def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for data in iter(lambda: f.read(65536), b""):
            h.update(data)
    return h.hexdigest()

def get(address, path, want, most=1 << 26, seconds=30):  # the file may hold the beginning
    with open(path, "ab") as f:
        had = f.tell()
        end = time.time() + seconds
        if digest(path) == want:
            return
        scheme, place = address.split("://")
        r = globals()[scheme](place, {"range": "bytes=%d-" % had})
        if r.status != 206:
            f.truncate(0)
            had = 0
        size = had + int(r.headers["content-length"] or 0)
        for data in iter(lambda: r.read(65536), b""):
            f.write(data)
            had += len(data)
            if time.time() > end or had > most:
                raise OSError("too slow or too large, after %d bytes" % had)
    if had < size:
        raise OSError("cut off after %d of %d bytes" % (had, size))
    had = digest(path)
    if had != want:
        os.remove(path)
        raise OSError("wrong sha256: " + had)
