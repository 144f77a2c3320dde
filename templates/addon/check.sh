#!/bin/sh
# check.sh HOOK: for node-problem-detector. 0: it succeeded, runs, or is not of this node; 1: it failed; 2: not known.
set -u
f=${STATUS:-/status}/$1.json
[ -e "$f" ] || exit 0
line=$(cat "$f") || exit 2
value() { printf '%s\n' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
case $(value state) in
running | succeeded | skipped) ;;
failed)
  value reason
  exit 1
  ;;
*)
  echo "$f says nothing of use"
  exit 2
  ;;
esac
