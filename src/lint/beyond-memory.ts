/** @file Sizes that the target has no memory for: what is priced there does not run. */

import { wholeGiB } from "../hardware/bytes.ts";
import { bytesOf } from "../ir/dtype.ts";
import { isHalf } from "../ir/fix-command.ts";
import { compact } from "../ir/format.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import { graphsOf } from "../ir/nodes.ts";
import type { Workload } from "../workload/workload.ts";
import type { NoticeReport } from "./result.ts";

/** At the least: the weights alone, or what one kernel reads and writes, which is all there while it runs. */
export function memoryBeyondNotices(workload: Workload): NoticeReport[] {
  const { gpu } = workload.target;
  const held = [weightsOf(workload), largestOf(workload)].find(({ bytes }) => bytes > gpu.memoryBytes);
  if (held === undefined) return [];
  const message = `${held.what} ${compact(held.bytes)}B at the least, and ${gpu.name} has ${wholeGiB(gpu.memoryBytes)} GiB: at these sizes the model does not run there, whatever is predicted`;
  return [{ code: "beyond-memory", message }];
}

interface Held {
  readonly what: string;
  readonly bytes: number;
}

function largestOf({ timeline: { steps } }: Workload): Held {
  let largest: (typeof steps)[number] | undefined;
  for (const step of steps)
    if (largest === undefined || step.estimate.bytes > largest.estimate.bytes) largest = step;
  const node = largest?.nodes[0];
  const name = node === undefined ? "a kernel" : `"${labelOf(node)}" (${operatorOf(node)})`;
  return { what: `${name} holds`, bytes: largest?.estimate.bytes ?? 0 };
}

/** Floats are no more than half of what a file in FP32 stores where the target computes in half. */
function weightsOf({ model, target }: Workload): Held {
  const part = isHalf(target.precision) ? 0.5 : 1;
  let bytes = 0;
  for (const { values } of graphsOf(model))
    for (const { initializer } of values.values()) {
      if (initializer?.dtype === undefined) continue;
      const elements = initializer.dims.reduce((total, dim) => total * dim, 1);
      bytes += bytesOf(initializer.dtype, elements) * (initializer.dtype === "float32" ? part : 1);
    }
  return { what: "its weights are", bytes };
}
