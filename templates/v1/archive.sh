#!/bin/sh
# kopshook v1: puts the packed files of hooks in place, once per machine
set -eu
trap '[ $? = 0 ] || echo "kopshook: {\"part\":\"archive\",\"state\":\"failed\",\"reason\":\"cloud-init-output.log\"}" >/dev/console' EXIT
d=$(readlink /var/lib/cloud/instance)
d=/var/lib/kopshook/${d##*/}/.archive
# the gate's
cd /run/kopshook
[ "$(cat "$d" 2>&1)" != @hash@ ] || exit 0
base64 -d > files.gz << .
@archive@
.
gzip -dc files.gz > files
while read -r mode size && IFS= read -r path; do
  mkdir -p "${path%/*}"
  head -c "$size" > "$path~"
  chmod "$mode" "$path~"
  mv "$path~" "$path"
done < files
sync
echo @hash@ > "$d"
