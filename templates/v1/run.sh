#!/bin/sh
# kopshook v1: run HOOK PHASE HASH once|every block|continue ATTEMPTS DELAY TIMEOUT AFTER COMMAND...
set -fu
[ $# != 0 ] || exec install -DC "$0" /opt/kopshook/bin/run # by cloud-init
r=/run/kopshook s=/var/lib/kopshook h=$1 phase=$2 hash=$3 how=$4 fail=$5 max=$6 delay=$7 limit=$8 after=$9 n=0 rc=0
shift 9
read -r i < "$r/hook/$h" || exit 0 # not of this machine
began=$(date -u +%FT%TZ) f=$s/status/$h.json d=$s/$i/$h ok=$r/ok/$h c=system.slice/kopshook-$h.service/attempt
cd /sys/fs/cgroup/systemd 2> /dev/null || cd /sys/fs/cgroup || exit
status() { # STATE [REASON]
  cat << . > "$f~" && sync "$f~" && mv "$f~" "$f"
{"hook":"$h","phase":"$phase","state":"$1","reason":"${2-}","attempts":$n,"exitCode":$rc,"startedAt":"$began","updatedAt":"$(date -u +%FT%TZ)","instanceID":"$i","hash":"$hash"}
.
}
try() (
  mkdir -p "$c"
  echo 0 > "$c/cgroup.procs"
  cd "/opt/kopshook/hooks/$h" || exit
  exec timeout -vk 9 "$limit" /bin/sh $r/with KOPSHOOK_HOOK="$h" KOPSHOOK_PHASE="$phase" KOPSHOOK_ATTEMPT=$n KOPSHOOK_NODE_NAME="$(uname -n)" \
    KOPSHOOK_NODE_IP="$(hostname -I | cut -d' ' -f1)" KOPSHOOK_NODE_ARCH="$(uname -m | sed 's/x86_/amd/;s/aarch/arm/')" "$@"
)
if [ -e "$s/skip/$h" ]; then
  status skipped
elif [ "$how" = every ] || [ ! -e "$d" ]; then
  until
    n=$((n + 1))
    status running
    echo script: > "$ok~"
    try "$@"
  do
    rc=$?
    while grep -q . "$c/cgroup.procs"; do
      echo 1 > "$c/cgroup.kill" || xargs kill -9 < "$c/cgroup.procs"
      sleep 1
    done 2> /dev/null
    $after $rc
    why="exit status $rc"
    [ $rc != 124 ] || why="timed out after $limit s"
    why="$(cat "$ok~") $why"
    echo "attempt $n of $max: $why"
    if [ $n = "$max" ]; then
      status failed "$why"
      journalctl --sync
      journalctl -qn9 -u "kopshook-$h" -b --no-pager > /dev/console
      [ "$fail" = block ] || : > "$ok"
      exit $rc
    fi
    sleep "$delay"
    delay=$((delay < 60 ? delay * 2 : 120))
  done
  rc=0
  sync
  [ "$how" = every ] || { : > "$d" && sync "$d"; } || exit
  status succeeded
fi
: > "$ok"
