#!/bin/sh
echo "$EGGO_OPERATOR"
