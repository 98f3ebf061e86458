#!/usr/bin/env node
// Builds the CUDA runtime's kernels: cuda-runtime/kernels/<family>/<family>.cu -> dist/cuda/<family>.fatbin, and beside
// it <family>.json: registers, spills and Tensor Core instructions of every entry.
//
//   node scripts/build-cuda.mjs [--arch 90a,80] [--family gemm,conv] [--jobs 2]
//
// A family is compiled to PTX once for all architectures that take the same branches of its source, and to machine code
// once for all that run the same (cuda-targets.mjs); results are kept in .cache/cuda by the hash of the source, the headers
// it includes, the flags and the compiler, so that only what changed is compiled. A family whose source says
//
//   // hot: gemm_tile_*, gemm_split
//
// names entries (patterns with *) that must not spill registers. One that says
//
//   // only: 90a
//
// is for these architectures alone. One that says `// on demand` is built where --family names it, and is no part of
// what ships. Warnings that wgmma runs serialized, or that setmaxnreg
// is ignored, fail the build wherever they appear. Exit codes: 0 built, 1 does not compile, 2 there is no compiler.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { allArchitectures, frontEndOf, machineCodeOf } from "./cuda-targets.mjs";
import { entriesOf, warningsOf } from "./ptxas-log.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const kernels = join(root, "cuda-runtime", "kernels");
const dist = join(root, "dist", "cuda");
const cache = join(root, ".cache", "cuda");

/** GPUs without machine code of their own compile this at load. */
const ptxArchitecture = "80";
const flags = ["-std=c++17", "-O3"];
const assemblerFlags = ["-m64", "-v"];
const onlyPattern = /^\s*\/\/ only:(.*)$/m;
const onDemandPattern = /^\s*\/\/ on demand$/m;
const hotPattern = /^\s*\/\/ hot:(.*)$/gm;
const fatalWarning = /C75(?:07|08|1\d)|wgmma\S* instructions are serialized|setmaxnreg ignored/i;

const { values: options } = parseArgs({
  options: { arch: { type: "string" }, family: { type: "string" }, jobs: { type: "string", default: "2" } },
});
const architectures = listOf(options.arch) ?? allArchitectures;
const unknown = architectures.filter((arch) => !allArchitectures.includes(arch));
if (unknown.length > 0) fail(2, `--arch ${unknown.join(",")}: there are ${allArchitectures.join(", ")}`);

const families = readdirSync(kernels)
  .filter((name) => existsSync(join(kernels, name, `${name}.cu`)))
  .filter((name) => listOf(options.family)?.includes(name) ?? !isOnDemand(name))
  .sort();
const tools = findTools();
mkdirSync(dist, { recursive: true });
mkdirSync(cache, { recursive: true });

const start = performance.now();
const tasks = families.flatMap(tasksOf);
const failures = await inParallel(piecesOf(tasks), Number(options.jobs), compile);
const broken = new Set(failures.map(({ item: [{ family }] }) => family));
await inParallel(
  families.filter((name) => !broken.has(name)),
  Number(options.jobs),
  link,
);
const seconds = ((performance.now() - start) / 1000).toFixed(1);
for (const { message } of failures) console.error(message);
console.log(`${families.length - broken.size} of ${families.length} kernel families built (${seconds} s)`);
process.exitCode = broken.size > 0 ? 1 : 0;

/** Machine code to be made of a family: once for all architectures that run it. */
function tasksOf(family) {
  const source = join(kernels, family, `${family}.cu`);
  const { hash, text } = readWhole(source);
  const only = listOf(onlyPattern.exec(readFileSync(source, "utf8"))?.[1]);
  const wanted = architectures.filter((arch) => only?.includes(arch) ?? true);
  return [...new Set(wanted.map((arch) => machineCodeOf(text, arch)))].map((arch) => {
    const frontEnd = frontEndOf(text, arch);
    // What front end it takes is no part of the source.
    return { family, arch, source, frontEnd, stem: `${family}-${arch}-of-${frontEnd}-${hash}` };
  });
}

/** Those of one PTX together. */
function piecesOf(all) {
  const pieces = new Map();
  for (const task of all) {
    const key = `${task.family} ${task.frontEnd}`;
    pieces.set(key, [...(pieces.get(key) ?? []), task]);
  }
  return [...pieces.values()];
}

function isOnDemand(family) {
  return onDemandPattern.test(readFileSync(join(kernels, family, `${family}.cu`), "utf8"));
}

/** The compiler, and the tools that lie beside it. */
function findTools() {
  const nvcc = process.env.NVCC ?? "nvcc";
  const version = spawnSync(nvcc, ["--version"], { encoding: "utf8" });
  if (version.status !== 0) {
    fail(
      2,
      "the kernels are not built: there is no nvcc. Install CUDA's compiler (13.0 or later), put nvcc on the PATH or " +
        "name it by NVCC. Everything but the GPU commands works without it.",
    );
  }
  const dryRun = spawnSync(nvcc, ["--dryrun", "-ptx", "any.cu"], { encoding: "utf8" });
  const [, folder] = /^#\$ _HERE_=(.+)$/m.exec(dryRun.stderr) ?? [];
  if (folder === undefined) fail(2, `${nvcc} --dryrun does not say where it lies`);
  const beside = (name) => join(folder, name);
  return { nvcc, ptxas: beside("ptxas"), fatbinary: beside("fatbinary"), version: version.stdout };
}

/** The source and all that it includes by "…", and the hash of that and of how it is compiled. */
function readWhole(source) {
  const hash = createHash("sha256")
    .update(tools.version)
    .update([...flags, ...assemblerFlags].join(" "));
  const seen = new Set();
  let whole = "";
  const visit = (file) => {
    if (seen.has(file) || !existsSync(file)) return;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    whole += text;
    hash.update(relative(kernels, file)).update("\0").update(text);
    for (const [, included] of text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm))
      visit(resolve(dirname(file), included));
  };
  visit(source);
  return { hash: hash.digest("hex").slice(0, 16), text: whole };
}

/** Compiles a family to one PTX, and that to machine code of several architectures, unless that is done. Returns what went wrong. */
async function compile(piece) {
  const missing = piece.filter(({ stem }) => !existsSync(join(cache, `${stem}.json`)));
  if (missing.length > 0) {
    const folder = mkdtempSync(join(cache, "build-"));
    try {
      const wrong = await compileTo(folder, missing);
      if (wrong !== undefined) return wrong;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const problems = piece.flatMap(({ family, arch, source, stem }) => {
    const report = JSON.parse(readFileSync(join(cache, `${stem}.json`), "utf8"));
    return problemsOf(family, arch, source, report) ?? [];
  });
  return problems.length === 0 ? undefined : problems.join("\n");
}

async function compileTo(folder, piece) {
  const [{ family, source, frontEnd }] = piece;
  const shared = await ptxOf(folder, source, family, frontEnd);
  if (shared.problem !== undefined) return shared.problem;
  for (const { arch, stem } of piece) {
    const cubin = join(cache, `${stem}.cubin`);
    let made = await assemble(shared, family, arch, cubin);
    // A few more registers are what a front end of its own may save.
    if (made.report !== undefined && hotSpills(source, made.report).length > 0 && arch !== frontEnd) {
      const own = await ptxOf(folder, source, family, arch);
      made = own.problem === undefined ? await assemble(own, family, arch, cubin) : own;
    }
    if (made.problem !== undefined) return made.problem;
    if (arch === ptxArchitecture) writeFileSync(join(cache, `${stem}.ptx`), shared.ptx);
    writeFileSync(join(cache, `${stem}.json`), JSON.stringify(made.report));
    forget(family, arch, stem);
  }
  return undefined;
}

/** By the front end: of an architecture, or what is wrong with the source. */
async function ptxOf(folder, source, family, frontEnd) {
  const seconds = stopwatch();
  const file = join(folder, `${family}-${frontEnd}.ptx`);
  const { status, log } = await run(tools.nvcc, [
    ...flags,
    "-ptx",
    `-arch=compute_${frontEnd}`,
    "-o",
    file,
    source,
  ]);
  if (status !== 0) return { problem: `${family} does not compile to PTX of ${frontEnd}:\n${log}` };
  console.log(`${family} PTX of ${frontEnd} (${seconds()} s)`);
  return { file, log, ptx: readFileSync(file, "utf8") };
}

/** Machine code in a file; what came of it, or what is wrong. */
async function assemble({ file, log, ptx }, family, arch, cubin) {
  const seconds = stopwatch();
  const made = await run(tools.ptxas, [...assemblerFlags, "-arch", `sm_${arch}`, "-o", cubin, file]);
  if (made.status !== 0) return { problem: `${family} does not compile for sm_${arch}:\n${made.log}` };
  const report = { warnings: warningsOf(log + made.log), entries: entriesOf(made.log, ptx) };
  console.log(`${family} sm_${arch}: ${Object.keys(report.entries).length} entries (${seconds()} s)`);
  return { report };
}

/** Seconds since it was made. */
function stopwatch() {
  const begin = performance.now();
  return () => ((performance.now() - begin) / 1000).toFixed(1);
}

/** Earlier results of the same family and architecture. */
function forget(family, arch, stem) {
  const old = readdirSync(cache).filter(
    (name) => name.startsWith(`${family}-${arch}-`) && !name.startsWith(stem),
  );
  for (const name of old) rmSync(join(cache, name), { force: true });
}

function problemsOf(family, arch, source, report) {
  const hot = hotSpills(source, report);
  for (const [name, { spillBytes }] of Object.entries(report.entries)) {
    if (spillBytes > 0 && !hot.includes(name))
      console.warn(`${family} sm_${arch}: ${name} spills ${spillBytes} bytes`);
  }
  const problems = [
    ...report.warnings.filter((line) => fatalWarning.test(line)),
    ...hot.map((name) => `hot entry ${name} spills ${report.entries[name].spillBytes} bytes`),
  ];
  return problems.length === 0 ? undefined : `${family} sm_${arch}:\n  ${problems.join("\n  ")}`;
}

/** Names of entries that must not spill, and do. */
function hotSpills(source, { entries }) {
  const patterns = [...readFileSync(source, "utf8").matchAll(hotPattern)]
    .flatMap(([, names = ""]) => listOf(names) ?? [])
    .map((name) => new RegExp(`^${name.replaceAll("*", "\\w*")}$`));
  return Object.keys(entries).filter(
    (name) => entries[name].spillBytes > 0 && patterns.some((pattern) => pattern.test(name)),
  );
}

/** One file of all architectures; none where the family is for others. */
async function link(family) {
  const own = tasks.filter((task) => task.family === family);
  if (own.length === 0) {
    for (const kind of ["fatbin", "json"]) rmSync(join(dist, `${family}.${kind}`), { force: true });
    return;
  }
  const images = own.map(
    ({ arch, stem }) => `--image3=kind=elf,sm=${arch},file=${join(cache, `${stem}.cubin`)}`,
  );
  const ptx = own.find(({ arch }) => arch === ptxArchitecture);
  if (ptx !== undefined)
    images.push(`--image3=kind=ptx,sm=${ptxArchitecture},file=${join(cache, `${ptx.stem}.ptx`)}`);
  const target = join(dist, `${family}.fatbin`);
  const how = [`--create=${target}`, "-64", "--compress-mode=size"];
  const { status, log } = await run(tools.fatbinary, [...how, ...images]);
  if (status !== 0) fail(1, `${family}: fatbinary failed: ${log}`);
  const entries = own.map(({ arch, stem }) => [
    arch,
    JSON.parse(readFileSync(join(cache, `${stem}.json`), "utf8")).entries,
  ]);
  writeFileSync(join(dist, `${family}.json`), `${JSON.stringify(Object.fromEntries(entries))}\n`);
}

async function inParallel(items, jobs, work) {
  const queue = [...items];
  const failures = [];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const message = await work(item);
      if (message !== undefined) failures.push({ item, message });
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, worker));
  return failures;
}

function run(command, parameters) {
  return new Promise((done, reject) => {
    const child = spawn(command, parameters, { stdio: ["ignore", "pipe", "pipe"] });
    let log = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text) => {
        log += text;
      });
    }
    child.once("error", reject);
    child.once("close", (status) => done({ status, log }));
  });
}

function listOf(text) {
  const parts = text?.split(",").map((part) => part.trim());
  return parts?.filter((part) => part !== "");
}

function fail(code, message) {
  console.error(message);
  process.exit(code);
}
