/** @file Which products one behind another become one launch, and which must not. */
import { expect, test } from "vitest";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { permuted } from "../../../cuda-runtime/ir/view.ts";
import { emitGemm } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { withPairs } from "../../../cuda-runtime/plan/pairs.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

/** Kernels of x W and of what `second` makes of it: an inverted residual's end and the next one's beginning. */
function familiesOf(gpu: string, second: (between: View, weight: (n: number) => View) => View): string[] {
  const target = machineNamed(gpu);
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, target, false);
  const x = draft.allocate("input", "float16", [192, 144]);
  const weight = (n: number, k: number) => {
    const view = draft.allocate("constant", "float16", [n, k]);
    draft.upload({ buffer: view.buffer, offsetBytes: 0, sizeBytes: 0, readInto: () => {} });
    return permuted(view, [1, 0]);
  };
  const between = draft.allocate("temporary", "float16", [192, 64]);
  emitGemm(emitter, { a: x, b: weight(64, 144), to: between });
  const b = second(between, (n) => weight(n, 64));
  emitGemm(emitter, { a: between, b, to: draft.allocate("output", "float16", [192, b.shape[1] ?? 0]) });
  const { steps } = draft.finish((all) => withPairs(all, target));
  return steps.flatMap(({ action }) =>
    action.kind === "launch" && action.launch.kernel.kind === "built" ? [action.launch.kernel.family] : [],
  );
}

test("a product and the one that reads its rows are one launch on Hopper", () => {
  expect(familiesOf("h100", (_, weight) => weight(192))).toEqual(["gemm-pair"]);
  expect(familiesOf("a100", (_, weight) => weight(192))).toHaveLength(2);
});

test("rows by their own transpose are two: all of them have to be there", () => {
  expect(familiesOf("h100", (between) => permuted(between, [1, 0]))).toHaveLength(2);
});
