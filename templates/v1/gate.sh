#!/bin/sh
# kopshook v1: units wait for their hooks
# cloud-init runs it on every boot, before all else of the user data.
set -eu
r=/run/kopshook v=/var/lib/kopshook e=/etc/systemd/system w=
# DROP-IN LINE [LINE]
add() {
  mkdir -p "${1%/*}"
  printf '%s\n' '[Unit]' "$2" "${3-}" >>"$1"
}
# What runs before the first gate of a boot has not waited for its hooks: an image of a node, where cloud-init comes late.
# What is only queued will wait, and keeps its place: nobody else starts nodeup after a reboot.
again() {
  # shellcheck disable=SC2086 # $w is a list of units
  [ -e $r/ok/.gate ] || systemctl --no-block try-restart $w 2>/dev/null || :
}
# Without a gate nothing may start. A later gate of the same boot makes the file, and so may an operator.
closed() {
  w='kops-configuration kubelet'
  for u in $w; do add "/run/systemd/system/$u.service.d/kopshook.conf" AssertPathExists=$r/ok/.gate; done
  systemctl daemon-reload || :
  again
  echo 'kopshook: {"part":"gate","state":"failed","reason":"cloud-init-output.log"}' >/dev/console
}
# PULL NNN-NAME UNIT...: PULL starts the hook, each UNIT waits for it
hook() {
  c=kopshook-$2.conf h=${2#*-}
  echo "$i" >"hook/$h"
  add "gate/kops-configuration.service.d/$c" "$1kopshook-$h.service"
  shift 2
  for u; do add "gate/$u.d/$c" "After=kopshook-$h.service" "AssertPathExists=$r/ok/$h"; done
  w="$w $*"
}
trap closed EXIT
# Markers are those of this boot. A soft-reboot leaves /run as it is, and this time is another one then.
b=$(systemctl show -PUserspaceTimestampMonotonic)
[ -e "$r/$b" ] || rm -rf $r
i=$(readlink /var/lib/cloud/instance)
i=${i##*/}
case $i in '' | *none | *[!A-Za-z0-9._:-]*) echo "instance-id: $i" && false ;; esac
# a new machine
[ -d "$v/$i" ] || { rm -rf $e/kopshook-*.service $v/status $v/skip; first=true new=1; }
rm -rf $r/gate
mkdir -p $r/ok $r/hook $v/status "$v/$i"
cd $r
echo >"$b"
# The runner reads it in each attempt. In a later run on the same boot it is still the first boot.
# shellcheck disable=SC2086 # true or false
# shellcheck disable=SC2238 # env is a file here
[ -e env ] || echo CLUSTER=@cluster@ INSTANCE_GROUP=@group@ ROLE=@role@ FIRST_BOOT=${first-false} >env
@hooks@
cd gate
for f in */*; do
  t=$e/$f
  [ "$(cat "$f")" != "$(cat "$t" 2>&1)" ] || continue
  install -DTm644 "$f" "$t~"
  sync "$t~"
  mv -T "$t~" "$t"
  new=1
done
cd $e
# what an older gate made
for f in *.d/kopshook-*.conf; do [ -e "$r/gate/$f" ] || { rm -f "$f"; new=1; }; done
[ -z "${new-}" ] || systemctl daemon-reload
again
echo >$r/ok/.gate
trap - EXIT
