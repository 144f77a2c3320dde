
HTTPRedirectHandler.redirect_request = lambda *_: None  # what is signed for one host is not for another

def meta(path, headers, method=None):
    try:  # never through a proxy
        return ask("http://169.254.169.254/" + path, headers, None, method, ProxyHandler({})).read().decode()
    except OSError as e:
        raise OSError("metadata service, %s: %s" % (path, e))
