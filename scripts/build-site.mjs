#!/usr/bin/env node
// Builds dist/site: the page to drop a model on, one file, and the licenses of what is in it: `npm run build:site`.
//
//   node scripts/build-site.mjs [--outdir=FOLDER]
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { licensesOf } from "./licenses.mjs";
import { buildSitePage } from "./site-page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values: options } = parseArgs({ options: { outdir: { type: "string", default: "dist/site" } } });
const folder = resolve(root, options.outdir);
const { text, bytes, metafile } = await buildSitePage();
await mkdir(folder, { recursive: true });
const file = join(folder, "index.html");
await writeFile(file, text);
await writeFile(join(folder, "THIRD-PARTY-LICENSES.txt"), (await licensesOf(metafile)).texts);
const scripts = Object.entries(bytes).map(([name, count]) => `${name} ${(count / 1024).toFixed(1)}`);
console.log(`${file} ${(Buffer.byteLength(text) / 1024).toFixed(1)} KiB (${scripts.join(", ")})`);
