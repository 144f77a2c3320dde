
def gcp(address, headers={}):
    global who
    who = "the service account"
    path = "computeMetadata/v1/instance/service-accounts/default/token"
    token = json.loads(meta(path, {"Metadata-Flavor": "Google"}))["access_token"]
    return ask(address, dict(headers, authorization="Bearer " + token))
