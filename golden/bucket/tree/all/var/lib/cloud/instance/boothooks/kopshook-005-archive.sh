#!/bin/sh
# kopshook v1: brings the hooks from a bucket, with cloud-init's Python
/proc/$PPID/exe -c 'from base64 import *
from zlib import *
source = decompress(a85decode(input()))
exec(source)' s3://example-kops-hooks/main 496f949cfa35b2adb787d6be88fc31141d8b3b49ac45e589c186de25b71c7348 << '.'
import hashlib,hmac,json,os,re,sys,tarfile,time
from email.utils import parsedate_to_datetime
from urllib.error import *
from urllib.parse import *
from urllib.request import *
Q=0
M=""
def ask(A,headers={},E=None,method=None,*through):
	return build_opener(*through).open(Request(A,E,headers,method=method),timeout=20)
def sha256(E):
	return hashlib.sha256(E).hexdigest()
if sys.argv[0]=="-c":
	P="/opt/kopshook/hooks/archive"
	os.makedirs(P,448,True)
	open(P+"/fetch","wb").write(source)
	open("/etc/systemd/system/kopshook-archive.service","w").write("""[Unit]
After=network-online.target cloud-config.target
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=600
EnvironmentFile=-/etc/environment
WorkingDirectory=%s
ExecStart=%s -IWi fetch %s %s
"""%(P,os.path.realpath(sys.executable),*sys.argv[1:]))
	sys.exit(os.system("systemctl daemon-reload")>0)
HTTPRedirectHandler.redirect_request=lambda *_:None
def meta(D,headers,method=None):
	try:
		return ask("http://169.254.169.254/"+D,headers,None,method,ProxyHandler({})).read().decode()
	except OSError as e:
		raise OSError("metadata service, %s: %s"%(D,e))
def N(D):
	token=meta("latest/api/token",{"X-aws-ec2-metadata-token-ttl-seconds":"60"},"PUT")
	return meta("latest/meta-data/"+D,{"X-aws-ec2-metadata-token":token})
def aws(service,C,host,D,headers,O=b""):
	global M
	roles="iam/security-credentials/"
	M=N(roles).split()[0]
	role=json.loads(N(roles+M))
	K=time.strftime("%Y%m%dT%H%M%SZ",time.gmtime(time.time()+Q))
	h=dict(headers,host=host)
	h["x-amz-content-sha256"]=sha256(O)
	h["x-amz-date"]=K
	h["x-amz-security-token"]=role["Token"]
	R=sorted(h)
	S=["POST" if O else "GET",D,""]+[k+":"+h[k] for k in R]+["",";".join(R),sha256(O)]
	T=K[:8]+"/"+C+"/"+service+"/aws4_request"
	S="AWS4-HMAC-SHA256",K,T,sha256("\n".join(S).encode())
	U=("AWS4"+role["SecretAccessKey"]).encode()
	for I in T.split("/")+["\n".join(S)]:
		U=hmac.new(U,I.encode(),"sha256").digest()
	h["authorization"]="AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"%(role["AccessKeyId"],T,";".join(R),U.hex())
	return ask("https://"+host+D,h,O or None)
def s3(H,headers,C=""):
	bucket,D=H.split("/",1)
	D="/"+quote(D,"/~")
	P=C or N("placement/region")
	host="s3."+P+"."+N("services/domain")
	if "." in bucket:
		D="/"+bucket+D
	else:
		host=bucket+"."+host
	try:
		return aws("s3",P,host,D,headers)
	except HTTPError as e:
		V=e.headers["x-amz-bucket-region"] or P
		if V==P:
			raise
		return s3(H,headers,V)
def Y(D):
	h=hashlib.sha256()
	with open(D,"rb") as f:
		for E in iter(lambda:f.read(65536),b""):
			h.update(E)
	return h.hexdigest()
def get(A,D,F,most=1<<26,seconds=30):
	with open(D,"ab") as f:
		B=f.tell()
		end=time.time()+seconds
		if Y(D)==F:
			return
		scheme,H=A.split("://")
		r=globals()[scheme](H,{"range":"bytes=%d-"%B})
		if r.status!=206:
			f.truncate(0)
			B=0
		J=B+int(r.headers["content-length"] or 0)
		for E in iter(lambda:r.read(65536),b""):
			f.write(E)
			B+=len(E)
			if time.time()>end or B>most:
				raise OSError("too slow or too large, after %d bytes"%B)
	if B<J:
		raise OSError("cut off after %d of %d bytes"%(B,J))
	B=Y(D)
	if B!=F:
		os.remove(D)
		raise OSError("wrong sha256: "+B)
def Z(f,*args):
	global Q
	try:
		f(*args)
	except HTTPError as e:
		if e.code==416:
			os.remove(I)
		if e.headers["date"]:
			Q=parsedate_to_datetime(e.headers["date"]).timestamp()-time.time()
		code=re.search(r"(?:[Cc]ode|type|status)(?:>|\": ?\")(?:[\w.]+#)?(\w+)",str(e.read(4096)))
		return "%s, asked as %s"%(code and code.group(1) or e,M)
	except Exception as e:
		return str(e)
def H():
	tarfile.open(F).extractall("/")
	os.sync()
	open(stamp,"w").write(F)
def note(state,G=""):
	K=time.strftime("%FT%TZ",time.gmtime())
	W.append(K)
	X=json.dumps(dict(hook="archive",phase="pre-nodeup",state=state,reason=G,attempts=n,exitCode=0,startedAt=W[0],updatedAt=K,instanceID=L,hash=F[:12]))
	print("kopshook:",X,file=open("/dev/console","w"))
	D="/var/lib/kopshook/status/archive.json"
	print(X,file=open(D+"~","w"))
	os.rename(D+"~",D)
A,F=sys.argv[1:]
I=F
L=open("/run/kopshook/hook/archive").readline().strip()
stamp="/var/lib/kopshook/%s/.bucket"%L
W=[]
G=""
if not os.path.exists(stamp) or open(stamp).read()!=F:
	for n in range(1,7):
		note("running",G)
		G=Z(get,A+"/"+F,F,F) or Z(H)
		if not G:
			break
		G="attempt %d of 6: %s/%s: %s"%(n,A,F,G)
		print(G,flush=True)
		if n==6:
			note("failed",G)
			sys.exit(1)
		time.sleep(5<<n-1)
	os.system("systemctl daemon-reload; systemctl --no-block start kops-configuration")
	note("succeeded")
open("/run/kopshook/ok/archive","w")
.
