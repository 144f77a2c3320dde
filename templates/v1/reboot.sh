#!/bin/sh
# kopshook v1: reboot HOOK CODE... STATUS: reboots when an attempt of the hook ended with one of the codes
set -u
[ $# != 0 ] || exec install -DC "$0" /opt/kopshook/bin/reboot # by cloud-init
hook=$1 counter=/var/lib/kopshook/status/$1.reboots n=0 asked=
shift
for status; do :; done
while [ $# -gt 1 ]; do
  [ "$1" != "$status" ] || asked=1
  shift
done
[ -n "$asked" ] || exit 0
[ ! -e "$counter" ] || read -r n <"$counter"
if [ "$n" -ge 3 ]; then
  echo 'asks for a reboot after 3 of them:' >"/run/kopshook/ok/$hook~"
  exit 0
fi
n=$((n + 1))
echo $n >"$counter" && sync "$counter" || exit
echo "reboot $n of 3"
w=0 # the user's scripts are not cut off: cloud-init would not run them again
until [ "$(systemctl is-active cloud-final)" != activating ] || [ $((w += 1)) -gt 600 ]; do sleep 1; done
systemctl reboot
sleep 300
