
def attempt(f, *args):  # returns why it failed
    global skew
    try:
        f(*args)
    except HTTPError as e:
        if e.code == 416:  # there is less of it than here
            os.remove(part)
        if e.headers["date"]:  # a wrong clock makes signatures wrong
            skew = parsedate_to_datetime(e.headers["date"]).timestamp() - time.time()
        code = re.search(r"(?:[Cc]ode|type|status)(?:>|\": ?\")(?:[\w.]+#)?(\w+)", str(e.read(4096)))
        return "%s, asked as %s" % (code and code.group(1) or e, who)
    except Exception as e:
        return str(e)
