#!/bin/sh
# kopshook v1: units wait for their hooks
set -eu
r=/run/kopshook v=/var/lib/kopshook e=/etc/systemd/system w=
add() {
  mkdir -p "${1%/*}"
  printf '%s\n' '[Unit]' "$2" "${3-}" >>"$1"
}
again() {
  [ -e $r/ok/.gate ] || systemctl --no-block try-restart $w 2>/dev/null || :
}
closed() {
  w='kops-configuration kubelet'
  for u in $w; do add "/run/systemd/system/$u.service.d/kopshook.conf" AssertPathExists=$r/ok/.gate; done
  systemctl daemon-reload || :
  again
  echo 'kopshook: {"part":"gate","state":"failed","reason":"cloud-init-output.log"}' >/dev/console
}
hook() {
  c=kopshook-$2.conf h=${2#*-}
  echo "$i" >"hook/$h"
  add "gate/kops-configuration.service.d/$c" "$1kopshook-$h.service"
  shift 2
  for u; do add "gate/$u.d/$c" "After=kopshook-$h.service" "AssertPathExists=$r/ok/$h"; done
  w="$w $*"
}
trap closed EXIT
b=$(systemctl show -PUserspaceTimestampMonotonic)
[ -e "$r/$b" ] || rm -rf $r
i=$(readlink /var/lib/cloud/instance)
i=${i##*/}
case $i in '' | *none | *[!A-Za-z0-9._:-]*) echo "instance-id: $i" && false ;; esac
[ -d "$v/$i" ] || { rm -rf $e/kopshook-*.service $v/status $v/skip; first=true new=1; }
rm -rf $r/gate
mkdir -p $r/ok $r/hook $v/status "$v/$i"
cd $r
echo >"$b"
[ -e env ] || echo CLUSTER=main.example.com INSTANCE_GROUP=gpu-a ROLE=Node FIRST_BOOT=${first-false} >env
nodeup() { hook Wants= "$@" kops-configuration.service kubelet.service; }
nodeup 500-nvidia-driver containerd.service kopshook-nvidia-container-toolkit.service
nodeup 510-nvidia-container-toolkit containerd.service
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
for f in *.d/kopshook-*.conf; do [ -e "$r/gate/$f" ] || { rm -f "$f"; new=1; }; done
[ -z "${new-}" ] || systemctl daemon-reload
again
echo >$r/ok/.gate
trap - EXIT
