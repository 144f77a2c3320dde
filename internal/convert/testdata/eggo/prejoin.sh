#!/bin/bash
set -e
echo "$EGGO_NODE_NAME joins $EGGO_CLUSTER_ID" > /run/joins
