#!/bin/sh
# Installs what booting nodes takes, on Debian and Ubuntu, as root. With "vm" also what virtual machines
# take, with "kops" what a real kops cluster takes.
set -eu
need=
want() { # PROGRAM-OR-FILE PACKAGE
  command -v "$1" > /dev/null 2>&1 || [ -e "$1" ] || need="$need $2"
}
want mmdebstrap mmdebstrap
want systemd-nspawn systemd-container
want gpg gpg
want shellcheck shellcheck
want shellcheck shellcheck
want dash dash
want /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
[ -z "${KOPSHOOK_UBUNTU_MIRROR:-}" ] || want /usr/share/keyrings/ubuntu-archive-keyring.gpg ubuntu-keyring
if [ "${1:-}" = kops ]; then
  want etcd etcd-server
  want ip iproute2
  want gcc gcc
  want /usr/include/stdio.h libc6-dev
  want pkg-config pkg-config
  want /usr/include/seccomp.h libseccomp-dev
fi
if [ "${1:-}" = vm ]; then
  want qemu-system-x86_64 qemu-system-x86
  want mke2fs e2fsprogs
fi
[ -n "$need" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "e2e/install.sh: needs root to install$need" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# what a package starts by itself is in the way
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' > $policy
  chmod 755 $policy
  trap 'rm -f $policy' EXIT
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of packages
apt-get install -y -qq --no-install-recommends $need
