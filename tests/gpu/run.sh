#!/usr/bin/env bash
# What only a machine with a GPU can show, in one run of less than eight minutes: the same bits on it again and again,
# its kernel against the CPU's sums, its NCCL, its memory and its speed beside Python on the same card.
#
#   tests/gpu/run.sh [--cpu] [--binaries FOLDER] [--out FILE.json]
#
#   --cpu        the same on this machine's CPU, smaller: to see that the script works
#   --binaries   a folder that tests/gpu/pack.sh has made, or build/bin; without it they are built here
#   --out        where the figures go [gpu.json]
#
# Needs python3, with torch of the version that cmake/wheels.lock names where speed is compared (and where prebuilt
# binaries take its libraries). Ends with 1 where a check failed; each says what it saw.
set -euo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

binaries='' device=cuda out=gpu.json
while [ $# -gt 0 ]; do
  case $1 in
    --cpu) device=cpu ;;
    --binaries) binaries=$(realpath "${2:?--binaries needs a folder}"); shift ;;
    --out) out=${2:?--out needs a file}; shift ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1'; see run.sh --help" >&2; exit 2 ;;
  esac
  shift
done

mkdir -p "$(dirname "$out")"
if [ -n "$binaries" ] && [ ! -x "$binaries/tandem-trainer" ]; then
  echo "run.sh: there is no tandem-trainer in $binaries" >&2
  exit 2
fi

# The libraries of torch for Python, its own and those of NVIDIA's packages beside it.
python_libraries() {
  python3 - <<'PYTHON' || true
import glob, importlib.util, os
torch = importlib.util.find_spec("torch")
if torch:
    folder = os.path.dirname(torch.origin)
    print(":".join([f"{folder}/lib", *sorted(glob.glob(f"{folder}/../nvidia/**/lib", recursive=True))]))
PYTHON
}

if [ -z "$binaries" ]; then
  preset=$([ $device = cpu ] && echo release || echo cuda)
  "$source_folder/dev" build --preset "$preset" tandem-programs tandem-exchange-check "$([ $device = cpu ] && echo stand-in-nccl || echo tandem-cuda-tests)"
  binaries=$source_folder/$([ $device = cpu ] && echo build || echo build-cuda)/bin
fi
# Binaries of another machine bring the libraries that this one may lack, all but torch's.
if [ -d "$binaries/lib" ]; then
  LD_LIBRARY_PATH=$binaries/lib:$(python_libraries):${LD_LIBRARY_PATH:-}
  export LD_LIBRARY_PATH
fi
exec python3 "$source_folder/tests/gpu/checks.py" --binaries "$binaries" --device "$device" --out "$out"
