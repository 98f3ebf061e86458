/**
 * @file `tc-lint` as a library: what its commands do, as functions that return their reports. docs/library.md has an example of
 * each. They print nothing, look for no configuration file, and throw InputError, whose `code` says what is wrong, for bad input.
 */

export { rules } from "../rules/index.ts";
export type { BenchOptions, PlanOptions } from "./api/bench.ts";
export { bench, plan } from "./api/bench.ts";
export { type CompareOptions, compare } from "./api/compare.ts";
export { type FixOptions, fix } from "./api/fix.ts";
export type { FixEntry as FixResult } from "./api/fix-report.ts";
export { type LintOptions, lint, type ModelProto } from "./api/lint.ts";
export type { CallOptions, ModelOptions } from "./api/options.ts";
export { type ValidateOptions, validate } from "./api/validate.ts";
export { type VerifyOptions, verify } from "./api/verify.ts";
export type {
  FindingChange,
  GraphChange,
  KernelChange,
  ModelComparison,
  SideReport,
  TimeChange,
} from "./compare/result.ts";
export {
  type BudgetConfig,
  type Config,
  defineConfig,
  type Override,
  type RuleSetting,
  type Share,
} from "./config.ts";
export type { BenchReport } from "./gpu/bench-report.ts";
export type { PlanReport } from "./gpu/plan-report.ts";
export type { ValidateReport } from "./gpu/validate/report.ts";
export { InputError } from "./ir/errors.ts";
export type { Plugin } from "./lint/plugin/rule.ts";
export type {
  BudgetReport,
  Finding,
  Fixability,
  LayerReport,
  LintReport,
  ModelReport,
  NoticeReport,
  SavingReport,
  Severity,
  SkippedReport,
} from "./lint/result.ts";
export type { AnyRule, Rule, RuleFinding } from "./lint/rule.ts";
export type { VerifyReport } from "./verify/report.ts";
export type { Tensor, Tensors } from "./verify/tensor.ts";
export { version } from "./version.ts";
