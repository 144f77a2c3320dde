#!/bin/sh
# kopshook v1: units wait for their hooks. Runs on every boot.
set -eu
r=/run/kopshook v=/var/lib/kopshook e=/etc/systemd/system
add() { # DROP-IN LINE [LINE]
  mkdir -p "${1%/*}"
  printf '%s\n' '[Unit]' "$2" "${3-}" >>"$1"
}
closed() { # no gate: nothing may start
  for u in kops-configuration kubelet; do add /run/systemd/system/$u.service.d/kopshook.conf AssertPathExists=/gate-broken; done
  systemctl daemon-reload
}
hook() { # PULL NNN-NAME UNIT...: PULL starts it, each UNIT waits for it
  c=kopshook-$2.conf h=${2#*-}
  echo "$i" >"hook/$h"
  add "gate/kops-configuration.service.d/$c" "$1kopshook-$h.service"
  shift 2
  for u; do add "gate/$u.d/$c" "After=kopshook-$h.service" "AssertPathExists=$r/ok/$h"; done
}
trap closed EXIT
i=$(readlink /var/lib/cloud/instance)
i=${i##*/}
case $i in '' | *none | *[!A-Za-z0-9._:-]*) false ;; esac
[ -d "$v/$i" ] || { rm -rf $e/kopshook-*.service $v/status $v/skip; mkdir -p "$v/$i"; first=true reload=1; } # a new machine
rm -rf $r
mkdir -p $r/ok $r/hook $v/status
cd $r
echo "exec env HOME=/root KOPSHOOK_CLUSTER=main.example.com KOPSHOOK_INSTANCE_GROUP=nodes KOPSHOOK_ROLE=Node KOPSHOOK_NODE_ARCH=$(uname -m | sed 's/x86_/amd/;s/aarch/arm/') KOPSHOOK_FIRST_BOOT=${first-false} \"\$@\"" >with
hook Wants= 400-root-ca kops-configuration.service kubelet.service containerd.service
cd gate
for f in */*; do
  t=$e/$f
  [ "$(cat "$f")" != "$(cat "$t" 2>&1)" ] || continue
  install -DTm644 "$f" "$t~"
  sync "$t~"
  mv -T "$t~" "$t"
  reload=1
done
cd $e
for f in *.d/kopshook-*.conf; do [ -e "$r/gate/$f" ] || { rm -f "$f"; reload=1; }; done # an older gate's
[ -z "${reload-}" ] || systemctl daemon-reload
trap - EXIT
