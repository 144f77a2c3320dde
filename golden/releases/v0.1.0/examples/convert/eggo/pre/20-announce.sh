#!/bin/sh
set -eu
echo "$EGGO_NODE_NAME joins $EGGO_CLUSTER_ID" > /run/joins
