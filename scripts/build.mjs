#!/usr/bin/env node
// Builds dist/: one bundle an entry, shared chunks, and type declarations.
//
//   node scripts/build.mjs [--no-types] [--outdir=FOLDER]
//
// What build-cuda.mjs, pack-gpu.mjs and build-site.mjs put there stays.
//
// The scripts of threads and processes lie in dist/ itself, all other JavaScript one folder below, so that `new URL("../worker.js",
// import.meta.url)` names the worker from an entry and from any chunk alike.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, transform } from "esbuild";
import { licensesOf } from "./licenses.mjs";
import { buildReportPage } from "./report-page.mjs";
import { setApart } from "./set-apart.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values: options } = parseArgs({
  options: { types: { type: "boolean", default: true }, outdir: { type: "string", default: "dist" } },
  allowNegative: true,
});
const dist = resolve(root, options.outdir);

/** Paths of other declarations, as the compiler writes them. */
const specifiers = /(from |import\()"(\.[^"]*)\.ts"/g;
/** What declarations may say that a project's libraries lack, without @types/node or ESNext: stated by the files that say it. */
const lacking = [
  [/\bDisposable\b|\bSymbol\.dispose\b/, '/// <reference lib="esnext.disposable" />'],
  [/\bBuffer\b/, "type Buffer = Uint8Array;"],
  [/\bURL\b/, "type URL = { readonly href: string };"],
];
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
await clear();
const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20",
  // All but native modules is bundled: resolving many files takes longer than linting, and whoever installs tc-lint gets the
  // protobufjs that it was tested with, not the one that onnx-proto asks for (docs/adr/0004).
  external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
  // yargs measures help texts with it; on import it makes an Intl.Segmenter, a third of the time that a start takes.
  // Of assert it needs two functions, and Node reads four modules for it.
  // On import of node:process Node reads all of its exports, and on that of node:crypto seventeen modules.
  alias: {
    "string-width": "./src/report/text-width.ts",
    assert: "./src/report/yargs-assert.ts",
    "node:crypto": "./src/report/late-crypto.ts",
    "node:process": "./src/report/global-process.ts",
  },
  minifyWhitespace: true,
  minifySyntax: true,
  // Node shows the line of an error that nobody caught.
  lineLimit: 200,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};
/** What lies in dist/bin/. */
const script = {
  ...shared,
  outdir: join(dist, "bin"),
  format: "cjs",
  define: { "import.meta.url": "tcLintScriptUrl" },
  // What lies beside it is where the file is, and not beside a link to it, as Node has it with --preserve-symlinks-main.
  banner: {
    js: 'const tcLintScriptUrl=require("node:url").pathToFileURL(require("node:fs").realpathSync.native(__filename)).href;',
  },
};
const forests = await linkForests();
/** What a lint imports when it begins, here or in a thread: the rest of what is imported so is set apart. */
const importedByLint = ["src/cli/run-lint.ts", "src/api/lint-file.ts", "src/api/worker-thread.ts"];
// One script, as V8 keeps the compiled code of scripts (docs/adr/0040). It lies where chunks do, one folder below dist/.
const program = await build({
  ...script,
  entryPoints: { program: "src/cli/program.ts" },
  outExtension: { ".js": ".cjs" },
  plugins: [forests.plugin],
  minifyWhitespace: false,
  write: false,
});
await mkdir(join(dist, "bin"), { recursive: true });
await writeFile(join(dist, "bin", forests.name), forests.bytes);
const builtProgramFile = JSON.stringify(await writeProgram(program));
// No module: to start one, Node prepares its loader of modules, and reads all that node:fs exports.
const executable = await build({
  ...script,
  entryPoints: { "tc-lint": "src/cli/bin.ts" },
  define: { ...script.define, builtProgramFile },
});
await writeFile(join(dist, "bin/package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
// Each in one file: whoever starts a process or a thread waits for it.
const starts = await build({
  ...shared,
  entryPoints: {
    worker: "src/cli/worker.ts",
    "memory-watch": "src/limits/memory-watch.ts",
    "load-watch": "src/limits/load-watch.ts",
    "verify-child": "src/verify/child.ts",
  },
  outdir: dist,
  format: "esm",
  define: { builtProgramFile },
});
const modules = await build({
  ...shared,
  entryPoints: {
    "gpu-child": "src/api/gpu-child.ts",
    "lib/index": "src/index.ts",
    "lib/config": "src/config.ts",
    "action/index": "src/action/index.ts",
    "lib/rules": "src/rules.ts",
  },
  outdir: dist,
  chunkNames: "chunks/[name]-[hash]",
  splitting: true,
  format: "esm",
});
const builds = [program, executable, starts, modules].map(({ metafile }) => metafile);
const metafile = {
  inputs: Object.assign({}, ...builds.map(({ inputs }) => inputs)),
  outputs: Object.assign({}, ...builds.map(({ outputs }) => outputs)),
};
await writeFile(join(dist, "report-page.js"), (await buildReportPage()).text);
await copyFile(join(root, "src/gpu/ladder/peers.py"), join(dist, "ladder-peers.py"));
await chmod(join(dist, "bin/tc-lint.js"), 0o755);
const { texts, names } = await licensesOf(metafile);
await writeFile(join(dist, "THIRD-PARTY-LICENSES.txt"), texts);
await writeFile(join(dist, "bundled.json"), `${JSON.stringify(names, null, 2)}\n`);
if (options.types) await declarations();
for (const [file, { bytes }] of Object.entries(metafile.outputs)) {
  if (!file.includes("/chunks/")) console.log(`${file} ${(bytes / 1024).toFixed(1)} KiB`);
}

/**
 * The committed fit of the program, its trees linked in a file beside it: as text they are a quarter of the script and of its compiled code, and every
 * run would link what it asks. Programs that have no files of their own, the page and a GPU host's, keep the text.
 */
async function linkForests() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["scripts/link-forests.ts"],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
  });
  const source = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
  const { linkedForests } = await import(source);
  const { name, bytes, module } = linkedForests();
  const setup = ({ onLoad }) =>
    onLoad({ filter: /coefficients.h200-cudnn\.ts$/ }, () => ({
      contents: module,
      loader: "js",
      resolveDir: join(root, "src/cost/coefficients"),
    }));
  return { name, bytes, plugin: { name: "linked-forests", setup } };
}

/** Under a name that changes with its text, which it returns. */
async function writeProgram({ outputFiles, metafile }) {
  const { text } = outputFiles[0];
  const apart = setApart(text, metafile.inputs, "src/cli/program.ts", new Set(importedByLint));
  const { minifyWhitespace, lineLimit, legalComments } = shared;
  const { code } = await transform(apart, {
    minifyWhitespace,
    lineLimit,
    legalComments,
    target: shared.target,
  });
  const name = `program-${createHash("sha256").update(code).digest("hex").slice(0, 8)}.cjs`;
  await writeFile(join(dist, "bin", name), inAscii(code));
  return name;
}

/** A script of other characters takes V8 two bytes each, and reading it longer. esbuild escapes them but in tagged templates. */
function inAscii(text) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[^\0-\x7f]/g, escaped);
}

/** All but what other scripts build there: kernels, programs for a GPU host, the page. */
async function clear() {
  await mkdir(dist, { recursive: true });
  const old = (await readdir(dist)).filter((name) => !["cuda", "gpu", "site"].includes(name));
  for (const name of old) await rm(join(dist, name), { recursive: true, force: true });
}

/** Declarations that these need, themselves among them, with their texts. */
async function reachable(entries) {
  const texts = new Map();
  const visit = async (file) => {
    if (texts.has(file)) return;
    const text = await readFile(file, "utf8");
    texts.set(file, text);
    for (const [, , path] of text.matchAll(specifiers)) await visit(join(file, "..", `${path}.d.ts`));
  };
  for (const entry of entries) await visit(entry);
  return texts;
}

/** Type declarations of the public entries, with imports of `.ts` turned into imports of what is there: `.js`. */
async function declarations() {
  const compiler = join(root, "node_modules/typescript-native/bin/tsc");
  const types = join(dist, "types");
  const project = ["-p", join(root, "tsconfig.build.json"), "--outDir", types];
  const { status } = spawnSync(process.execPath, [compiler, ...project], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  const reached = await reachable(
    ["src/index.d.ts", "src/config.d.ts", "src/rules.d.ts"].map((name) => join(types, name)),
  );
  for (const name of await readdir(types, { recursive: true })) {
    const file = join(types, name);
    if (!(await stat(file)).isFile()) continue;
    const declared = reached.get(file);
    // The compiler writes what code needs; the types of the entries need less.
    if (declared === undefined) await rm(file);
    else {
      // A module of Node's, which a consumer's types may lack: what it declares is stated below.
      const text = declared.replace(/^import .* from "node:buffer";\n/gm, "");
      const stated = lacking.filter(([pattern]) => pattern.test(text)).map(([, line]) => `${line}\n`);
      await writeFile(file, stated.join("") + text.replace(specifiers, '$1"$2.js"'));
    }
  }
  console.log(`${relative(root, types)} written`);
}
