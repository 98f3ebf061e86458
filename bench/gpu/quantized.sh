#!/bin/bash
# Quantized models as they are stored beside the FP16 of the floats they were made of, in one run. On a GPU host (test/gpu/README.md),
# with resnet50 and bert of the zoo materialized in FOLDER:
#
#   bash bench/gpu/quantized.sh FOLDER "$OUT"
#
# Makes NAME-qdq.onnx in FOLDER where it is not there, validates it, times both; writes OUT/quantized-NAME.json and prints each ratio.
set -u
folder=$1
out=${2:?}
failed=0
for name in resnet50 bert; do
  floats=$folder/$name.onnx
  codes=$folder/$name-qdq.onnx
  [ -f "$codes" ] || sh .gpu-host/run.sh node dist/gpu/quantize-model.js --runs 4 "$floats" "$codes" || { failed=1; continue; }
  sh .gpu-host/run.sh node dist/bin/tc-lint.js validate --precision as-is "$codes" || failed=1
  for run in "fp16 $floats" "as-is $codes"; do
    set -- $run
    sh .gpu-host/run.sh node dist/bin/tc-lint.js bench --precision "$1" --no-fix -f json -o "$out/$name-$1.json" "$2" || failed=1
  done
  sh .gpu-host/run.sh node - "$name" "$out/$name-fp16.json" "$out/$name-as-is.json" "$out/quantized-$name.json" <<'JS' || failed=1
const { readFileSync, writeFileSync } = require("node:fs");
const [name, ...files] = process.argv.slice(2);
const [half, codes] = files.slice(0, 2).map((file) => JSON.parse(readFileSync(file, "utf8")).configurations[0]);
const [fp16, quantized] = [half, codes].map(({ times }) => times.median);
writeFileSync(files[2], JSON.stringify({ name, fp16, quantized, ratio: fp16 / quantized, half, codes }, null, 1));
console.log(`${name}: FP16 ${fp16} us, quantized ${quantized} us, ${(fp16 / quantized).toFixed(2)} x`);
JS
done
exit $failed
