
def azure(resource, address, headers={}):
    global who
    who = "the managed identity"
    path = "metadata/identity/oauth2/token?api-version=2018-02-01&resource=" + quote(resource, "")
    token = json.loads(meta(path, {"Metadata": "true"}))["access_token"]
    return ask(address, dict(headers, authorization="Bearer " + token))
