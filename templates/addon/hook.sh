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

mark() { # SUM once-per-instance|every-boot: what the stamp of a finished hook says
  instance
  echo "$1 $i"
  [ "$2" != every-boot ] || cat /proc/sys/kernel/random/boot_id
}

write() { # FILE: whole, or not at all
  mkdir -p "${1%/*}" && cat > "${1%/*}/.$name" && sync "${1%/*}/.$name" && mv "${1%/*}/.$name" "$1"
}

field() { # NAME: of the file in which nodeup.sh says who the node is
  sed -n "s/^$1: *\"\{0,1\}\([^\" ]*\)\"\{0,1\} *\$/\1/p" /opt/kops/conf/kube_env.yaml /var/lib/toolbox/kops/conf/kube_env.yaml 2> /dev/null
}

environment() {
  : "${KOPSHOOK_CLUSTER:=$(field ClusterName)}"
  KOPSHOOK_INSTANCE_GROUP=$(field InstanceGroupName)
  KOPSHOOK_ROLE=$(field InstanceGroupRole)
  KOPSHOOK_NODE_ARCH=$(uname -m)
  case $KOPSHOOK_NODE_ARCH in x86_64) KOPSHOOK_NODE_ARCH=amd64 ;; aarch64) KOPSHOOK_NODE_ARCH=arm64 ;; esac
  KOPSHOOK_FIRST_BOOT=$(sed -n 's/.*KOPSHOOK_FIRST_BOOT=\([a-z]*\).*/\1/p' /run/kopshook/with 2> /dev/null)
  : "${KOPSHOOK_FIRST_BOOT:=false}"
  HOME=/root
  export HOME KOPSHOOK_CLUSTER KOPSHOOK_INSTANCE_GROUP KOPSHOOK_ROLE KOPSHOOK_NODE_ARCH KOPSHOOK_FIRST_BOOT
  # shellcheck source=/dev/null
  [ ! -e env ] || . ./env
}

failed() { # FILE EXIT-CODE
  echo "$1: exit status $2" > why
  exit "$2"
}

verify() {
  [ -e verify ] || return 0
  read -r first < verify || :
  case $first in '#!'*) "$dir/verify" ;; *) /bin/sh "$dir/verify" ;; esac || failed verify $?
}

case $1 in
skipped) [ -e "$v/skip/$name" ] ;;
finished) # SUM RUN
  [ "$(mark "$2" "$3")" = "$(cat "$stamp" 2> /dev/null)" ]
  ;;
recorded) # SUM: as succeeded
  grep -q "\"state\":\"succeeded\".*\"hash\":\"$2\"" "$v/status/$name.json" 2> /dev/null
  ;;
run | verify) # SUM RUN, as a systemd unit
  cd "$dir" || exit
  rm -f why
  environment
  if [ "$1" = run ]; then
    while read -r _ file <&3; do
      case $file in script) ;; script.*) file=scripts/${file#script.} ;; *) continue ;; esac
      "$dir/$file" 3<&- || failed "${file##*/}" $?
    done 3< SHA256SUMS
  fi
  verify
  [ "$1" = verify ] || mark "$2" "$3" | write "$stamp"
  ;;
status) # STATE REASON ATTEMPTS EXIT-CODE STARTED SUM
  instance
  printf '{"hook":"%s","phase":"daemon","state":"%s","reason":"%s","attempts":%d,"exitCode":%d,"startedAt":"%s","updatedAt":"%s","instanceID":"%s","hash":"%s"}\n' \
    "$name" "$2" "$3" "$4" "$5" "$6" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$i" "$7" | write "$v/status/$name.json"
  ;;
esac
