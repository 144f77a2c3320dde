#!/bin/sh
# kopshook v1: the hooks lie in a bucket; this part has what reads them
s=$(base64 -d << . | gzip -dc
@reader@
.
) && exec sh -c "$s" - @url@ @sum@
