#!/usr/bin/env node
// Stands for a Python with PyTorch: answers what src/gpu/ladder/peers.py would, as FAKE_TORCH says.
import { readFileSync } from "node:fs";

const operations = JSON.parse(readFileSync(0, "utf8"));
const mode = process.env.FAKE_TORCH ?? "";
if (mode === "missing") answer({ missing: "No module named 'torch'" });
else if (mode === "late" && operations.length > 0) {
  console.error("CUDA error: out of everything");
  process.exitCode = 3;
} else {
  const rows = operations.map(({ op, channels }, at) =>
    channels === 320 ? { error: "no engine" } : { us: op === "conv" ? 100 + at : 7 },
  );
  answer({ torch: `PyTorch 0.0 on ${process.argv[3]}`, rows });
}

function answer(value) {
  console.log(JSON.stringify(value));
}
