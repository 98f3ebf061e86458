#!/usr/bin/env node
// Builds the CUDA runtime's kernels: cuda-runtime/kernels/<family>/<family>.cu -> dist/cuda/<family>.fatbin, and beside
// it <family>.json: registers, spills and Tensor Core instructions of every entry.
//
//   node scripts/build-cuda.mjs [--arch 90a,80] [--family gemm,conv] [--jobs 2]
//
// A family is compiled once an architecture; results are kept in .cache/cuda by the hash of the source, the headers it
// includes, the flags and the compiler, so that only what changed is compiled. A family whose source says
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

const root = fileURLToPath(new URL("..", import.meta.url));
const kernels = join(root, "cuda-runtime", "kernels");
const dist = join(root, "dist", "cuda");
const cache = join(root, ".cache", "cuda");

const allArchitectures = ["75", "80", "86", "89", "90a", "100", "120"];
/** GPUs without machine code of their own compile this at load. */
const ptxArchitecture = "80";
const flags = ["-std=c++17", "-O3", "-Xptxas", "-v"];
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
const tasks = families.flatMap((family) => {
  const source = join(kernels, family, `${family}.cu`);
  const hash = hashOf(source);
  const only = listOf(onlyPattern.exec(readFileSync(source, "utf8"))?.[1]);
  return architectures
    .filter((arch) => only?.includes(arch) ?? true)
    .map((arch) => ({ family, arch, source, stem: `${family}-${arch}-${hash}` }));
});
const failures = await inParallel(tasks, Number(options.jobs), compile);
const broken = new Set(failures.map(({ family }) => family));
for (const family of families.filter((name) => !broken.has(name))) link(family);
const seconds = ((performance.now() - start) / 1000).toFixed(1);
for (const { message } of failures) console.error(message);
console.log(`${families.length - broken.size} of ${families.length} kernel families built (${seconds} s)`);
process.exitCode = broken.size > 0 ? 1 : 0;

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
  return { nvcc, fatbinary: join(folder, "fatbinary"), version: version.stdout };
}

/** Of the source, all that it includes by "…", and how it is compiled. */
function hashOf(source) {
  const hash = createHash("sha256").update(tools.version).update(flags.join(" "));
  const seen = new Set();
  const visit = (file) => {
    if (seen.has(file) || !existsSync(file)) return;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    hash.update(relative(kernels, file)).update("\0").update(text);
    for (const [, included] of text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm))
      visit(resolve(dirname(file), included));
  };
  visit(source);
  return hash.digest("hex").slice(0, 16);
}

/** Compiles one family for one architecture, unless that is done. Returns what went wrong. */
async function compile({ family, arch, source, stem }) {
  const done = join(cache, `${stem}.json`);
  if (existsSync(done)) return problemsOf(family, arch, source, JSON.parse(readFileSync(done, "utf8")));
  const folder = mkdtempSync(join(cache, "build-"));
  try {
    const cubin = join(cache, `${stem}.cubin`);
    const target = ["-gencode", `arch=compute_${arch},code=sm_${arch}`];
    const keep = ["--keep", "--keep-dir", folder];
    const { status, log } = await run(tools.nvcc, [
      ...flags,
      ...target,
      "-cubin",
      ...keep,
      "-o",
      cubin,
      source,
    ]);
    if (status !== 0) return `${family} does not compile for sm_${arch}:\n${log}`;
    const ptx = readFileSync(join(folder, `${family}.ptx`), "utf8");
    if (arch === ptxArchitecture) writeFileSync(join(cache, `${stem}.ptx`), ptx);
    const report = { warnings: warningsOf(log), entries: entriesOf(log, ptx) };
    writeFileSync(done, JSON.stringify(report));
    forget(family, arch, stem);
    console.log(`${family} sm_${arch}: ${Object.keys(report.entries).length} entries`);
    return problemsOf(family, arch, source, report);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Earlier results of the same family and architecture. */
function forget(family, arch, stem) {
  const old = readdirSync(cache).filter(
    (name) => name.startsWith(`${family}-${arch}-`) && !name.startsWith(stem),
  );
  for (const name of old) rmSync(join(cache, name), { force: true });
}

function warningsOf(log) {
  const lines = log.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter((line) => /warning|C75\d\d/i.test(line)))];
}

/** What ptxas says of each entry, and the Tensor Core instruction in it. */
function entriesOf(log, ptx) {
  const tensor = tensorInstructions(ptx);
  const entries = {};
  for (const part of log.split(/Compiling entry function '/).slice(1)) {
    const name = part.slice(0, part.indexOf("'"));
    const number = (pattern) => Number(pattern.exec(part)?.[1] ?? 0);
    entries[name] = {
      registers: number(/Used (\d+) registers/),
      sharedBytes: number(/(\d+) bytes smem/),
      spillBytes: number(/(\d+) bytes spill stores/) + number(/(\d+) bytes spill loads/),
      tensor: tensor.get(name) ?? null,
    };
  }
  return entries;
}

function tensorInstructions(ptx) {
  const found = new Map();
  for (const part of ptx.split(/^\.visible \.entry /m).slice(1)) {
    const [name] = /^[\w$]+/.exec(part) ?? [""];
    if (/\bwgmma\.mma_async/.test(part)) found.set(name, "wgmma");
    else if (/\bmma\.sync/.test(part)) found.set(name, "mma");
  }
  return found;
}

function problemsOf(family, arch, source, { warnings, entries }) {
  const hot = [...readFileSync(source, "utf8").matchAll(hotPattern)]
    .flatMap(([, names = ""]) => listOf(names) ?? [])
    .map((name) => new RegExp(`^${name.replaceAll("*", "\\w*")}$`));
  const spilling = Object.entries(entries).filter(([, { spillBytes }]) => spillBytes > 0);
  const isHot = ([name]) => hot.some((pattern) => pattern.test(name));
  for (const [name, { spillBytes }] of spilling.filter((entry) => !isHot(entry)))
    console.warn(`${family} sm_${arch}: ${name} spills ${spillBytes} bytes`);
  const problems = [
    ...warnings.filter((line) => fatalWarning.test(line)),
    ...spilling.filter(isHot).map(([name, { spillBytes }]) => `hot entry ${name} spills ${spillBytes} bytes`),
  ];
  return problems.length === 0 ? undefined : `${family} sm_${arch}:\n  ${problems.join("\n  ")}`;
}

/** One file of all architectures; none where the family is for others. */
function link(family) {
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
  const { status, stderr } = spawnSync(
    tools.fatbinary,
    [`--create=${target}`, "-64", "--compress-mode=size", ...images],
    { encoding: "utf8" },
  );
  if (status !== 0) fail(1, `${family}: fatbinary failed: ${stderr}`);
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
      if (message !== undefined) failures.push({ ...item, message });
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
