
def azure_keyvault(name):
    vault, name = name.split("/", 1)
    return json.load(azure("https://vault.azure.net", "https://%s.vault.azure.net/secrets/%s?api-version=7.4" % (vault, name)))["value"]
