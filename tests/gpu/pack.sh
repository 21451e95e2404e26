#!/usr/bin/env bash
# Makes a folder that runs on another machine: Tandem's programs without symbols, and below lib/ the shared libraries
# that they need, all but the C library's, torch's and NVIDIA's, which are that machine's own.
#
#   tests/gpu/pack.sh BINARIES FOLDER        for example: tests/gpu/pack.sh build-cuda/bin /tmp/packed
#
# tests/gpu/run.sh takes it as --binaries.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
from=$1 to=$2
[ -x "$from/tandem-trainer" ] || { echo "pack.sh: there is no tandem-trainer in $from" >&2; exit 1; }

mkdir -p "$to/lib"
programs=("$from"/tandem "$from"/tandemd "$from"/tandem-* "$from"/libtandem-*.so "$from"/../tests/cuda/cuda_device_test)
for program in "${programs[@]}"; do
  if [ -f "$program" ]; then strip -o "$to/$(basename "$program")" "$program"; fi
done
{ ldd "$to"/tandem* "$to"/libtandem-*.so 2>/dev/null || true; } | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so|/lib(torch|c10|cud|cu|nv|nccl)[^/]*\.so' |
  while read -r library; do
    strip -o "$to/lib/$(basename "$library")" "$library"
  done
du -sh "$to"
