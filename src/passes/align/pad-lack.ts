/** @file Whether the target's stack runs the Pads that padding puts at inputs. */
import { computeDtype } from "../../cost/precision.ts";
import { hasKernel } from "../../hardware/stacks.ts";
import type { Target } from "../../hardware/target.ts";
import type { DType } from "../../ir/dtype.ts";
import { emitted } from "../../ops/emitted.ts";

/** In its newest opset: what there is no kernel of in an older one there is none of in any. */
export function padLack(dtype: DType, { stack }: Pick<Target, "stack">): string | undefined {
  const type = computeDtype(dtype, "as-is");
  const runs = hasKernel(stack, type, { domain: "", opType: emitted.Pad }, Number.POSITIVE_INFINITY);
  return runs ? undefined : `${stack.id} has no ${type.toUpperCase()} kernel of ${emitted.Pad}`;
}
