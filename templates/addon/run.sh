#!/bin/sh
# shellcheck disable=SC2016 # what stands in single quotes is for the node's shell
#
# Runs in the pod. Each argument is a hook: "name= run= timeout= attempts= delay= sum=", with undo= where it can be taken
# back, and only= or except= where it is for some instance groups. Copies it to the node and has the node's systemd run it. /state/ready says that what the
# arguments speak of ran and was verified once on this node: what breaks later is in the status file.
set -uf
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$0") job='' logs='' held='' done=' ' remains='' seconds=${VERIFY_SECONDS:-300}

node() { nsenter -t 1 -m -- "$@"; }
has() { node /bin/sh -c '[ -e "$0" ]' "$1"; }
say() { echo "kopshook: $name: $1"; }

# What takes time runs in the background, since traps wait for what runs in front. A hook that runs on the node is left
# alone: the next pod waits for it.
quit() {
  for pid in $job $logs; do kill "$pid" 2> /dev/null; done
  [ -z "$held" ] || [ "$(node cat "$lock" 2> /dev/null)" != $$ ] || release
  exit 0
}
trap quit TERM INT
slowly() {
  "$@" &
  job=$!
  wait "$job"
  job=''
}

# Where nodeup has its own things, too: Container-Optimized OS runs nothing of /opt.
base=/opt/kopshook/daemon
! has /var/lib/toolbox || base=/var/lib/toolbox/kopshook/daemon

settings() { # ARGUMENT
  argument=$1 sum='' timeout='' attempts='' delay='' run='' undo='' drift='' only='' except='' again=''
  for setting in $1; do
    case $setting in
    name=*) name=${setting#*=} ;;
    sum=*) sum=${setting#*=} ;;
    timeout=*) timeout=${setting#*=} ;;
    attempts=*) attempts=${setting#*=} ;;
    delay=*) delay=${setting#*=} ;;
    run=*) run=${setting#*=} ;;
    undo=*) undo=${setting#*=} ;;
    drift=*) drift=${setting#*=} ;;
    only=*) only=,${setting#*=}, ;;
    except=*) except=,${setting#*=}, ;;
    esac
  done
  for setting in ${AGAIN-}; do
    case $setting in "$name="*) again=+${setting#*=} ;; esac
  done
  files=/hooks/$name/$sum$undo dir=$base/$name new=$base/.$name lock=/run/kopshook-daemon-$name.lock unit=kopshook-daemon@$name.service
  n=0 code=0 since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
}

# Overrides hold for instance groups, and the node knows its own.
group() {
  node sed -n 's/^InstanceGroupName: *"\{0,1\}\([^" ]*\)"\{0,1\} *$/\1/p' /opt/kops/conf/kube_env.yaml /var/lib/toolbox/kops/conf/kube_env.yaml 2> /dev/null
}
here() { # whether the hook is one of this node
  [ -n "$only$except" ] || return 0
  group=$(group)
  until [ -n "$group" ]; do
    say 'waits for /opt/kops/conf/kube_env.yaml, which says the instance group of this node'
    slowly sleep 30
    group=$(group)
  done
  case $only in '' | *",$group,"*) ;; *) return 1 ;; esac
  case $except in *",$group,"*) return 1 ;; esac
}

on_node() { node /bin/sh "$dir/hook.sh" "$@"; }
finished() { on_node finished "$sum$again" "$run"; }
once() { on_node finished "$sum$again" once-per-instance; } # whatever came later
status() { on_node status "$1" "$2" "$n" "$code" "$since" "$sum"; }
skipped() { on_node skipped && status skipped ''; }
unit_is() { node systemctl show --property="$1" --value "$unit"; }

# The kubelet brings ConfigMaps late. Where kops has pruned them, since the pod is of an older template, what it once
# brought to the node serves.
intact() {
  (cd "$files" && echo "$sum  SHA256SUMS" | sha256sum -c && sha256sum -c SHA256SUMS &&
    { [ -z "$undo" ] || echo "$undo  undo" | sha256sum -c; }) > /dev/null 2>&1
}
there() { has "$dir/hook.sh" && on_node intact "$sum" "$undo"; }

# Nothing of the unit runs any more, be it this pod's or another's.
idle() {
  while case $(unit_is ActiveState) in active | reloading | activating | deactivating) ;; *) false ;; esac do slowly sleep 1; done
}

# One pod at a time has a hook, though a rollout, where pods are deleted by force, may have two on a node. A pod that is
# gone has nothing.
take() {
  held=yes # or soon: a signal may come between
  until node /bin/sh -c 'echo "$1" > "$0.$1" && ln "$0.$1" "$0"; took=$?; rm "$0.$1"; exit $took' "$lock" $$ 2> /dev/null; do
    holder=$(node cat "$lock")
    if grep -qs /kopshook/run.sh "/proc/$holder/cmdline"; then say 'waits for another pod'; else node rm -f "$lock"; fi
    slowly sleep 2
  done
}
release() {
  node rm -f "$lock"
  held=''
}

put() { node /bin/sh -c 'umask 077; cat > "$0/$1" && chmod 700 "$0/$1"' "$new" "$1"; }
copy() {
  intact || {
    there
    return
  }
  node /bin/sh -c 'umask 077; rm -rf "$0"; mkdir -p "$0/scripts"' "$new" || return # hidden: a pod may be stopped before mv
  put hook.sh < "$here/hook.sh" || return
  echo "${OWNER-}" | put owner || return
  echo "$argument" | put argument || return
  [ -z "$undo" ] || put undo < "$files/undo" || return
  put SHA256SUMS < "$files/SHA256SUMS" || return
  while read -r _ file; do
    case $file in script.*) to=scripts/${file#script.} ;; *) to=$file ;; esac
    put "$to" < "$files/$file" || return
  done < "$files/SHA256SUMS"
  node /bin/sh -c 'rm -rf "$1" && mv "$0" "$1"' "$new" "$dir"
}
bring() { # COMMAND that says whether it is there
  idle
  until "$@"; do
    say 'cannot be copied to the node; tried again in 30 s'
    slowly sleep 30
  done
}
begin() { on_node begin "$sum" || { copy && on_node begin "$sum"; }; }

# systemd-run waits for a oneshot unit, but not over a restart of systemd: what counts is what the unit left.
start() { # run|verify|undo
  case $1 in
  undo)
    mark=$undo
    on_node begin # what is wrong with the files, it says itself: there is no other place to have them from
    ;;
  *)
    mark=$sum$again
    bring begin
    ;;
  esac
  node systemctl reset-failed "$unit" 2> /dev/null
  slowly node systemd-run --quiet --unit="$unit" --description="kopshook hook $name" \
    --property=Type=oneshot --property=TimeoutStartSec="$timeout" --property=TimeoutStopSec=10 \
    --setenv=KOPSHOOK_HOOK="$name" --setenv=KOPSHOOK_PHASE=daemon --setenv=KOPSHOOK_ATTEMPT="$n" \
    --setenv=KOPSHOOK_CLUSTER="${CLUSTER-}" --setenv=KOPSHOOK_NODE_NAME="${NODE_NAME-}" \
    --setenv=KOPSHOOK_NODE_IP="${NODE_IP-}" /bin/sh "$dir/hook.sh" "$1" "$sum" "$mark"
  idle
}
failure() {
  code=$(unit_is ExecMainStatus)
  case $(unit_is Result) in
  timeout) why="timed out after $timeout s" ;;
  oom-kill) why='out of memory' ;;
  *) why=$(node cat "$dir/why") || why='the node does not say why' ;;
  esac
}

attempt() { # run|undo
  n=$((n + 1)) what=''
  [ "$1" = run ] || what="$1, "
  status running "${what}attempt $n of $attempts"
  start "$1"
  on_node fine && case $1 in run) finished ;; esac && return
  failure
  say "${what}attempt $n of $attempts: $why"
  return 1
}
tries() { # run|undo: returns 0 when an attempt came to its end
  listen
  until attempt "$1"; do
    if [ "$n" -ge "$attempts" ]; then
      hear
      status failed "$why"
      return 1
    fi
    status running "$why; the next attempt is in $delay s"
    slowly sleep "$delay"
    delay=$((delay * 2))
    [ "$delay" -le 120 ] || delay=120
  done
  hear
}
listen() { # to what the hook says
  nsenter -t 1 -m -- journalctl --quiet --follow --no-tail --since="@$(date +%s)" --output=cat --unit="$unit" &
  logs=$!
}
hear() {
  slowly sleep 1 # for the last lines
  kill $logs
  logs=''
}

hook() { # returns 0 when it is done on this node
  bring copy
  if skipped; then
    say 'skipped by an operator'
    return
  fi
  if finished; then
    say 'was done before'
    verify || return 0
    on_node recorded "$sum" || status succeeded '' # the pod that saw its end is gone
    return
  fi
  tries run || return
  code=0
  status succeeded ''
}

verify() { # returns 0 when it, or there being none, speaks for the hook
  n=1
  # a hook of another pod is on the node, or none: nothing to say of this one
  there || intact || return 0
  has "$dir/verify" || return 0
  if skipped; then
    mended
    return
  fi
  start verify
  if on_node fine; then
    [ ! -e "/state/broken-$name" ] || status succeeded 'verified again'
    mended
    return
  fi
  failure
  say "$why"
  : > "/state/broken-$name"
  case $drift in run) on_drift && return ;; esac
  status failed "$why"
  return 1
}
mended() { rm -f "/state/broken-$name" "/state/turn-$name" "/state/runs-$name"; }

# onDrift: run. A tenth of the nodes has its turn at a time, by a hash of the node's name: ten turns follow each other,
# each longer than the hook may take, and a run begins when one does. After as many runs as attempts it is left alone.
on_drift() { # returns 0 when the hook ran and all is well
  runs=$(cat "/state/runs-$name" 2> /dev/null || echo 0)
  if [ "$runs" -ge "$attempts" ]; then
    why="$why; $runs runs did not mend it"
    return 1
  fi
  length=$((timeout + 60)) now=$(date +%s)
  turn=$(cat "/state/turn-$name" 2> /dev/null || echo 0)
  if [ "$turn" -gt "$now" ] || [ $((turn + 45)) -lt "$now" ]; then
    [ "$turn" -gt "$now" ] || turn=$(next_turn)
    echo "$turn" > "/state/turn-$name"
    why="$why; runs again in $((turn - now)) s"
    return 1
  fi
  rm -f "/state/turn-$name"
  echo $((runs + 1)) > "/state/runs-$name"
  n=$runs
  listen
  if attempt run; then
    hear
    code=0
    status succeeded "ran again: $why"
    mended
    return
  fi
  hear
  [ $((runs + 1)) -ge "$attempts" ] || next_turn > "/state/turn-$name"
  return 1
}
next_turn() { # of this node, after now
  hash=$(echo "${NODE_NAME-}" | sha256sum | cut -c1-7)
  cycle=$((length * 10)) first=$(($(date +%s) + 1))
  echo $((first + (0x$hash % 10 * length - first % cycle + cycle) % cycle))
}
pause() { # until verify is asked again, or a hook has its turn
  wait=$seconds now=$(date +%s)
  for name in $done; do
    turn=$(cat "/state/turn-$name" 2> /dev/null) || continue
    [ $((turn - now)) -ge "$wait" ] || wait=$((turn - now))
  done
  [ "$wait" -ge 1 ] || wait=1
  slowly sleep "$wait"
}

# What this spec's hooks left on the node that are not in it any more is taken back and goes: should one come back, it runs
# again. What cannot be taken back stays, and the pod is not ready, so that no other node follows.
forget() { # ARGUMENTS
  arguments=" $* "
  for name in $(node /bin/sh -c 'cd "$0" && grep -lxF "$1" ./*/owner' "$base" "$OWNER" | cut -d/ -f2); do
    case $arguments in *" name=$name "*) continue ;; esac
    settings "$(node cat "$base/$name/argument" 2> /dev/null || echo "name=$name")"
    take
    idle
    if [ "$(node cat "$dir/owner")" = "$OWNER" ]; then # and no other spec has it by now
      say 'is no longer in the spec'
      if taken_back; then clear; else remains="$remains $name"; fi
    fi
    release
  done
}
taken_back() {
  [ -n "$undo" ] || return 0
  if on_node skipped; then
    say 'skipped by an operator: what it did stays'
    return
  fi
  tries undo
}
clear() {
  on_node forget
  node rm -rf "$new"
  node systemctl reset-failed "$unit" 2> /dev/null
}

# For scheduling, which may wait for it: a file that a reboot takes away.
verified=/run/kopshook-daemon/${OWNER-}

ready() { # when each hook ran and was verified once, or an operator skips it, and what is gone is taken back
  [ ! -e /state/ready ] || return 0
  for name in $remains; do
    settings "name=$name"
    on_node skipped || return 0
  done
  for argument do
    settings "$argument"
    has "$dir/hook.sh" && { once || on_node skipped; } || return 0
    [ -z "$undo" ] || there || return 0
  done
  : > /state/ready
  [ -z "${OWNER-}" ] || node /bin/sh -c 'mkdir -p "${0%/*}" && : > "$0"' "$verified"
}

set +f
rm -rf /state/*
set -f
left=$#
while [ "$left" -gt 0 ]; do
  settings "$1"
  if here; then set -- "$@" "$1"; fi
  shift
  left=$((left - 1))
done
if [ -n "${OWNER-}" ]; then
  node rm -f "$verified"
  forget "$@"
fi
ready "$@"
for argument do
  settings "$argument"
  until intact || there; do
    say 'waits for the ConfigMap that belongs to this pod'
    slowly sleep 5
  done
  take
  ! hook || done="$done$name "
  release
done
ready "$@"
while :; do
  pause
  for argument do
    settings "$argument"
    case $done in *" $name "*) ;; *) continue ;; esac
    take
    verify
    release
  done
  ready "$@"
done
