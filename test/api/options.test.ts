/** What a program gets wrong is an InputError that names it, before anything is read, run or written. */
import { describe, expect, it } from "vitest";
import { listening } from "../../src/api/options.ts";
import { bench, fix, InputError, lint, plan, validate, verify } from "../../src/index.ts";

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** Without types, as JavaScript calls them. */
const calls = { fix, verify, plan, bench, validate, lint } as unknown as Readonly<Record<string, Call>>;

async function failureOf(name: string, args: readonly unknown[]): Promise<unknown> {
  return calls[name]?.(...args).then(
    () => "no failure",
    (error: unknown) => error,
  );
}

describe("options of a program", () => {
  it.each<[string, readonly unknown[], RegExp]>([
    ["fix", [undefined], /^model: found undefined, expected a path/],
    ["fix", [Buffer.from("x")], /^model: found .*expected a path/],
    ["fix", ["a\0b.onnx"], /^model: found .*expected a path/],
    ["fix", ["model.onnx", 5], /^options: found 5, expected an object/],
    ["fix", ["model.onnx", []], /^options: found \[\], expected an object/],
    ["fix", ["model.onnx", null], /^options: found null, expected an object/],
    ["fix", ["model.onnx", { half: "fp8" }], /^options: half: found "fp8", expected one of "fp16", "bf16"/],
    ["fix", ["model.onnx", { output: 5 }], /^options: output: found 5, expected a path/],
    ["fix", ["model.onnx", { dryrun: true }], /^options: dryrun: unknown key.*dryRun/],
    ["fix", ["model.onnx", { memoryBytes: "x" }], /^options: memoryBytes: found "x", expected bytes/],
    ["verify", ["a.onnx", "b.onnx", { half: "no" }], /^options: half: found "no", expected one of/],
    ["verify", ["a.onnx", "b.onnx", { tolerence: 1 }], /^options: tolerence: unknown key.*tolerance/],
    ["verify", ["a.onnx", "b.onnx", { tolerance: -1 }], /^options: tolerance: found -1, expected a share/],
    ["verify", ["a.onnx", "b.onnx", { dims: { n: "x" } }], /^options: dims\.n: found "x", expected/],
    ["verify", ["a.onnx", Buffer.from("x")], /^candidate: found .*expected a path/],
    ["plan", ["a.onnx", { precison: "bf16" }], /^options: precison: unknown key.*precision/],
    ["plan", ["a.onnx", { precision: "fp8" }], /^options: precision: found "fp8", expected one of/],
    ["plan", ["a.onnx", { gpu: 5 }], /^options: gpu: found 5, expected/],
    [
      "plan",
      ["a.onnx", { timeoutSeconds: Number.NaN }],
      /^options: timeoutSeconds: found NaN, expected seconds/,
    ],
    ["bench", ["a.onnx", { onProgress: 5 }], /^options: onProgress: found 5, expected a function/],
    ["bench", [{}], /^model: found \{\}, expected a path/],
    ["validate", ["a.onnx", { precision: "fp8" }], /^options: precision: found "fp8", expected one of/],
    ["validate", ["a.onnx", { dims: { batch: "x" } }], /^options: dims\.batch: found "x", expected/],
    ["lint", ["a.onnx", { scenarios: [] }], /^options: scenarios: unknown key/],
    ["lint", ["a.onnx", 5], /^options: found 5, expected an object/],
  ])("%s(%j)", async (name, args, message) => {
    const error = await failureOf(name, args);
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({ code: "bad-config", message: expect.stringMatching(message) });
  });
});

describe("an error that a listener throws", () => {
  it("ends no process: it is thrown once the work is done, and the listener is not called again", async () => {
    const boom = new Error("boom");
    let calls = 0;
    let done = false;
    const onProgress = () => {
      calls += 1;
      throw boom;
    };
    const work = listening({ onProgress }, async (listeners) => {
      listeners.onProgress("one");
      listeners.onProgress("two");
      listeners.onNotice("nobody listens");
      done = true;
      return 1;
    });
    await expect(work).rejects.toBe(boom);
    expect([calls, done]).toEqual([1, true]);
    expect(await listening({}, async () => 2)).toBe(2);
  });
});
