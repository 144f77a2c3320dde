set -eu
d=/opt/kopshook/hooks/archive
mkdir -pm700 $d
cat > $d/fetch << 'EOF'
@python@EOF
p=$(sed -n '1s/^#! *\([^ ]*\).*/\1/p' "$(command -v cloud-init)") # the Python that cloud-init runs with
cat > /etc/systemd/system/kopshook-archive.service << EOF
[Unit]
After=network-online.target cloud-config.target
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=600
EnvironmentFile=-/etc/environment
WorkingDirectory=$d
ExecStart=$p -I fetch $1 $2
EOF
systemctl daemon-reload
