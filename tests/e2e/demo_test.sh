#!/usr/bin/env bash
# Runs the demo in a folder that holds these programs only, as in a clone in which nothing else was built.
#   demo_test.sh PROGRAM...
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$@" "$folder"
"$(dirname "${BASH_SOURCE[0]}")/../../examples/demo.sh" "$folder"
