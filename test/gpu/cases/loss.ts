/** @file Losses on the GPU against loops in double precision. */
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { emitLoss } from "../../../cuda-runtime/kernels/loss/loss.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

const single: Tolerance = { relative: 1e-5, absolute: 1e-4 };

interface LossCase {
  readonly type: StorageType;
  readonly batch: number;
  readonly classes: number;
  readonly spatial: number;
  readonly isSoftmax: boolean;
  readonly isWeighted: boolean;
}

function lossCase(each: LossCase): KernelCase {
  const { type, batch, classes, spatial, isSoftmax, isWeighted } = each;
  return {
    name: `loss ${type} ${batch}x${classes}x${spatial}${isSoftmax ? " softmax" : ""}${isWeighted ? " weighted" : ""}`,
    run: (harness) => runLoss(harness, each),
  };
}

function runLoss(harness: Harness, { type, batch, classes, spatial, isSoftmax, isWeighted }: LossCase): void {
  const input = harness.tensor(type, [batch, classes, spatial], { seed: 9, scale: 3 });
  const numbers = Array.from({ length: batch * spatial }, (_, at) => (7 * at + 1) % classes);
  const labels = harness.tensor("int64", [batch, spatial], { values: numbers });
  const weights = isWeighted ? harness.tensor("float32", [classes], { seed: 2 }) : undefined;
  const losses = harness.output("float32", [batch, spatial]);
  const counts = harness.output("float32", [batch, spatial]);
  const logarithms = isSoftmax ? harness.output(type, [batch, classes, spatial]) : undefined;
  const ignored = 1;
  const outputs = { losses, counts, logarithms };
  emitLoss(harness.emitter, { input, labels, weights, ...outputs, isSoftmax, ignored });
  harness.execute();
  const x = harness.values(input);
  const expectedLosses: number[] = [];
  const expectedCounts: number[] = [];
  const expectedLogarithms = new Float64Array(x.length);
  for (const [at, label] of numbers.entries()) {
    const [n, s] = [Math.floor(at / spatial), at % spatial];
    const indices = Array.from({ length: classes }, (_, c) => (n * classes + c) * spatial + s);
    const sum = indices.reduce((total, index) => total + Math.exp(x[index] ?? 0), 0);
    for (const index of indices)
      expectedLogarithms[index] = (x[index] ?? 0) - (isSoftmax ? Math.log(sum) : 0);
    const weight = label === ignored ? 0 : weights === undefined ? 1 : (harness.values(weights)[label] ?? 0);
    expectedCounts.push(weight);
    expectedLosses.push(-weight * (expectedLogarithms[indices[label] ?? 0] ?? 0));
  }
  harness.expectClose(losses, expectedLosses, single, "losses");
  harness.expectClose(counts, expectedCounts, single, "counts");
  const rounding = type === "float32" ? single : { relative: 1e-2, absolute: 1e-2 };
  if (logarithms !== undefined) harness.expectClose(logarithms, expectedLogarithms, rounding, "logarithms");
}

export const cases: readonly KernelCase[] = [
  lossCase({ type: "float32", batch: 3, classes: 5, spatial: 6, isSoftmax: false, isWeighted: true }),
  lossCase({ type: "float32", batch: 2, classes: 1000, spatial: 7, isSoftmax: true, isWeighted: false }),
  lossCase({ type: "float16", batch: 9, classes: 33, spatial: 1, isSoftmax: true, isWeighted: true }),
];
