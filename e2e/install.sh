#!/bin/sh
# Installs what tests take, on Debian and Ubuntu, as root: those that boot nodes; with "vm" also in virtual machines, with
# "kops" also in a real kops cluster, with "cgroup2" that in a kernel of its own; with "apiserver" those of a control plane
# without nodes; with "browser" those that look at pages and that ask shells.
set -eu
need=
want() { # PROGRAM-OR-FILE PACKAGE
  command -v "$1" > /dev/null 2>&1 || [ -e "$1" ] || need="$need $2"
}
nodes() {
  want mmdebstrap mmdebstrap
  want systemd-nspawn systemd-container
  want gpg gpg
  want shellcheck shellcheck
  want dash dash
  want /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
  [ -z "${KOPSHOOK_UBUNTU_MIRROR:-}" ] || want /usr/share/keyrings/ubuntu-archive-keyring.gpg ubuntu-keyring
}
control_plane() { # its programs are built: runc with a C compiler
  want etcd etcd-server
  want gcc gcc
  want /usr/include/stdio.h libc6-dev
  want pkg-config pkg-config
  want /usr/include/seccomp.h libseccomp-dev
}
case ${1:-} in
  '')
    nodes
    ;;
  vm)
    nodes
    want qemu-system-x86_64 qemu-system-x86
    want mke2fs e2fsprogs
    ;;
  kops)
    nodes
    control_plane
    want ip iproute2
    ;;
  cgroup2)
    nodes
    control_plane
    want ip iproute2
    want linux.uml user-mode-linux
    want modprobe kmod
    ;;
  apiserver)
    control_plane
    want promtool prometheus
    want npm npm
    ;;
  browser)
    want pdftotext poppler-utils
    want npm npm
    want zsh zsh
    want fish fish
    # Ubuntu has it as a snap alone, which containers cannot run: the tests say that they look at nothing then
    command -v chromium > /dev/null 2>&1 || apt-get -qq update || :
    ! apt-cache show chromium > /dev/null 2>&1 || want chromium chromium
    ;;
  *)
    echo "e2e/install.sh: unknown: $1" >&2
    exit 2
    ;;
esac
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
