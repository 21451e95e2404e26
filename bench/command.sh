#!/usr/bin/env bash
# What it costs to have a script started by Tandem, beside torchrun and beside starting it by hand with the variables
# set: time to its first line, and until its ranks have met with torch. Prints a table.
#   ./dev bench command [REPEATS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${CACHE:?run it as ./dev bench command}"
source cmake/python_torch.sh
install_python_torch
exec python3 bench/command.py --binaries build/bin --repeats "${1:-7}"
