#!/bin/sh
# kopshook v1: runs a hook
# HOOK PHASE HASH once|every|image block|continue ATTEMPTS DELAY TIMEOUT AFTER COMMAND...
set -fu
# by cloud-init
[ $# != 0 ] || exec install -DC "$0" /opt/kopshook/bin/run
r=/run/kopshook s=/var/lib/kopshook h=$1 phase=$2 hash=$3 how=$4 fail=$5 max=$6 delay=$7 limit=$8 after=$9 n=0 rc=0 i=
shift 9
f=$s/status/$h.json ok=$r/ok/$h c=system.slice/kopshook-$h.service/attempt w=/opt/kopshook/hooks/$h
# STATE [REASON [SYNC]]. The console gets it even when the disk is full.
status() {
  now=$(date -u +%FT%TZ)
  began=${began-$now}
  j=$(echo "{'hook':'$h','phase':'$phase','state':'$1','reason':'${2-}','attempts':$n,'exitCode':$rc,'startedAt':'$began','updatedAt':'$now','instanceID':'$i','hash':'$hash'}" | tr \' \")
  echo "kopshook: $j" >/dev/console
  echo "$j" >"$f~" && ${3-sync} "$f~" && mv "$f~" "$f"
}
# STATUS REASON
failed() {
  rc=$1
  status failed "$2"
  journalctl --sync
  journalctl -qn9 -u "kopshook-$h" -b --no-pager >/dev/console
  [ "$fail" = block ] || : >"$ok"
  exit "$rc"
}
try() {
  status running '' :
  echo script: >"$ok~"
  (
    mkdir -p "$c" "$w"
    echo 0 >"$c/cgroup.procs"
    cd "$w" || exit
    p=$(hostname -I)
    # shellcheck disable=SC1091,SC2046,SC2086 # words
    exec timeout -vk 9 $limit env HOME=/root $(printf 'KOPSHOOK_%s ' HOOK=$h PHASE=$phase ATTEMPT=$n $(cat $r/env) NODE_NAME=$(uname -n) NODE_IP=${p%% *} NODE_ARCH=$(uname -m | sed 's/x86_/amd/;s/aarch/arm/') NODE_OS=$(. /etc/os-release && echo $ID${VERSION_ID+-$VERSION_ID})) "$@"
  ) && return
  rc=$?
  while grep -q . "$c/cgroup.procs"; do
    echo 1 >"$c/cgroup.kill" || xargs kill -9 <"$c/cgroup.procs"
    sleep 1
  done 2>/dev/null
  false
}
# In a warm pool nodeup does not enable the kubelet: this boot does not count.
case $phase in post-* | pre-s*) systemctl -q is-enabled kubelet || exit 0 ;; esac
mkdir -p $r/ok
[ -e $r/ok/.gate ] || failed 1 'no gate on this boot'
# A hook of the image's, or of older user data.
read -r i <"$r/hook/$h" || { status skipped 'not in user data'; exit 0; }
d=$s/$i/$h
cd /sys/fs/cgroup/systemd 2>/dev/null || cd /sys/fs/cgroup || exit
if [ -e "$s/skip/$h" ]; then
  status skipped
elif [ "$how" != once ] || [ ! -e "$d" ]; then
  [ "$how" = image ] && sh -c "grep -qs $hash $s/*/$h" || n=1
  until try "$@"; do
    $after $rc
    why="exit status $rc"
    [ $rc != 124 ] || why="timed out after $limit s"
    why="$(cat "$ok~") $why"
    echo "attempt $n of $max: $why"
    [ $n != "$max" ] || failed $rc "$why"
    [ $n = 0 ] || { sleep "$delay" && delay=$((delay < 60 ? delay * 2 : 120)); }
    n=$((n + 1))
  done
  rc=0
  [ "$how" = every ] || [ $n = 0 ] || { sync && echo "$hash" >"$d" && sync "$d"; } || failed 1 'cannot be stored'
  status succeeded "$([ $n = 0 ] && echo 'was done')"
else
  # after a boot on which it failed for want of a gate, or was skipped
  grep -qs '"succ' "$f" || status succeeded
fi
: >"$ok"
