#!/usr/bin/env bash
# How long from the command to the first step, and how many steps a second after it: Tandem beside torchrun with
# DistributedDataParallel, the same model, data and batch, in one run. Prints a table with ratios.
#   ./dev bench launch [REPEATS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${CACHE:?run it as ./dev bench launch}"
source cmake/python_torch.sh
install_python_torch
exec python3 bench/launch.py --binaries build/bin --repeats "${1:-5}"
