#!/usr/bin/env node
/**
 * @file What tc-lint says and writes about a folder of models, as files in a folder, to be compared with `diff -r` before and
 * after a change that must change nothing: reports in every format, differences, fixed models (as hashes) and plans.
 *
 *   node scripts/outputs.mjs --models FOLDER --out FOLDER [--tool dist/bin/tc-lint.js] [--only part,of,names] [--jobs 2]
 *
 * Fixes need the models' weights; a model without them is linted and planned all the same.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    models: { type: "string" },
    out: { type: "string" },
    tool: { type: "string", default: "dist/bin/tc-lint.js" },
    only: { type: "string", default: "" },
    jobs: { type: "string", default: "2" },
  },
});
const { models: folder, out } = options;
if (folder === undefined || out === undefined) throw new Error("--models and --out are needed");
const tool = path.resolve(options.tool);

const stacks = ["cudnn", "tensorrt", "ort-cuda", "tc-runtime"];
const formats = ["text", "sarif", "markdown", "csv", "github", "gitlab", "junit", "checkstyle", "rdjson"];
const lints = [
  ...stacks.map((stack) => [`lint-${stack}.json`, ["-f", "json", "--stack", stack, "--table"]]),
  ...["t4", "a100", "h100"].map((gpu) => [
    `lint-${gpu}.json`,
    ["-f", "json", "--gpu", gpu, "--precision", "as-is"],
  ]),
  ...formats.map((format) => [`lint.${format}`, ["-f", format]]),
];
const fixes = [
  ["safe", []],
  ["unsafe", ["--unsafe-fixes"]],
  ["fp16", ["--precision", "fp16"]],
  ["bf16", ["--precision", "bf16"]],
  ["nhwc", ["--layout", "nhwc"]],
];
const plans = [
  ["fp16", ["--precision", "fp16"]],
  ["fp16-as-exported", ["--precision", "fp16", "--no-fix"]],
  ["bf16", ["--precision", "bf16"]],
  ["tf32-a100", ["--precision", "tf32", "--gpu", "a100"]],
  ["fp32", ["--precision", "fp32"]],
];

function jobsOf(model) {
  const lint = lints.map(([name, flags]) => ({ name, flags: ["lint", model, "--no-config", ...flags] }));
  const diffs = fixes.map(([name, flags]) => ({
    name: `diff-${name}.text`,
    flags: [model, "--diff", "--no-verify", "--no-config", ...flags],
  }));
  const written = fixes.map(([name, flags]) => ({
    name: `fix-${name}.json`,
    flags: [model, "--fix", "--no-verify", "--no-config", "-f", "json", ...flags],
    writes: true,
  }));
  const planned = plans.map(([name, flags]) => ({
    name: `plan-${name}.json`,
    flags: ["bench", model, "--plan", "--no-config", "-f", "json", ...flags],
  }));
  return [...lint, ...diffs, ...written, ...planned];
}

/** What a run prints and leaves, without what differs from run to run. */
async function outputOf(job) {
  const place = mkdtempSync(path.join(tmpdir(), "outputs-"));
  const flags = job.writes ? [...job.flags, "--fix-output", path.join(place, "fixed.onnx")] : job.flags;
  const { status, stdout, stderr } = await run(flags);
  const files = readdirSync(place)
    .sort()
    .map((name) => `${sha256(readFileSync(path.join(place, name)))} ${name}`);
  rmSync(place, { recursive: true, force: true });
  const text = `exit ${status}\n${stdout}\n--- stderr\n${stderr}\n--- files\n${files.join("\n")}\n`;
  // A fingerprint counts the folder in, which is another one each time.
  const same = job.writes ? text.replaceAll(/"fingerprint": "[0-9a-f]+"/g, '"fingerprint": ""') : text;
  return same.replaceAll(place, "OUT");
}

function run(flags) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [tool, ...flags], {
      cwd: folder,
      env: { ...process.env, NO_COLOR: "1", COLUMNS: "120" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const parts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => {
        parts[name] += text;
      });
    }
    child.on("close", (status) => resolve({ status, ...parts }));
  });
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

const wanted = options.only.split(",");
const names = readdirSync(folder).filter(
  (name) => name.endsWith(".onnx") && wanted.some((part) => name.includes(part)),
);
const queue = names.flatMap((name) => jobsOf(name).map((job) => ({ ...job, model: name })));
const total = queue.length;
async function work() {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    const target = path.join(out, path.basename(job.model, ".onnx"));
    mkdirSync(target, { recursive: true });
    writeFileSync(path.join(target, job.name), await outputOf(job));
    if (queue.length % 100 === 0) process.stderr.write(`${total - queue.length} of ${total}\n`);
  }
}
await Promise.all(Array.from({ length: Number(options.jobs) }, work));
console.log(`${names.length} models, ${total} outputs in ${out}`);
