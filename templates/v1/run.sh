#!/bin/sh
# kopshook v1: run HOOK PHASE HASH once|every|image block|continue ATTEMPTS DELAY TIMEOUT AFTER COMMAND...
set -fu
[ $# != 0 ] || exec install -DC "$0" /opt/kopshook/bin/run # by cloud-init
r=/run/kopshook s=/var/lib/kopshook h=$1 phase=$2 hash=$3 how=$4 fail=$5 max=$6 delay=$7 limit=$8 after=$9 n=0 rc=0
shift 9
read -r i <"$r/hook/$h" || exit 0 # not ours
f=$s/status/$h.json d=$s/$i/$h ok=$r/ok/$h c=system.slice/kopshook-$h.service/attempt w=/opt/kopshook/hooks/$h
cd /sys/fs/cgroup/systemd 2>/dev/null || cd /sys/fs/cgroup || exit
status() { # STATE [REASON [SYNC]]
  now=$(date -u +%FT%TZ)
  printf '{"hook":"%s","phase":"%s","state":"%s","reason":"%s","attempts":%d,"exitCode":%d,"startedAt":"%s","updatedAt":"%s","instanceID":"%s","hash":"%s"}\n' \
    "$h" "$phase" "$1" "${2-}" $n $rc "${began:=$now}" "$now" "$i" "$hash" >"$f~" && ${3-sync} "$f~" && mv "$f~" "$f"
}
try() {
  status running '' :
  echo script: >"$ok~"
  (
    mkdir -p "$c" "$w"
    echo 0 >"$c/cgroup.procs"
    cd "$w" || exit
    ip=$(hostname -I)
    exec timeout -vk 9 "$limit" sh $r/with KOPSHOOK_HOOK="$h" KOPSHOOK_PHASE="$phase" KOPSHOOK_ATTEMPT=$n KOPSHOOK_NODE_NAME="$(uname -n)" KOPSHOOK_NODE_IP="${ip%% *}" "$@"
  ) && return
  rc=$?
  while grep -q . "$c/cgroup.procs"; do
    echo 1 >"$c/cgroup.kill" || xargs kill -9 <"$c/cgroup.procs"
    sleep 1
  done 2>/dev/null
  return $rc
}
if [ -e "$s/skip/$h" ]; then
  status skipped
elif [ "$how" = every ] || [ ! -e "$d" ]; then
  [ "$how" = image ] && sh -c "grep -qs $hash $s/*/$h" || n=1
  until try "$@"; do
    $after $rc
    why="exit status $rc"
    [ $rc != 124 ] || why="timed out after $limit s"
    why="$(cat "$ok~") $why"
    echo "attempt $n of $max: $why"
    if [ $n = "$max" ]; then
      status failed "$why"
      journalctl --sync
      journalctl -qn9 -u "kopshook-$h" -b --no-pager >/dev/console
      [ "$fail" = block ] || : >"$ok"
      exit $rc
    fi
    [ $n = 0 ] || { sleep "$delay" && delay=$((delay < 60 ? delay * 2 : 120)); }
    n=$((n + 1))
  done
  rc=0 why=
  [ $n != 0 ] || why='done in the image'
  [ "$how" = every ] || { sync && echo "$hash" >"$d" && sync "$d"; } || exit
  status succeeded "$why"
fi
: >"$ok"
