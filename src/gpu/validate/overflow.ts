/** @file Why a half-precision run gives NaN or infinity: where the model leaves the type's range, on the inputs it was run on. */
import { inferFacts } from "../../facts/infer.ts";
import { observableValues } from "../../fix/observable.ts";
import { openModel } from "../../onnx/open.ts";
import { findOverflow, type Overflow } from "../../passes/half/overflow.ts";
import type { HalfType } from "../../verify/budget.ts";
import { type OutputReport, observeRanges, type Tensors } from "../../verify/index.ts";

export interface OverflowQuestion {
  /** The original. */
  readonly path: string;
  /** What the run holds values in; undefined where that is no half type. */
  readonly type: HalfType | undefined;
  readonly outputs: readonly OutputReport[];
  readonly inputs: readonly Tensors[];
  readonly childUrl: URL;
  readonly timeoutSeconds?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

/** Whether an output has a NaN or an infinity that the other does not have there. */
function differsInKind({ same, difference }: OutputReport): boolean {
  return !same && difference !== undefined && difference.mismatches > 0;
}

/** Undefined where nothing overflows, and where no output differs in kind. Throws InputError as `observeRanges` does. */
export async function overflowBehind(question: OverflowQuestion): Promise<Overflow | undefined> {
  const { path, type, outputs, inputs, childUrl, timeoutSeconds, memoryBytes } = question;
  if (type === undefined || !outputs.some(differsInKind)) return undefined;
  using model = openModel(path);
  const values = observableValues(model, {});
  const largest = await observeRanges(path, {
    values,
    samples: inputs,
    childUrl,
    timeoutSeconds,
    memoryBytes,
  });
  return findOverflow(inferFacts(model), largest, type);
}
