import { expect, test } from "vitest";
import { rules } from "../../rules/index.ts";
import type { Progress } from "../../src/api/tally.ts";
import { lintInPool, type PoolOptions } from "../../src/api/worker-pool.ts";
import type { LintPlan } from "../../src/settings/lint-plan.ts";
import { resolveSettings } from "../../src/settings/resolve.ts";
import { temporaryFolder } from "../cli/models.ts";

/** Does what the path says, and counts how many models the thread has had. */
const script = `
import { parentPort } from "node:worker_threads";
let count = 0;
parentPort.on("message", ({ path }) => {
  if (path === "exit") process.exit(3);
  if (path === "throw") throw new Error("boom");
  if (path === "hang") for (;;);
  if (path === "heap") for (const all = []; ; ) all.push([path]);
  if (path === "memory") throw Object.assign(new Error("heap"), { code: "ERR_WORKER_OUT_OF_MEMORY" });
  count += 1;
  const answer = () => parentPort.postMessage({ report: { path, error: null }, bound: [String(count)] });
  path.startsWith("slow") ? setTimeout(answer, 50) : answer();
});`;

function planOf(path: string): LintPlan {
  return {
    path,
    settings: resolveSettings(path, undefined, {}, rules),
    layers: false,
    verbose: false,
    mustHave: [],
  };
}

async function runPool(paths: readonly string[], size: number, limits: PoolOptions["limits"] = {}) {
  using folder = temporaryFolder();
  const workerUrl = new URL(`file://${folder.write("worker.mjs", script)}`);
  const progress: Progress[] = [];
  const outcomes = await lintInPool(paths.map(planOf), {
    workerUrl,
    size,
    limits,
    onProgress: (each) => progress.push(each),
  });
  return { outcomes, progress };
}

test("outcomes keep the order of the plans, whoever is done first", async () => {
  const paths = ["slow1", "a", "b", "slow2", "c"];
  const { outcomes, progress } = await runPool(paths, 2);
  expect(outcomes.map(({ report }) => report.path)).toEqual(paths);
  expect(progress.at(-1)).toEqual({ done: 5, total: 5, running: [] });
  expect(Math.max(...progress.map(({ running }) => running.length))).toBe(2);
});

test("one thread serves model after model", async () => {
  const { outcomes } = await runPool(["a", "b", "c"], 1);
  expect(outcomes.map(({ bound }) => bound)).toEqual([["1"], ["2"], ["3"]]);
});

test("what a model is refused for is said without a thread, which may be late to start", async () => {
  const refused = { code: "timeout", message: "lint/acme.mjs: loading it was stopped after 1 s" };
  const plan: LintPlan = { ...planOf("hang"), refused };
  using folder = temporaryFolder();
  const workerUrl = new URL(`file://${folder.write("worker.mjs", script)}`);
  const limits = { timeoutSeconds: 0.05 };
  const outcomes = await lintInPool([plan, plan], { workerUrl, size: 2, limits, onProgress: () => {} });
  expect(outcomes.map(({ report }) => report.error)).toEqual([refused, refused]);
});

test("a lost thread is that model's error; a new thread goes on", async () => {
  const { outcomes } = await runPool(["a", "exit", "b", "throw", "memory", "c"], 1);
  expect(outcomes.map(({ report }) => report.error?.code ?? null)).toEqual([
    null,
    "internal-error",
    null,
    "internal-error",
    "out-of-memory",
    null,
  ]);
  expect(outcomes[1]?.report.error?.message).toBe("exit: tc-lint bug: its worker thread ended with code 3");
  expect(outcomes[3]?.bug).toContain("Error: boom");
  expect(outcomes[4]?.bug).toBeUndefined();
  expect(outcomes[5]?.bound).toEqual(["1"]);
});

test("what takes too long, or too much memory, is stopped by name, and the rest goes on", async () => {
  const limits = { timeoutSeconds: 10, memoryBytes: 2 ** 26 };
  const { outcomes } = await runPool(["a", "hang", "b", "heap", "c"], 1, limits);
  expect(outcomes.map(({ report }) => report.error?.code ?? null)).toEqual([
    null,
    "timeout",
    null,
    "out-of-memory",
    null,
  ]);
  expect(outcomes[1]?.report.error?.message).toBe(
    "hang: linting it was stopped after 10 s; --timeout allows more",
  );
  expect(outcomes[3]?.report.error?.message).toMatch(
    /^heap: linting it was stopped: it takes more than 64 MiB/,
  );
});
