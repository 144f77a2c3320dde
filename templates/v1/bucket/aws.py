
def aws_meta(path):
    token = meta("latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, "PUT")
    return meta("latest/meta-data/" + path, {"X-aws-ec2-metadata-token": token})

def aws(service, region, host, path, headers, body=b""):
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    global who
    roles = "iam/security-credentials/"
    who = aws_meta(roles).split()[0]
    role = json.loads(aws_meta(roles + who))
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + skew))
    h = dict(headers, host=host)
    h["x-amz-content-sha256"] = sha256(body)
    h["x-amz-date"] = now
    h["x-amz-security-token"] = role["Token"]
    names = sorted(h)
    lines = ["POST" if body else "GET", path, ""] + [k + ":" + h[k] for k in names] + ["", ";".join(names), sha256(body)]
    scope = now[:8] + "/" + region + "/" + service + "/aws4_request"
    lines = "AWS4-HMAC-SHA256", now, scope, sha256("\n".join(lines).encode())
    key = ("AWS4" + role["SecretAccessKey"]).encode()
    for part in scope.split("/") + ["\n".join(lines)]:
        key = hmac.new(key, part.encode(), "sha256").digest()
    h["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (role["AccessKeyId"], scope, ";".join(names), key.hex())
    return ask("https://" + host + path, h, body or None)
