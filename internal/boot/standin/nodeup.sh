#!/bin/bash
# Stands where kops puts its nodeup.sh: the machine id, the configuration, then nodeup itself, which installs
# kops-configuration.service and returns.
set -o errexit
set -o nounset
set -o pipefail

/bin/systemd-machine-id-setup || true
mkdir -p /opt/kops/conf
cat > /opt/kops/conf/kube_env.yaml << 'END'
InstanceGroupName: try
END
cd /opt/kops/bin
./nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8
