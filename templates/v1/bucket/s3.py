
def s3(place, headers, region=""):
    bucket, path = place.split("/", 1)
    path = "/" + quote(path, "/~")
    home = region or aws_meta("placement/region")
    host = "s3." + home + "." + aws_meta("services/domain")
    if "." in bucket:  # no certificate is for two labels
        path = "/" + bucket + path
    else:
        host = bucket + "." + host
    try:
        return aws("s3", home, host, path, headers)
    except HTTPError as e:
        there = e.headers["x-amz-bucket-region"] or home
        if there == home:
            raise
        return s3(place, headers, there)
