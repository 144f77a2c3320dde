#!/bin/sh
# Installs etcd, promtool and a C compiler on Debian and Ubuntu, as root.
set -eu
need=
command -v etcd > /dev/null 2>&1 || need="$need etcd-server"
# runc, of the programs that are built
command -v gcc > /dev/null 2>&1 || need="$need gcc"
[ -e /usr/include/stdio.h ] || need="$need libc6-dev"
command -v promtool > /dev/null 2>&1 || need="$need prometheus"
[ -n "$need" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "e2e/apiserver/install.sh: needs root to install$need" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# what the packages start by themselves is in the way
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' > $policy
  chmod 755 $policy
  trap 'rm -f $policy' EXIT
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of packages
apt-get install -y -qq --no-install-recommends $need
