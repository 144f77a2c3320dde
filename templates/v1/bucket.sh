#!/bin/sh
# kopshook v1: brings the hooks from a bucket, with cloud-init's Python
/proc/$PPID/exe -c 'from base64 import *
from zlib import *
source = decompress(a85decode(input()))
exec(source)' @url@ @sum@ << '.'
@reader@
.
