/** @file What other folders use of verification. */
export { type Allowance, type Budget, budgets, type HalfType } from "./budget.ts";
export type { Difference, Lanes } from "./compare.ts";
export { worstOutputs } from "./judge.ts";
export { readNpz, writeNpz } from "./npz.ts";
export { doings } from "./protocol.ts";
export { observeRanges, type RangeOptions } from "./ranges.ts";
export type { DivergenceReport, DrawReport, OutputReport, VerifyReport } from "./report.ts";
export { CrashError } from "./run-in-child.ts";
export type { GivenSizes } from "./sizes.ts";
export type { Tensor, Tensors } from "./tensor.ts";
export { compareModels, type VerifyOptions } from "./verify.ts";
export type { VerifyOutcome } from "./verify-here.ts";
