/** What `--fix` says that a file saves as it is written is what `compare` says of the two files. */
import { expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import type { ModelComparison } from "../../src/compare/result.ts";
import type { AccountStep } from "../../src/workload/account.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

/** What its convolutions gain by half precision, its Casts may take. */
const small = model({ name: "small", opset: 17 }, (graph) => {
  const values = Array.from({ length: 96 * 96 * 3 }, (_, at) => (at % 7) / 7 - 0.4);
  let x = graph.input("x", [1, 96, 1024]);
  for (let layer = 0; layer < 4; layer++)
    x = graph.node("Relu", [
      graph.node("Conv", [x, graph.weight([96, 96, 3], { values })], { pads: [1, 1] }),
    ]);
  graph.output(x);
});

test("a file and what --fix wrote of it are told apart by one figure, and by one verdict", async () => {
  bench.folder.write("small.onnx", small);
  const asked = ["--fix", "--precision", "fp16", "--no-verify", "--fix-only", "--fix-output", "half.onnx"];
  const fixed = await bench.tcLint(["small.onnx", ...asked, "-f", "json"]);
  const account: readonly AccountStep[] = JSON.parse(fixed.stdout).fixes[0].account;
  const written = account.find(({ step }) => step === "kept")?.written;
  const { stdout } = await bench.tcLint(["compare", "small.onnx", "half.onnx", "-f", "json"]);
  const { stored, time, verdict }: ModelComparison = JSON.parse(stdout).models[0];
  expect([time?.verdict, verdict]).toEqual(["slower", "unclear"]);
  expect(written?.microseconds).toBeCloseTo(-(stored?.time.microseconds ?? 0), 6);
  expect(written?.low).toBeCloseTo(-(stored?.time.high ?? 0), 6);
  expect(written?.high).toBeCloseTo(-(stored?.time.low ?? 0), 6);
  for (const format of ["text", "markdown"]) {
    const { stdout: said } = await bench.tcLint(["compare", "small.onnx", "half.onnx", "-f", format]);
    expect(said).toMatch(/nothing moved beyond its interval in the types that the files store/i);
  }
});
