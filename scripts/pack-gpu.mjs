#!/usr/bin/env node
// Bundles what runs on a GPU host, which has Node and the packages but not this checkout's TypeScript:
//
//   test/gpu/*.ts, bench/gpu/*.ts -> dist/gpu/*.js      test/gpu/cases/*.ts -> dist/gpu/cases/*.js
//
//   node scripts/pack-gpu.mjs && sh .gpu-host/run.sh node dist/gpu/run.js gemm
//
// Files that do not bundle are named, and the rest is built. Exit code 1 then.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "dist", "gpu");
const folders = [
  ["test/gpu", "."],
  ["bench/gpu", "."],
  ["test/gpu/cases", "cases"],
];

rmSync(out, { recursive: true, force: true });
const entries = folders.flatMap(([folder, target]) => {
  const all = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];
  const sources = all.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  return sources.map((file) => ({
    source: join(folder, file),
    target: join(out, target, `${basename(file, ".ts")}.js`),
  }));
});
const failed = [];
for (const { source, target } of entries) {
  try {
    await build({
      absWorkingDir: root,
      entryPoints: [source],
      outfile: target,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      external: ["koffi", "onnxruntime-node"],
      banner: {
        js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);',
      },
      logLevel: "error",
    });
  } catch (error) {
    failed.push(source);
    console.error(`${source}: ${error.message.split("\n")[0]}`);
  }
}
console.log(`${entries.length - failed.length} of ${entries.length} files bundled to dist/gpu`);
process.exitCode = failed.length > 0 ? 1 : 0;
