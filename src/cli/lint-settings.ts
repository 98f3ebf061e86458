/** @file From a plan, which is plain data, to what the lint run takes: rows, functions, bound sizes. */
import { readFileSync } from "node:fs";
import { rules } from "../../rules/index.ts";
import type { RuleSetting } from "../config.ts";
import type { Calibration } from "../cost/calibration.ts";
import { createCostModel } from "../cost/model.ts";
import { findGpu } from "../hardware/gpus.ts";
import { stacks } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { collectSymbols } from "../ir/dim.ts";
import { InputError, invariant } from "../ir/errors.ts";
import type { Model, ValueType } from "../ir/model.ts";
import type { NoticeReport } from "../lint/result.ts";
import type { LintSettings } from "../lint/run.ts";
import type { OpenModel } from "../onnx/open.ts";
import { weightFiles } from "../onnx/weights.ts";
import { anyNameMatcher, type NodeRules, type ResolvedSettings } from "./config/resolve.ts";
import type { LintPlan } from "./plan.ts";

/** Throws InputError where weights or the calibration file are not what they should be. */
export function lintSettings(model: OpenModel, plan: LintPlan): LintSettings {
  const { settings, path, layers } = plan;
  const target = targetOf(settings);
  const calibration = settings.calibration === null ? undefined : readCalibration(settings.calibration);
  const { severities, severityAt } = severityRules(settings);
  const { shapes, dims } = sizesFor(model, plan);
  return {
    target,
    cost: createCostModel(calibration === undefined ? {} : { calibration }),
    rules,
    severities,
    severityAt,
    minSaving: settings.minSaving,
    errorShare: settings.errorShare,
    shapes,
    dims,
    displayPath: path,
    layers,
    notices: [...model.notices, ...missingWeights(model), ...missingRate(target)],
  };
}

function targetOf({ gpu, stack, precision }: ResolvedSettings): Target {
  const row = findGpu(gpu);
  invariant(row !== undefined, `no row for the resolved GPU "${gpu}"`);
  return { gpu: row, stack: stacks[stack], precision };
}

/** Severities of whole rules, and a function for those that differ by node. */
function severityRules({
  severities,
  nodeRules,
}: ResolvedSettings): Pick<LintSettings, "severities" | "severityAt"> {
  const ofRules = new Map<string, RuleSetting>(Object.entries(severities));
  // A rule that is off but for some nodes has to run; it is then off at every other node.
  const off = new Set<string>();
  for (const { severities: atNodes } of nodeRules) {
    for (const [code, setting] of Object.entries(atNodes)) {
      if (setting === "off" || ofRules.get(code) !== "off") continue;
      off.add(code);
      ofRules.set(code, setting);
    }
  }
  const places = nodeRules.map(placeMatcher);
  return {
    severities: ofRules,
    severityAt({ code, node, op }) {
      const last = places.findLast(
        ({ rules: { severities: atNodes }, matches }) => Object.hasOwn(atNodes, code) && matches(node, op),
      );
      return last?.rules.severities[code] ?? (off.has(code) ? "off" : undefined);
    },
  };
}

function placeMatcher(nodeRules: NodeRules) {
  const { nodes, ops } = nodeRules;
  const matchesName = nodes === undefined ? () => true : anyNameMatcher(nodes);
  return {
    rules: nodeRules,
    matches: (node: string, op: string) => (ops === undefined || ops.includes(op)) && matchesName(node),
  };
}

type Sizes = Required<Pick<LintSettings, "shapes" | "dims">>;

/** The plan's sizes that the model has a place for, and those it must have: inference names what is missing. */
function sizesFor(model: Model, { settings, mustHave }: LintPlan): Sizes {
  const { shapes, dims } = settings;
  const names = new Set([...mustHave, ...model.graph.inputs.map(({ name }) => name)]);
  const symbols = new Set(mustHave);
  if (Object.keys(dims).length > 0) {
    for (const { declared } of model.graph.values.values()) collectFrom(declared, symbols);
  }
  return {
    shapes: new Map(Object.entries(shapes).filter(([name]) => names.has(name))),
    dims: new Map(Object.entries(dims).filter(([name]) => symbols.has(name))),
  };
}

function collectFrom(type: ValueType | undefined, into: Set<string>): void {
  if (type?.kind === "tensor") for (const dim of type.shape ?? []) collectSymbols(dim, into);
  if (type?.kind === "sequence" || type?.kind === "optional") collectFrom(type.element, into);
}

function missingWeights(model: Model): NoticeReport[] {
  const missing = weightFiles(model).filter(({ present }) => !present);
  if (missing.length === 0) return [];
  const names = missing.map(({ location }) => location);
  const listed = names.slice(0, 3).join(", ");
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return [
    { code: "weights-missing", message: `weights not present: ${listed}${more}; shapes are enough to lint` },
  ];
}

function missingRate({ gpu, precision }: Target): NoticeReport[] {
  if (precision === "fp32" || precision === "as-is" || gpu.tensorTflops[precision] !== undefined) return [];
  const message = `the Tensor Cores of ${gpu.name} do not multiply ${precision}: its products are predicted on CUDA cores`;
  return [{ code: "no-tensor-core-rate", message }];
}

function readCalibration(path: string): Calibration {
  const fail = (what: string, cause?: unknown) =>
    new InputError("bad-calibration", `${path}: ${what}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw fail(
      `the calibration cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
  if (typeof value !== "object" || value === null || !("gpu" in value) || !("stack" in value)) {
    throw fail('expected a calibration: an object with "gpu" and "stack"');
  }
  const { gpu, stack } = value;
  if (typeof gpu !== "string" || typeof stack !== "string") throw fail('"gpu" and "stack" are not text');
  return { ...value, gpu, stack };
}
