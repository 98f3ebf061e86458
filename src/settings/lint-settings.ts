/** @file From resolved settings, which are plain data, to what the lint run takes: rows, functions, bound sizes. */
import type { RuleSetting } from "../config.ts";
import type { Calibration } from "../cost/calibration.ts";
import { createCostModel } from "../cost/model.ts";
import { standInText } from "../cost/rates.ts";
import { whyUnsupported } from "../hardware/architectures.ts";
import { findGpu } from "../hardware/gpus.ts";
import { machineOf } from "../hardware/machine.ts";
import { comparedStacks, stacks } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { collectSymbols } from "../ir/dim.ts";
import { invariant } from "../ir/errors.ts";
import type { Model, ValueType } from "../ir/model.ts";
import type { NoticeReport } from "../lint/result.ts";
import type { AnyRule } from "../lint/rule.ts";
import type { LintSettings } from "../lint/run.ts";
import type { BudgetTarget } from "./budgets.ts";
import { anyNameMatcher, type NodeRules, type ResolvedSettings } from "./resolve.ts";
import { standard } from "./standard.ts";

export interface LintRequest {
  readonly settings: ResolvedSettings;
  readonly rules: readonly AnyRule[];
  readonly calibration: Calibration | undefined;
  /** As reports show it. */
  readonly path: string;
  /** Whether the report lists every layer. */
  readonly layers: boolean;
  /** Whether it has what is drawn: the graph around findings, and what the target could reach. */
  readonly drawings?: boolean;
  /** Whether it lists all findings, also those that save too little, or perhaps nothing. */
  readonly verbose: boolean;
  readonly suppressed?: boolean;
  /** Whether metadata that switches off what is not found has a notice. */
  readonly reportUnused?: boolean;
  /** Inputs and dimensions that this model must have; other sizes of the settings are passed over where it lacks them. */
  readonly mustHave: readonly string[];
  readonly notices: readonly NoticeReport[];
}

export function lintSettings(model: Model, request: LintRequest): LintSettings {
  const { settings, rules, calibration, path, layers, drawings, verbose, suppressed, reportUnused, notices } =
    request;
  const target = targetOf(settings);
  return {
    target,
    cost: createCostModel({ calibration, inModels: true }),
    rules,
    ...severityRules(settings),
    ...thresholdsOf(settings),
    errorShare: settings.errorShare,
    others: settings.stackGuard ? comparedStacks.map((stack) => ({ stack })) : [],
    ...sizesFor(model, request),
    displayPath: path,
    configFiles: settings.configFiles,
    layers,
    drawings,
    verbose,
    suppressed,
    budgets: settings.budgets.map(({ gpu, stack, precision, ...rest }) => ({
      target: targetOf({ gpu, stack, precision }),
      ...rest,
    })),
    reportUnused,
    notices: [...notices, ...missingRate(target), ...missingKernels(target)],
  };
}

/** A threshold hides: what is worth solving for by default is solved for, so that no figure depends on what is listed. */
function thresholdsOf({ minSaving }: ResolvedSettings): Pick<LintSettings, "minSaving" | "leastListed"> {
  return minSaving > standard.minSaving
    ? { minSaving: standard.minSaving, leastListed: minSaving }
    : { minSaving };
}

function targetOf({ gpu, stack, precision }: BudgetTarget): Target {
  const row = findGpu(gpu);
  invariant(row !== undefined, `no row for the resolved GPU "${gpu}"`);
  return { gpu: row, stack: stacks[stack], precision };
}

/** Severities of whole rules, and a function for those that differ by node. */
function severityRules({
  severities,
  nodeRules,
}: ResolvedSettings): Pick<LintSettings, "severities" | "severityAt" | "reasonAt"> {
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
  const rulesAt = nodeRulesAt(nodeRules);
  return {
    severities: ofRules,
    severityAt: (place) =>
      rulesAt(place)?.severities[place.code] ?? (off.has(place.code) ? "off" : undefined),
    reasonAt: (place) => rulesAt(place)?.reason ?? null,
  };
}

interface RulePlace {
  readonly code: string;
  readonly node: string;
  readonly op: string;
}

/** Those that decide about a rule at a node: the last ones that speak of both. */
export function nodeRulesAt<Rules extends NodeRules>(
  nodeRules: readonly Rules[],
): (place: RulePlace) => Rules | undefined {
  const places = nodeRules.map((rules) => {
    const { nodes, ops } = rules;
    const matchesName = nodes === undefined ? () => true : anyNameMatcher(nodes);
    const matches = (node: string, op: string) =>
      (ops === undefined || ops.includes(op)) && matchesName(node);
    return { rules, matches };
  });
  return ({ code, node, op }) =>
    places.findLast(({ rules, matches }) => Object.hasOwn(rules.severities, code) && matches(node, op))
      ?.rules;
}

type Sizes = Required<Pick<LintSettings, "shapes" | "dims">>;

/** The plan's sizes that the model has a place for, and those it must have: inference names what is missing. */
export function sizesFor(
  model: Model,
  { settings, mustHave }: Pick<LintRequest, "settings" | "mustHave">,
): Sizes {
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

function missingRate(target: Target): NoticeReport[] {
  const message = target.precision === "as-is" ? undefined : standInText(target, target.precision);
  return message === undefined ? [] : [{ code: "no-tensor-core-rate", message }];
}

/** Of the bundled runtime, whose kernels need Tensor Cores that are newer than Volta's. */
function missingKernels({ gpu, stack }: Target): NoticeReport[] {
  const why =
    stack.kernels === "tc-runtime" ? whyUnsupported(gpu.name, machineOf(gpu).computeCapability) : undefined;
  if (why === undefined) return [];
  return [{ code: "no-kernels", message: `${why}: predicted as if they ran there` }];
}
