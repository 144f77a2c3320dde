# kopshook v1: reads a bucket with the machine's own identity. Python 3.6 and its standard library alone.
import hashlib, hmac, json, os, re, sys, tarfile, time
from email.utils import parsedate_to_datetime
from urllib.error import *
from urllib.parse import *
from urllib.request import *

skew = 0  # seconds by which the cloud's clock is ahead
who = ""  # as whom the machine asks

def ask(address, headers={}, data=None, method=None, *through):
    return build_opener(*through).open(Request(address, data, headers, method=method), timeout=20)

def sha256(data):
    return hashlib.sha256(data).hexdigest()
