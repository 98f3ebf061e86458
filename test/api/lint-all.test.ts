/** Whether threads are started: they take longer to come to work than the main thread takes for a few small models. */
import { afterAll, expect, test } from "vitest";
import { type LintAllOptions, lintAll } from "../../src/api/lint-all.ts";
import { planOf } from "../../src/api/options.ts";
import { bytesOf, cleanModel, headModel, temporaryFolder } from "../cli/models.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const small = folder.write("small.onnx", bytesOf(cleanModel()));
const broken = folder.write("broken.onnx", bytesOf(headModel()).subarray(0, 60));
const large = folder.write("large.onnx", Buffer.concat([bytesOf(cleanModel()), Buffer.alloc(2 ** 16)]));
/** Threads that answer "in a thread" to whatever they are sent. */
const script = `
import { parentPort } from "node:worker_threads";
const nothing = { findings: [], groups: [], account: [], notices: [], symbols: {}, predicted: {} };
parentPort.on("message", () => parentPort.postMessage({ report: { ...nothing, error: { code: "in a thread" } } }));
`;
const workerUrl = new URL(`file://${folder.write("worker.mjs", script)}`);

/** Error codes, in order. */
async function codesOf(paths: readonly string[], options: Partial<LintAllOptions> = {}) {
  const outcomes = await lintAll(
    paths.map((path) => planOf(path, {})),
    {
      workerUrl,
      jobs: undefined,
      limits: {},
      onProgress: () => {},
      whileThreadsRun: (work) => work(),
      ...options,
    },
  );
  return outcomes.map(({ report }) => report.error?.code ?? null);
}

test("a few small models are linted in order, without a thread; one that fails stops no other", async () => {
  expect(await codesOf([small, broken, small, "nowhere.onnx"])).toEqual([
    null,
    "truncated",
    null,
    "not-found",
  ]);
});

test.each<readonly [what: string, paths: readonly string[], options: Partial<LintAllOptions>]>([
  ["of more than 64 KiB together", [small, large], {}],
  ["of which as many are linted at once as was asked for", [small, small], { jobs: 1 }],
])("models %s are linted in threads", async (_, paths, options) => {
  expect(await codesOf(paths, options)).toEqual(["in a thread", "in a thread"]);
});
