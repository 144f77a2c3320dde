
def gs(place, headers):
    bucket, key = place.split("/", 1)
    return gcp("https://storage.googleapis.com/storage/v1/b/%s/o/%s?alt=media" % (bucket, quote(key, "")), headers)
