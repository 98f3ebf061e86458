/** @file `verify` for programs: are two models the same function? */

import { budgetFor } from "../verify/budget.ts";
import { verifyChildUrl } from "../verify/child-url.ts";
import type { VerifyReport } from "../verify/report.ts";
import type { Tensors } from "../verify/tensor.ts";
import { compareModels } from "../verify/verify.ts";
import { foundBudget, withBudgetNotice } from "./half-budget.ts";
import {
  type CallOptions,
  checkOptions,
  checkPath,
  listening,
  type OptionSchemas,
  schemas,
} from "./options.ts";

export interface VerifyOptions extends Omit<CallOptions, "onNotice"> {
  /** Largest error, as a share of an output's largest value. Default 1e-5, or what `half` allows where the candidate is found to be in half. */
  readonly tolerance?: number;
  /** The candidate is in half precision: a multiple of what rounding weights and inputs costs is allowed instead. */
  readonly half?: "fp16" | "bf16";
  /** One set of inputs by name, instead of drawn ones. */
  readonly inputs?: Tensors;
  /** Sets of normal inputs that are drawn, beside large, negative and zero ones. Default 2. */
  readonly seeds?: number;
  /** Size of a symbolic dimension, or several to compare at; by default two that run. */
  readonly dims?: Readonly<Record<string, number | readonly number[]>>;
  /** Of ONNX Runtime; its own choice by default. */
  readonly threads?: number;
}

const ownSchemas: OptionSchemas<Omit<VerifyOptions, keyof CallOptions>> = {
  tolerance: schemas.share,
  half: schemas.half,
  inputs: schemas.inputs,
  seeds: schemas.positive,
  dims: schemas.sizeLists,
  threads: schemas.positive,
};

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
  checkPath(original, "original");
  checkPath(candidate, "candidate");
  checkOptions(options, ownSchemas);
  const { tolerance, half, dims = {}, onProgress, ...rest } = options;
  const isGiven = tolerance !== undefined || half !== undefined;
  const found = isGiven ? { budget: budgetFor({ tolerance, half }) } : foundBudget(original, candidate);
  const sizes = Object.fromEntries(
    Object.entries(dims).map(([name, size]) => [name, typeof size === "number" ? [size] : size]),
  );
  const { report } = await listening({ onProgress }, (listeners) =>
    compareModels(original, candidate, {
      ...rest,
      sizes,
      budget: found.budget,
      childUrl: verifyChildUrl,
      onProgress: listeners.onProgress,
    }),
  );
  return withBudgetNotice(report, found);
}
