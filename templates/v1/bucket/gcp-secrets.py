
def gcp_secretmanager(name):
    if "/" not in name:
        project = meta("computeMetadata/v1/project/project-id", {"Metadata-Flavor": "Google"})
        name = "projects/" + project + "/secrets/" + name
    if "/versions/" not in name:
        name += "/versions/latest"
    got = json.load(gcp("https://secretmanager.googleapis.com/v1/" + name + ":access"))
    return base64.b64decode(got["payload"]["data"])
