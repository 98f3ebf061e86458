#!/usr/bin/env node
// Everything that must hold before a change lands: `npm run test:all`. Prints one closing line: N passed, N failed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "out");
const results = join(out, "vitest.json");
mkdirSync(out, { recursive: true });
rmSync(results, { force: true });

/** Files that scripts write and that are committed: regenerated here, so that stale ones show as a difference. */
const generators = ["fixtures", "docs", "schemas", "kernels"];

const steps = [
  ["types", ["npm", "run", "-s", "typecheck"]],
  ["format and lint", ["npm", "run", "-s", "lint"]],
  ["import directions", ["npm", "run", "-s", "deps"]],
  ["operators by name", ["npm", "run", "-s", "operator-names"]],
  ["generated files", generatedFiles],
  ["build", ["npm", "run", "-s", "build"]],
  ["package", ["npx", "publint", "--strict", "--pack", "npm"]],
  ["tests", tests],
];

const failed = [];
for (const [name, step] of steps) {
  console.log(`\n== ${name}`);
  const start = performance.now();
  const ok = typeof step === "function" ? step() : run(step);
  console.log(`== ${name}: ${ok ? "ok" : "FAILED"} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  if (!ok) failed.push(name);
}
const counts = readCounts();
if (failed.length > 0) console.log(`\nfailed: ${failed.join(", ")}`);
// A failed step other than the tests counts as one failure: the closing line never reads as clean when it is not.
const others = failed.filter((name) => name !== "tests").length;
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
console.log(`${counts.passed} passed, ${counts.failed + others} failed${skipped}`);
process.exit(failed.length > 0 || counts.passed === 0 ? 1 : 0);

function run([command, ...parameters]) {
  return spawnSync(command, parameters, { cwd: root, stdio: "inherit" }).status === 0;
}

function generatedFiles() {
  // What differs from the commit already is work in progress, not a stale file.
  const before = changes();
  const ok = generators.map((script) => run(["npm", "run", "-s", script])).every(Boolean);
  const after = changes();
  if (after !== before)
    console.log(`stale; run: ${generators.map((name) => `npm run ${name}`).join("; ")}\n${after}`);
  return ok && after === before;
}

/** State of the working tree: which files differ from the commit, and how. */
function changes() {
  const git = (...parameters) =>
    spawnSync("git", parameters, { cwd: root, encoding: "utf8", maxBuffer: 1 << 30 }).stdout;
  return git("status", "--porcelain") + git("diff");
}

function tests() {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${results}`];
  return run(["npx", "vitest", "run", ...reporters]);
}

/** Counts of the test run; a run that wrote none counts as one failure. */
function readCounts() {
  if (!existsSync(results)) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(readFileSync(results, "utf8"));
  // A file that fails to load has no failed test, yet its suite did fail.
  const failed = Math.max(report.numFailedTests, report.success ? 0 : 1);
  return { passed: report.numPassedTests, failed, skipped: report.numPendingTests + report.numTodoTests };
}
