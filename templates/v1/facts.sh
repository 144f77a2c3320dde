#!/bin/sh
# kopshook v1: facts COMMAND...: runs the command with variables that few hooks ask for
set -u
[ $# != 0 ] || exec install -DC "$0" /opt/kopshook/bin/facts # by cloud-init
# What nodeup has told the kubelet. Before it has, the name that kops gives the API inside of a cluster.
a=$(sed -n 's/^ *server: //p' /var/lib/kubelet/kubeconfig 2>/dev/null)
o=boot s=
[ "$KOPSHOOK_FIRST_BOOT" = false ] || o='join'
[ "$KOPSHOOK_PHASE" != pre-shutdown ] || {
  o=shutdown
  # soft-reboot.target too
  case $(systemctl list-jobs) in
    *reboot.target* | *kexec.target*) s=reboot ;;
    *poweroff.target* | *halt.target*) s=poweroff ;;
  esac
}
export KOPSHOOK_API_ENDPOINT="${a:-https://api.internal.$(sed -n 's/^ClusterName: //p' /opt/kops/conf/kube_env.yaml)}" KOPSHOOK_OPERATION=$o KOPSHOOK_SHUTDOWN=$s
exec "$@"
