/** A process that ends before it is sent anything: its exit is what is wrong, not the pipe. */
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { CrashError, runInChild } from "../../src/verify/run-in-child.ts";
import { temporaryFolder } from "../cli/models.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

it("is a crash with its code, however late the parent comes to it", async () => {
  const budget = { kind: "relative", tolerance: 1 } as const;
  const given = { path: "model.onnx", budget, seeds: 1, sizes: {}, inputs: undefined };
  const options = {
    childUrl: pathToFileURL(folder.write("gone.mjs", "process.exit(3);\n")),
    // Read between the child's start and the message: on a busy machine, that is when the parent waits for its turn.
    get memoryBytes(): undefined {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
      return undefined;
    },
  };
  const work = { kind: "reference", task: { ...given, expose: [], threads: 1 } } as const;
  const error: unknown = await runInChild(work, "model.onnx", options).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CrashError);
  expect(String(error)).toContain("ended with code 3");
});
