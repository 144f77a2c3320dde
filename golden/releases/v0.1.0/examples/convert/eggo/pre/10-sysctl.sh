#!/bin/sh
set -eu
sysctl -w vm.max_map_count=262144
