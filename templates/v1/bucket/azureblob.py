
def azureblob(place, headers):
    account, path = place.split("/", 1)
    headers["x-ms-version"] = "2020-10-02"
    return azure("https://storage.azure.com/", "https://%s.blob.core.windows.net/%s" % (account, quote(path, "/~")), headers)
