#!/bin/sh
# kopshook v1: does what the hooks with run: once-per-image of instance group @group@ do, in an image that is being made.
# Run it as root. Hooks that it has done before are verified only.
# shellcheck disable=SC2016 # what hooks say is for the shells that they run
set -fu
export LC_ALL=C
s=/var/lib/kopshook/@image
[ "$(id -u)" = 0 ] || { echo 'kopshook: run this script as root' >&2; exit 1; }
mkdir -p /opt $s && t=$(mktemp -d /opt/kopshook-bake.XXXXXX) || exit
trap 'rm -rf "$t"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# shellcheck disable=SC1091 # it is the image's
os=$(. /etc/os-release && echo "$ID${VERSION_ID+-$VERSION_ID}")
say() { echo "kopshook: hook $h: $*" >&2; }
file() { # PATH MODE: from standard input
  mkdir -p "$t/${1%/*}" && cat >"$t/$1" && chmod "$2" "$t/$1" || exit
}
try() ( # COMMAND...
  echo script: >"$t/label"
  cd "$t/$h" || exit
  exec </dev/null timeout -vk 9 "$limit" env HOME=/root KOPSHOOK_CLUSTER=@cluster@ KOPSHOOK_INSTANCE_GROUP=@group@ KOPSHOOK_ROLE=@role@ \
    KOPSHOOK_NODE_ARCH="$(uname -m | sed 's/x86_/amd/;s/aarch/arm/')" KOPSHOOK_NODE_OS="$os" \
    KOPSHOOK_NODE_NAME= KOPSHOOK_NODE_IP= KOPSHOOK_FIRST_BOOT=false KOPSHOOK_BAKE=true \
    KOPSHOOK_HOOK="$h" KOPSHOOK_PHASE="$phase" KOPSHOOK_ATTEMPT="$n" "$@"
)
hook() { # HOOK PHASE HASH block|continue ATTEMPTS DELAY TIMEOUT REBOOT-CODES COMMAND...
  h=$1 phase=$2 hash=$3 fail=$4 max=$5 delay=$6 limit=$7 codes=$8 n=1
  shift 8
  mkdir -p "$t/$h" || exit
  [ "$(cat "$s/$h" 2>&1)" != "$hash" ] || n=0
  rm -f "$s/$h"
  until say "attempt $n of $max" && try "$@"; do
    rc=$?
    case " $codes " in *" $rc "*)
      say "exit status $rc asks for a reboot: reboot this machine, then run this script again"
      exit $rc
      ;;
    esac
    why="exit status $rc"
    [ $rc != 124 ] || why="timed out after $limit s"
    say "attempt $n of $max: $(cat "$t/label") $why"
    if [ $n = "$max" ]; then
      [ "$fail" = continue ] || exit $rc
      say 'it is left to the nodes, since it says onFailure: continue'
      return
    fi
    [ $n = 0 ] || { sleep "$delay" && delay=$((delay < 60 ? delay * 2 : 120)); }
    n=$((n + 1))
  done
  sync
  echo "$hash" >"$s/$h" && sync "$s/$h" || exit
  say 'done'
}
@hooks@
