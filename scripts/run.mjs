#!/usr/bin/env node
// Runs a TypeScript script: node scripts/run.mjs scripts/fit.ts [arguments]
// Node 20 does not strip types, so esbuild bundles the script (packages stay external) beside the dependencies it imports.
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const [entry, ...rest] = process.argv.slice(2);
if (entry === undefined) {
  console.error("usage: node scripts/run.mjs SCRIPT.ts [arguments]");
  process.exit(2);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(root, "node_modules", ".tc-lint-script-"));
const outfile = join(folder, "script.mjs");
// Scripts end by process.exit, too.
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
await build({
  entryPoints: [resolve(entry)],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
});
process.argv = [process.argv[0] ?? "node", resolve(entry), ...rest];
await import(pathToFileURL(outfile).href);
