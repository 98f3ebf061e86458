/** @file `verify` for programs: are two models the same function? */

import { budgetFor } from "../verify/budget.ts";
import { verifyChildUrl } from "../verify/child-url.ts";
import type { VerifyReport } from "../verify/report.ts";
import type { Tensors } from "../verify/tensor.ts";
import { compareModels } from "../verify/verify.ts";
import type { CallOptions } from "./options.ts";

export interface VerifyOptions extends Omit<CallOptions, "onNotice"> {
  /** Largest error, as a share of an output's largest value. Default 1e-5. */
  readonly tolerance?: number;
  /** The candidate is in half precision: a multiple of what rounding weights and inputs costs is allowed instead. */
  readonly half?: "fp16" | "bf16";
  /** One set of inputs by name, instead of drawn ones. */
  readonly inputs?: Tensors;
  /** Sets of normal inputs that are drawn, beside large, negative and zero ones. Default 2. */
  readonly seeds?: number;
  /** Sizes of symbolic dimensions; by default two that run. */
  readonly sizes?: Readonly<Record<string, readonly number[]>>;
  /** Of ONNX Runtime; its own choice by default. */
  readonly threads?: number;
}

/**
 * Runs two models on the same inputs with ONNX Runtime, in a child process, as `tc-lint verify` does.
 *
 * @throws InputError Where a model cannot be run (`cannot-run`), and where ONNX Runtime is not installed (`onnxruntime-missing`).
 */
export async function verify(
  original: string,
  candidate: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { tolerance: _, half: __, ...rest } = options;
  const budget = budgetFor(options);
  const { report } = await compareModels(original, candidate, { ...rest, childUrl: verifyChildUrl, budget });
  return report;
}
