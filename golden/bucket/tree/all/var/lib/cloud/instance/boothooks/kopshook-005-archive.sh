#!/bin/sh
# kopshook v1: the hooks lie in a bucket; this part has what reads them
s=$(base64 -d << . | gzip -dc
set -eu
d=/opt/kopshook/hooks/archive
mkdir -pm700 $d
cat > $d/fetch << 'EOF'
import gzip,hashlib,hmac,json,os,re,sys,time
from email.utils import parsedate_to_datetime
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler,ProxyHandler,Request,build_opener
skew=0
who=""
def ask(address,headers={},data=None,method=None,through=[]):
	return build_opener(*through).open(Request(address,data,headers,method=method),timeout=20)
def sha256(data):
	return hashlib.sha256(data).hexdigest()
HTTPRedirectHandler.redirect_request=lambda *_:None
def meta(what,path,headers,method=None):
	try:
		return ask("http://169.254.169.254/"+path,headers,None,method,[ProxyHandler({})]).read().decode()
	except OSError as e:
		raise OSError("metadata service, %s: %s"%(what,e))
def aws_meta(what,path):
	token=meta("token","latest/api/token",{"X-aws-ec2-metadata-token-ttl-seconds":"60"},"PUT")
	return meta(what,"latest/meta-data/"+path,{"X-aws-ec2-metadata-token":token})
def aws(service,region,host,path,headers,body=b""):
	global who
	roles="iam/security-credentials/"
	who=aws_meta("role",roles).split()[0]
	role=json.loads(aws_meta("credentials",roles+who))
	now=time.strftime("%Y%m%dT%H%M%SZ",time.gmtime(time.time()+skew))
	h=dict(headers,host=host)
	h["x-amz-content-sha256"]=sha256(body)
	h["x-amz-date"]=now
	h["x-amz-security-token"]=role["Token"]
	names=sorted(h)
	lines=["POST" if body else "GET",path,""]+[k+":"+h[k] for k in names]+["",";".join(names),sha256(body)]
	scope=now[:8]+"/"+region+"/"+service+"/aws4_request"
	lines="AWS4-HMAC-SHA256",now,scope,sha256("\n".join(lines).encode())
	key=("AWS4"+role["SecretAccessKey"]).encode()
	for part in scope.split("/")+["\n".join(lines)]:
		key=hmac.new(key,part.encode(),"sha256").digest()
	h["authorization"]="AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"%(role["AccessKeyId"],scope,";".join(names),key.hex())
	return ask("https://"+host+path,h,body or None)
def s3(place,headers,region=""):
	bucket,path=place.split("/",1)
	path="/"+quote(path,"/~")
	home=region or aws_meta("region","placement/region")
	host="s3."+home+"."+aws_meta("domain","services/domain")
	if "." in bucket:
		path="/"+bucket+path
	else:
		host=bucket+"."+host
	try:
		return aws("s3",home,host,path,headers)
	except HTTPError as e:
		there=e.headers["x-amz-bucket-region"] or home
		if there==home:
			raise
		return s3(place,headers,there)
def digest(path):
	h=hashlib.sha256()
	with open(path,"rb") as f:
		for data in iter(lambda:f.read(65536),b""):
			h.update(data)
	return h.hexdigest()
def get(address,path,want,most=1<<26,seconds=180):
	with open(path,"ab") as f:
		had=f.tell()
		end=time.time()+seconds
		if digest(path)==want:
			return
		scheme,place=address.split("://")
		r=globals()[scheme](place,{"range":"bytes=%d-"%had})
		if r.status!=206:
			f.truncate(0)
			had=0
		size=had+int(r.headers["content-length"] or 0)
		for data in iter(lambda:r.read(65536),b""):
			f.write(data)
			had+=len(data)
			if time.time()>end or had>most:
				raise OSError("too slow or too large, after %d bytes"%had)
	if had<size:
		raise OSError("cut off after %d of %d bytes"%(had,size))
	had=digest(path)
	if had!=want:
		os.remove(path)
		raise OSError("wrong sha256: "+had)
def attempt(f,*args):
	global skew
	try:
		f(*args)
	except HTTPError as e:
		if e.code==416:
			os.remove(part)
		if e.headers["date"]:
			skew=parsedate_to_datetime(e.headers["date"]).timestamp()-time.time()
		code=re.search(r"(?:<Code>|\"(?:__type|status|code)\": ?\")(?:[\w.]+#)?(\w+)",str(e.read(4096)))
		return "%s, asked as %s"%(code and code.group(1) or e,who)
	except Exception as e:
		return str(e)
def place(path):
	data=gzip.open(path).read()
	while data:
		head,name,data=data.split(b"\n",2)
		mode,size=map(int,head.split())
		os.makedirs(os.path.dirname(name),exist_ok=True)
		with open(name+b"~","wb") as f:
			f.write(data[:size])
		os.chmod(f.name,int(str(mode),8))
		os.rename(f.name,name)
		data=data[size:]
	os.sync()
	open(stamp,"w").write(want)
def note(state,why=""):
	now=time.strftime("%Y-%m-%dT%H:%M:%SZ",time.gmtime())
	began.append(now)
	text=json.dumps(dict(hook="archive",phase="pre-nodeup",state=state,reason=why,attempts=n,exitCode=0,startedAt=began[0],
						   updatedAt=now,instanceID=machine,hash=want[:12]))
	print("kopshook:",text,file=open("/dev/console","w"))
	path="/var/lib/kopshook/status/archive.json"
	print(text,file=open(path+"~","w"))
	os.rename(path+"~",path)
address,want=sys.argv[1:]
part=want
machine=open("/run/kopshook/hook/archive").readline().strip()
stamp="/var/lib/kopshook/%s/.bucket"%machine
began=[]
why=""
if not os.path.exists(stamp) or open(stamp).read()!=want:
	for n in range(1,7):
		note("running",why)
		why=attempt(get,address+"/"+want,part,want) or attempt(place,part)
		if not why:
			break
		why="attempt %d of 6: %s/%s: %s"%(n,address,want,why)
		print(why,flush=True)
		if n==6:
			note("failed",why)
			sys.exit(1)
		time.sleep(5<<n-1)
	os.system("systemctl daemon-reload; systemctl --no-block start kops-configuration")
	note("succeeded")
open("/run/kopshook/ok/archive","w")
EOF
p=$(sed -n '1s/^#! *\([^ ]*\).*/\1/p' "$(command -v cloud-init)") # the Python that cloud-init runs with
cat > /etc/systemd/system/kopshook-archive.service << EOF
[Unit]
After=network-online.target cloud-config.target
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=1500
EnvironmentFile=-/etc/environment
WorkingDirectory=$d
ExecStart=$p -I fetch $1 $2
EOF
systemctl daemon-reload
.
) && exec sh -c "$s" - s3://example-kops-hooks/main 30482bb97c4a877a059e675aa4780f8589d799b3ce52f79e1ba1a6e373767eb1
