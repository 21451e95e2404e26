#!/usr/bin/env bash
# Trains examples/digits.yaml on one and on two workers and says whether the results agree.
#   examples/demo.sh FOLDER-OF-BINARIES
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${1:?folder of the binaries}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

for workers in 1 2; do
  echo "examples/digits.yaml on $workers worker(s)"
  "$bin/tandem" run examples/digits.yaml --local "$workers" --workers "$workers" -o json >"$results/$workers"
done

echo
for workers in 1 2; do
  printf '%s worker(s): loss %s   parameters %s\n' "$workers" \
    "$(field "$results/$workers" loss)" "$(field "$results/$workers" parameterDigest)"
done
if [ "$(field "$results/1" loss)" = "$(field "$results/2" loss)" ] &&
  [ "$(field "$results/1" parameterDigest)" = "$(field "$results/2" parameterDigest)" ]; then
  echo 'They agree, bit for bit.'
else
  echo 'They DIFFER.'
  exit 1
fi
