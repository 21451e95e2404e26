#!/usr/bin/env bash
# What the promise costs: logical ranks on one worker, and the tree beside an all-reduce on two. Prints two tables.
#   ./dev bench equivalence [REPEATS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bench/equivalence.py --binaries build/bin --repeats "${1:-3}"
