#!/bin/sh
# shellcheck disable=SC2016 # what stands in single quotes is for the node's shell
#
# Runs in the pod. Each argument is a hook: "name= run= timeout= attempts= delay= sum=". Copies it to the node, has the
# node's systemd run it, and keeps /state/ready while all hooks are done and verified.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
here=$(dirname "$0") job='' logs='' held='' done=' ' verifies=' '

node() { nsenter -t 1 -m -- "$@"; }
has() { node /bin/sh -c '[ -e "$0" ]' "$1"; }
say() { echo "kopshook: $name: $1"; }

# What takes time runs in the background, since traps wait for what runs in front. A hook that runs on the node is left
# alone: the next pod waits for it.
quit() {
  for pid in $job $logs; do kill "$pid"; done
  [ -z "$held" ] || release
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
  for setting in $1; do
    case $setting in
    name=*) name=${setting#*=} ;;
    sum=*) sum=${setting#*=} ;;
    timeout=*) timeout=${setting#*=} ;;
    attempts=*) attempts=${setting#*=} ;;
    delay=*) delay=${setting#*=} ;;
    run=*) run=${setting#*=} ;;
    esac
  done
  dir=$base/$name lock=/run/kopshook-daemon-$name.lock unit=kopshook-daemon@$name.service n=0 code=0 since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
}

on_node() { node /bin/sh "$dir/hook.sh" "$@"; }
finished() { on_node finished "$sum" "$run"; }
status() { on_node status "$1" "$2" "$n" "$code" "$since" "$sum"; }
skipped() { on_node skipped && status skipped ''; }
unit_is() { node systemctl show --property="$1" --value "$unit"; }

# The kubelet brings a changed ConfigMap up to two minutes late: what is mounted may be older than the arguments, or
# newer.
intact() { (cd "/hooks/$name" && echo "$sum  SHA256SUMS" | sha256sum -c && sha256sum -c SHA256SUMS) > /dev/null 2>&1; }

# Nothing of the unit runs any more, be it this pod's or another's.
idle() {
  while case $(unit_is ActiveState) in active | reloading | activating | deactivating) ;; *) false ;; esac do slowly sleep 1; done
}

# One pod at a time has a hook, though a rollout, where pods are deleted by force, may have two on a node. A pod that is
# gone has nothing.
take() {
  until node /bin/sh -c 'echo "$1" > "$0.$1" && ln "$0.$1" "$0"; took=$?; rm "$0.$1"; exit $took' "$lock" $$ 2> /dev/null; do
    holder=$(node cat "$lock")
    if grep -qs /kopshook/run.sh "/proc/$holder/cmdline"; then say 'waits for another pod'; else node rm -f "$lock"; fi
    slowly sleep 2
  done
  held=yes
}
release() {
  node rm -f "$lock"
  held=''
}

put() { node /bin/sh -c 'umask 077; cat > "$0.new/$1" && chmod 700 "$0.new/$1"' "$dir" "$1"; }
copy() {
  node /bin/sh -c 'umask 077; rm -rf "$0.new"; mkdir -p "$0.new/scripts"' "$dir" || return
  put hook.sh < "$here/hook.sh" || return
  echo "${OWNER-}" | put owner || return
  put SHA256SUMS < "/hooks/$name/SHA256SUMS" || return
  while read -r _ file; do
    case $file in script.*) to=scripts/${file#script.} ;; *) to=$file ;; esac
    put "$to" < "/hooks/$name/$file" || return
  done < "/hooks/$name/SHA256SUMS"
  node /bin/sh -c 'rm -rf "$0" && mv "$0.new" "$0"' "$dir"
}
bring() { # COMMAND that says whether it is there
  idle
  until "$@"; do
    say 'cannot be copied to the node; tried again in 30 s'
    slowly sleep 30
  done
}
begin() { on_node begin "$sum" || { intact && copy && on_node begin "$sum"; }; }

# systemd-run waits for a oneshot unit, but not over a restart of systemd: what counts is what the unit left.
start() { # run|verify
  bring begin
  node systemctl reset-failed "$unit" 2> /dev/null
  slowly node systemd-run --quiet --unit="$unit" --description="kopshook hook $name" \
    --property=Type=oneshot --property=TimeoutStartSec="$timeout" --property=TimeoutStopSec=10 \
    --setenv=KOPSHOOK_HOOK="$name" --setenv=KOPSHOOK_PHASE=daemon --setenv=KOPSHOOK_ATTEMPT="$n" \
    --setenv=KOPSHOOK_CLUSTER="${CLUSTER-}" --setenv=KOPSHOOK_NODE_NAME="${NODE_NAME-}" \
    --setenv=KOPSHOOK_NODE_IP="${NODE_IP-}" /bin/sh "$dir/hook.sh" "$1" "$sum"
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

attempt() {
  n=$((n + 1))
  status running "attempt $n of $attempts"
  start run
  finished && return
  failure
  say "attempt $n of $attempts: $why"
  return 1
}

hook() { # returns 0 when it is done on this node
  bring copy
  [ ! -e "/hooks/$name/verify" ] || verifies="$verifies$name "
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
  nsenter -t 1 -m -- journalctl --quiet --follow --no-tail --since="@$(date +%s)" --output=cat --unit="$unit" &
  logs=$!
  until attempt; do
    [ "$n" -lt "$attempts" ] || break
    status running "$why; the next attempt is in $delay s"
    slowly sleep "$delay"
    delay=$((delay * 2))
    [ "$delay" -le 120 ] || delay=120
  done
  slowly sleep 1 # for the last lines
  kill $logs
  logs=''
  if ! finished; then
    status failed "$why"
    return 1
  fi
  code=0
  status succeeded ''
}

verify() { # returns 0 when it, or there being none, speaks for the hook
  n=1
  case $verifies in *" $name "*) ;; *) return 0 ;; esac
  if skipped; then
    rm -f "/state/broken-$name"
    return
  fi
  # a rollout that waits elsewhere has changed the ConfigMap: what is on the node is still this pod's
  on_node begin "$sum" || intact || return 0
  start verify
  if on_node fine; then
    [ ! -e "/state/broken-$name" ] || status succeeded 'verified again'
    rm -f "/state/broken-$name"
    return
  fi
  failure
  say "$why"
  : > "/state/broken-$name"
  status failed "$why"
  return 1
}

# What this spec's hooks left on the node that are not in it any more: should one come back, it runs again.
forget() { # ARGUMENTS
  arguments=" $* "
  for name in $(node /bin/sh -c 'cd "$0" && grep -lxF "$1" ./*/owner' "$base" "$OWNER" | cut -d/ -f2); do
    case $arguments in *" name=$name "*) continue ;; esac
    settings "name=$name"
    take
    idle
    say 'is no longer in the spec'
    on_node forget
    release
  done
}

rm -rf /state/*
ready=true
for argument do
  settings "$argument"
  until intact; do
    say 'waits for the ConfigMap that belongs to this pod'
    slowly sleep 5
  done
  take
  if hook; then done="$done$name "; else ready=false; fi
  release
  [ ! -e "/state/broken-$name" ] || ready=false
done
[ -z "${OWNER-}" ] || forget "$@"
while :; do
  if $ready; then : > /state/ready; else rm -f /state/ready; fi
  slowly sleep "${VERIFY_SECONDS:-300}"
  ready=true
  for argument do
    settings "$argument"
    case $done in *" $name "*) ;; *) ready=false && continue ;; esac
    take
    verify || ready=false
    release
  done
done
