/** @file Lints a model in tests, with every threshold open: what rules say, before anything is left out. */
import { rules } from "../../rules/index.ts";
import { decidedBy } from "../../src/api/decided-fix.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { findStack, type StackId } from "../../src/hardware/stacks.ts";
import type { Precision, Target } from "../../src/hardware/target.ts";
import { invariant } from "../../src/ir/errors.ts";
import type { Finding, ModelReport } from "../../src/lint/result.ts";
import { type LintSettings, lintModel } from "../../src/lint/run.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";

export interface LintOptions {
  /** An H200 unless given. */
  readonly gpu?: string;
  readonly stack?: StackId;
  readonly precision?: Precision;
  readonly minSaving?: number;
  /** Also what is only counted; where nothing is below the threshold anyway. */
  readonly verbose?: boolean;
  readonly dims?: ReadonlyMap<string, number>;
  /** Asks what `--fix` makes of it, as the tool does. */
  readonly decided?: boolean;
  /** In the target's half where that costs, too: for reports that are compared with each other. */
  readonly isToldInTarget?: boolean;
}

const cost = createCostModel();

export function lint(model: OpenModel, options: LintOptions = {}): ModelReport {
  const {
    gpu = "h200",
    stack = "cudnn",
    precision = "fp16",
    minSaving = 0,
    verbose = minSaving === 0,
    dims,
  } = options;
  const settings: LintSettings = {
    target: targetOf(stack, precision, gpu),
    cost,
    rules,
    severities: new Map(),
    minSaving,
    // Rules are looked at by what they say, whatever is made of it.
    verbose,
    errorShare: 0.05,
    displayPath: model.path,
    severityAt: () => undefined,
    notices: [],
    configFiles: [],
    dims,
    isToldInTarget: options.isToldInTarget,
  };
  const report = lintModel(model, options.decided === true ? decidedBy(model, settings) : settings);
  return { ...report, findings: [...report.findings, ...(report.unlisted?.findings ?? [])] };
}

/** Findings of a model held in memory. */
export function findingsIn(bytes: Uint8Array, options: LintOptions = {}): readonly Finding[] {
  using model = modelFromBytes(bytes);
  return lint(model, options).findings;
}

export function targetOf(stackId: StackId, precision: Precision, gpuId = "h200"): Target {
  const [gpu, stack] = [findGpu(gpuId), findStack(stackId)];
  invariant(gpu !== undefined && stack !== undefined, "GPUs and stacks of tests have rows");
  return { gpu, stack, precision };
}
