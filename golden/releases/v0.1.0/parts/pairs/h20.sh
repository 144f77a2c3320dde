#!/bin/sh
/trial/bin/event "$KOPSHOOK_HOOK${PAIR:+ $PAIR}"
