/** @file What the chosen kernel of a product takes. Choosing leaves out what is alike for all kernels. */

import { bytesMoved } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { elementCount } from "../../ir/view.ts";
import type { Choice } from "./choose.ts";
import type { Problem } from "./problem.ts";

/**
 * Clocks of a multiprocessor for a result, tails of tiles included, by neighbours stored at once: on an H200
 * (bench/results/gpu-gemm.json).
 */
const storeClocks = {
  tensor: { 8: 0.06, 2: 0.26, 1: 0.4 },
  // Few warps store what many tiles' products wait for; the model of these kernels has the usual end in it.
  hopper: { 8: 0, 2: 0.6, 1: 0.95 },
} as const;

/** Of the product's own launch. */
export function productMicroseconds(choice: Choice, target: PlanTarget): number {
  const { row, problem, splits, productMicroseconds: modelled } = choice;
  const { m, n, batch, residual } = problem;
  // Partial sums go out as they are, and the kernels of few rows wait for their operands alone.
  if (splits > 1 || (row.kind !== "tensor" && row.kind !== "hopper")) return modelled;
  const blocks = Math.ceil(m / row.m) * Math.ceil(n / row.n) * elementCount(batch);
  const clocks =
    Math.ceil(blocks / target.multiprocessors) * row.m * row.n * storeClocks[row.kind][storeWidth(problem)];
  const residualBytes = residual === undefined ? 0 : bytesMoved([residual.view]);
  return modelled + clocks / target.clocksPerMicrosecond + residualBytes / target.bandwidth.dram;
}

function storeWidth({ d }: Problem): 8 | 2 | 1 {
  const steps = [d.view.offset, d.m, ...d.batch];
  if (d.n !== 1) return 1;
  return ([8, 2] as const).find((width) => steps.every((step) => step % width === 0)) ?? 1;
}
