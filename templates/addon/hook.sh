#!/bin/sh
# Lies on the node beside the files of one hook, and does there what the pod asks for.
set -u
dir=$(dirname "$0") v=/var/lib/kopshook
name=${dir##*/}
stamp=$v/daemon/$name

# As in the runner of user data. Nodes without cloud-init have a machine-id.
instance() {
  i=$(readlink /var/lib/cloud/instance)
  i=${i##*/}
  case $i in '' | *none | *[!A-Za-z0-9._:-]*) i=$(cat /etc/machine-id) ;; esac
}

mark() { # MARK: what the stamp of a hook says that ends now
  instance
  echo "$1 $i"
  cat /proc/sys/kernel/random/boot_id
}

write() { # FILE: whole, or not at all
  mkdir -p "${1%/*}" && cat > "${1%/*}/.$name" && sync "${1%/*}/.$name" && mv "${1%/*}/.$name" "$1"
}

field() { # NAME: of the file in which nodeup.sh says who the node is
  sed -n "s/^$1: *\"\{0,1\}\([^\" ]*\)\"\{0,1\} *\$/\1/p" /opt/kops/conf/kube_env.yaml /var/lib/toolbox/kops/conf/kube_env.yaml 2> /dev/null
}

intact() { # SUM [UNDO]: two pods at once, of two templates, must not run each other's files
  echo "$1  SHA256SUMS" | sha256sum -c && sed 's,  script[.],  scripts/,' SHA256SUMS | sha256sum -c &&
    { [ -z "${2-}" ] || echo "$2  undo" | sha256sum -c; }
} > /dev/null 2>&1

failed() { # FILE EXIT-CODE
  echo "$1: exit status $2" > why
  exit "$2"
}

case $1 in
skipped) [ -e "$v/skip/$name" ] ;;
finished) # MARK RUN
  case $3 in every-boot) lines=2 ;; *) lines=1 ;; esac
  [ -e "$stamp" ] && [ "$(mark "$2" | head -n $lines)" = "$(head -n $lines "$stamp")" ]
  ;;
intact) cd "$dir" && intact "$2" "${3-}" ;; # SUM [UNDO]
begin) # [SUM]
  cd "$dir" && { [ -z "${2-}" ] || intact "$2"; } && echo 'systemd could not run it' > why
  ;;
fine) [ ! -e "$dir/why" ] ;; # what began came to its end
recorded) # SUM: as succeeded
  grep -q "\"state\":\"succeeded\".*\"hash\":\"$2\"" "$v/status/$name.json" 2> /dev/null
  ;;
run | verify | undo) # SUM MARK, as a systemd unit; undo has its checksum in place of a mark
  cd "$dir" || exit
  do=$1 sum=$2 mark=$3 undo='' check=verify
  echo 'ended by a signal' > why
  if [ "$do" = undo ]; then
    undo=$mark check=undo
    rm -f "$stamp" # should the hook come back, it runs again
  fi
  intact "$sum" "$undo" || {
    echo 'the files are not those of this pod' > why
    exit 1
  }
  arch=$(uname -m)
  case $arch in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
  first=$(sed -n 's/.*FIRST_BOOT=\([a-z]*\).*/\1/p' /run/kopshook/env 2> /dev/null)
  # for env(1), so that a variable of the hook is not one of this script
  set -- HOME=/root KOPSHOOK_CLUSTER="${KOPSHOOK_CLUSTER:-$(field ClusterName)}" KOPSHOOK_INSTANCE_GROUP="$(field InstanceGroupName)" \
    KOPSHOOK_ROLE="$(field InstanceGroupRole)" KOPSHOOK_NODE_ARCH="$arch" KOPSHOOK_FIRST_BOOT="${first:-false}"
  # shellcheck source=/dev/null
  [ ! -e env ] || . ./env
  if [ "$do" = run ]; then
    while read -r _ file <&3; do
      case $file in script) ;; script.*) file=scripts/${file#script.} ;; *) continue ;; esac
      env "$@" "$dir/$file" 3<&- || failed "${file##*/}" $?
    done 3< SHA256SUMS
  fi
  if [ -e "$check" ]; then
    read -r line < "$check" || :
    case $line in '#!'*) env "$@" "$dir/$check" ;; *) env "$@" /bin/sh "$dir/$check" ;; esac || failed "$check" $?
  fi
  [ "$do" != run ] || mark "$mark" | write "$stamp" || failed stamp $?
  rm -f why
  ;;
status) # STATE REASON ATTEMPTS EXIT-CODE STARTED SUM
  instance
  printf '{"hook":"%s","phase":"daemon","state":"%s","reason":"%s","attempts":%d,"exitCode":%d,"startedAt":"%s","updatedAt":"%s","instanceID":"%s","hash":"%s"}\n' \
    "$name" "$2" "$3" "$4" "$5" "$6" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$i" "$7" | write "$v/status/$name.json"
  ;;
forget) # the spec does not have this hook any more
  rm -f "$stamp"
  ! grep -q '"phase":"daemon"' "$v/status/$name.json" 2> /dev/null || rm -f "$v/status/$name.json"
  rm -rf "$dir"
  ;;
esac
