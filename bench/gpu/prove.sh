#!/bin/bash
# Takes every model of a folder through --fix --prove, and with --unsafe-fixes through --diff --prove, several at once: they
# take turns at the GPU. On a GPU host (test/gpu/README.md), with the zoo materialized:
#
#   bash bench/gpu/prove.sh /tmp/zoo "$OUT"        # then here: node scripts/run.mjs bench/prove.ts --from OUT
#
# Writes FOLDER/safe.jsonl and FOLDER/unsafe.jsonl, a fix report a line.
set -u
zoo=$1
export RESULTS=${2:?}
export SCRATCH=$(mktemp -d)
export TC="sh .gpu-host/run.sh node dist/bin/tc-lint.js --prove --no-color"
mkdir -p "$SCRATCH/fixed" "$SCRATCH/safe" "$SCRATCH/unsafe"
safe() { timeout 250 $TC --fix-only --fix-output "$SCRATCH/fixed/$(basename "$1")" -f json "$1" > "$SCRATCH/safe/$(basename "$1").json"; }
unsafe() { timeout 250 $TC --diff --unsafe-fixes -f json "$1" > "$SCRATCH/unsafe/$(basename "$1").json"; }
export -f safe unsafe
for kind in safe unsafe; do
  ls "$zoo"/*.onnx | xargs -P 8 -I{} bash -c "$kind {}"
  for report in "$SCRATCH/$kind"/*.json; do tr -d '\n' < "$report"; echo; done > "$RESULTS/$kind.jsonl"
done
rm -r "$SCRATCH"
