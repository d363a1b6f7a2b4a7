#!/bin/sh
# kcat. The arguments are those of scenario.py.
set -eu
verb=$1 servers=$2 topic=$3
shift 3
case $verb in
    produce) printf '%s\n' "$@" | kcat -b "$servers" -P -t "$topic" ;;
    consume) kcat -b "$servers" -q -u -X auto.offset.reset=earliest -c "$2" -f 'read %s\n' -G "$1" "$topic" ;;
    *) exit 2 ;;
esac
