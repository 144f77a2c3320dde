#!/bin/sh
# kopshook v1: cloud LABEL PATH PLACE MODE OWNER SHA256|- ADDRESS...: brings a secret, or a file of a bucket
set -u
[ $# != 0 ] || exec install -DC "$0" /opt/kopshook/bin/cloud # by cloud-init
p=$(sed -n '1s/^#! *\([^ ]*\).*/\1/p' "$(command -v cloud-init)") # the Python that cloud-init runs with
exec "${p:-python3}" -I -c "$(base64 -d << . | gzip -dc
@reader@
.
)" "$@"
