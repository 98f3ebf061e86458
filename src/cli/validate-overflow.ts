/** @file Why a half-precision run gives NaN or infinity: where the model leaves the type's range, on the inputs it was run on. */
import { inferFacts } from "../facts/infer.ts";
import { observableValues } from "../fix/observable.ts";
import { openModel } from "../onnx/open.ts";
import { findOverflow, type Overflow } from "../passes/half/overflow.ts";
import { type OutputReport, observeRanges, type Tensors } from "../verify/index.ts";

const half = { fp16: "float16", bf16: "bfloat16" } as const;

export interface OverflowQuestion {
  /** The original. */
  readonly path: string;
  readonly precision: string;
  readonly outputs: readonly OutputReport[];
  readonly inputs: readonly Tensors[];
  readonly childUrl: URL;
  readonly timeoutSeconds?: number | undefined;
}

/** Whether an output has a NaN or an infinity that the other does not have there. */
export function differsInKind({ same, difference }: OutputReport): boolean {
  return !same && difference !== undefined && difference.mismatches > 0;
}

/** Undefined where nothing overflows, and where no output differs in kind. Throws InputError as `observeRanges` does. */
export async function overflowBehind(question: OverflowQuestion): Promise<Overflow | undefined> {
  const { path, precision, outputs, inputs, childUrl, timeoutSeconds } = question;
  if (!isHalf(precision) || !outputs.some(differsInKind)) return undefined;
  using model = openModel(path);
  const values = observableValues(model, {});
  const largest = await observeRanges(path, { values, samples: inputs, childUrl, timeoutSeconds });
  return findOverflow(inferFacts(model), largest, half[precision]);
}

function isHalf(precision: string): precision is keyof typeof half {
  return Object.hasOwn(half, precision);
}
