/** @file A model's time on a target: its kernels in graph order, and what each takes. */
import type { CostModel, Estimate } from "../cost/model.ts";
import type { WorkDetail } from "../cost/terms.ts";
import type { Facts } from "../facts/infer.ts";
import type { Scope } from "../facts/scope.ts";
import { WorkPool } from "../facts/shared-work.ts";
import type { Target } from "../hardware/target.ts";
import type { ById } from "../ir/by-id.ts";
import { evaluateDim } from "../ir/dim.ts";
import { groupBy } from "../ir/group.ts";
import type { Node } from "../ir/model.ts";
import { findOp } from "../ops/registry.ts";
import { isNothing, type TrafficVariant, type TrafficWork, type Work } from "../ops/work.ts";
import type { Kernel, KernelPart } from "./kernel.ts";
import { kernelsOf } from "./kernels.ts";
import type { Measured } from "./measured.ts";
import type { CostedProduct } from "./product.ts";
import { copiesWhole } from "./traffic.ts";
import { type WholeRuns, widthsOfRun } from "./whole-runs.ts";

export type Family = "conv" | "gemm" | "attention" | "recurrent" | "memory";

/** A kernel with its time, in microseconds. */
export interface Step {
  readonly scope: Scope;
  /** Everything this kernel computes; the first node gives it its name. */
  readonly nodes: readonly Node[];
  readonly family: Family;
  readonly work: Work<number>;
  /** What is known beside the work. */
  readonly detail: WorkDetail;
  /** Of one run. */
  readonly estimate: Estimate;
  readonly runs: number;
  /** Of all runs. */
  readonly microseconds: number;
  readonly product: CostedProduct | undefined;
  readonly part?: KernelPart;
  /** Of its time, in launches that multiply on Tensor Cores, where whoever launches it tells: 0 to 1. Else all of it or nothing, by `estimate`. */
  readonly tensorPart?: number | undefined;
  /** Of the cost model's own estimate, where another account stands in for it. */
  readonly factor?: number | undefined;
  /** Set where its time is measured, or follows from what was: `factor` is then of that. */
  readonly measured?: Measured | undefined;
}

/** A step that only moves memory: a chain of elementwise nodes, a pool, a concatenation. */
export interface TrafficStep extends Step {
  readonly work: TrafficWork<number>;
  readonly product: undefined;
}

export interface Timeline {
  /** In graph order, instance after instance. */
  readonly steps: readonly Step[];
  /** Launches of one run. */
  readonly kernels: number;
  /** The steps' sum: one run of the model. */
  readonly microseconds: number;
  /** The truth lies between `low` and `high` microseconds in nine cases of ten. */
  readonly low: number;
  readonly high: number;
  /** Of the time, in products on Tensor Cores: 0 to 1. */
  readonly tensorCoreShare: number;
  /** Microseconds, which add up to the whole. */
  readonly families: Readonly<Record<Family, number>>;
  /** Set where the stack's own planner made it, and not the cost model. */
  readonly planned?: PlannedSizes | undefined;
  /** Absent where nothing has branches, and where another account than the cost model's says what runs. */
  readonly choices?: Choices | undefined;
  /** In branches that are not priced as well; of a node that is several kernels the last one. */
  stepOf(node: Node, scope: Scope): Step | undefined;
  /** All kernels that compute a node: several of attention with packed weights, and of an operator that runs as its function's body. */
  stepsOf(node: Node, scope: Scope): readonly Step[];
}

/** Nodes that run one of several branches. */
export interface Choices {
  /** In graph order, those of branches that are not priced included. */
  readonly steps: readonly Step[];
  /** Branches that are priced: microseconds that each takes longer than the dearest of the others. */
  readonly leads: ReadonlyMap<Scope, number>;
  /** Whether a graph is, or is in, a branch that is not priced. */
  isIdle(scope: Scope): boolean;
}

/** All kernels of a file, whichever of its branches are priced. */
export function everyStep({ steps, choices }: Timeline): readonly Step[] {
  return choices?.steps ?? steps;
}

/** What a planner's launches take, and how many there are. */
export interface PlannedTime {
  readonly microseconds: number;
  readonly onTensorCores: number;
  readonly kernels: number;
}

export interface PlannedSizes {
  /** As the planner adds it up: what its steps come to, but for the order of the sum. */
  readonly time: PlannedTime;
  /** Symbols that data decides, and no input has: they are taken at the largest that they may be, whatever size is bound. */
  readonly atLargest: readonly string[];
  /** Nodes that it cannot plan before there is data, with why: neither they nor what follows are in its time. */
  readonly open: readonly string[];
  /** Microseconds that it predicts for one run of a product by itself; undefined where it does not say. */
  readonly priceOf: (work: Work<number>) => number | undefined;
  /** How far whole runs were off; undefined where none was measured on such a GPU. */
  readonly wholeRuns: WholeRuns | undefined;
}

export interface TimelineInput {
  readonly facts: Facts;
  readonly products: readonly CostedProduct[];
  readonly bindings: ReadonlyMap<string, number>;
  readonly target: Target;
  readonly cost: CostModel;
}

export function buildTimeline(input: TimelineInput): Timeline {
  const { bindings, target } = input;
  const pool = new WorkPool();
  const byScope = groupBy(input.products, (product) => product.scope);
  const steps: Step[] = [];
  for (const scope of input.facts.scopes()) {
    const products = byScope.get(scope) ?? [];
    const runs = evaluateDim(scope.totalRepeat, bindings) ?? 1;
    for (const kernel of kernelsOf({ scope, products, bindings, stack: target.stack })) {
      if (!isNothing(kernel.work)) steps.push(stepOf(kernel, { scope, runs, pool }, input));
    }
  }
  return timelineOf(steps);
}

interface Place {
  readonly scope: Scope;
  /** Of the graph, in one run of the model. */
  readonly runs: number;
  /** Of the timeline, where there is one. */
  readonly pool?: WorkPool;
}

export function stepOf(
  { nodes, product, work: found, pass, part }: Kernel,
  place: Place,
  { cost, target }: Pick<TimelineInput, "cost" | "target">,
): Step {
  const work = product === undefined && place.pool !== undefined ? place.pool.share(found) : found;
  const [first] = nodes;
  const isAlone = nodes.length === 1 && first !== undefined;
  const variant = pass ?? (isAlone && part !== "conversion" ? variantOf(first, place.scope) : undefined);
  const detail: WorkDetail = variant === undefined ? noDetail : { variant };
  const estimate = cost.estimate(work, target, detail);
  const family = work.kind === "traffic" ? "memory" : work.kind;
  const runs = product?.runs ?? place.runs;
  const microseconds = estimate.microseconds * runs;
  const step: Step = {
    scope: place.scope,
    nodes,
    family,
    work,
    detail,
    estimate,
    runs,
    microseconds,
    product,
  };
  return part === undefined ? step : { ...step, part };
}

const noDetail: WorkDetail = {};

/** What moves nothing is a copy as the device makes it, without the arithmetic of indices. */
function variantOf(node: Node, scope: Scope): TrafficVariant | undefined {
  if (copiesWhole(node, scope)) return "copy";
  const pass = findOp(node.domain, node.opType)?.pass;
  return pass !== undefined && everywhere.has(pass) ? pass : undefined;
}

/** What takes as long on every stack that makes a kernel of it; other passes are each stack's own. */
const everywhere: ReadonlySet<TrafficVariant> = new Set(["pad", "slice"]);

/** Of steps of which each is a launch. */
export function timelineOf(steps: readonly Step[]): Timeline {
  return summarize(
    steps,
    steps.reduce((total, { runs }) => total + runs, 0),
  );
}

/** What of a kernel's time is on Tensor Cores: 0 to 1. */
export function tensorPartOf({ tensorPart, estimate }: Step): number {
  return tensorPart ?? (estimate.tensorCore ? 1 : 0);
}

/** Steps as the planner made them, whose time in all is the planner's sum. */
export function plannedSummary(steps: readonly Step[], planned: PlannedSizes, target: Target): Timeline {
  const { microseconds, onTensorCores, kernels } = planned.time;
  const own = summarize(steps, kernels);
  const { below, above } = widthsOfRun(steps, planned.wholeRuns?.runs ?? {}, target) ?? {
    below: own.microseconds - own.low,
    above: own.high - own.microseconds,
  };
  return {
    ...own,
    microseconds,
    low: microseconds - below,
    high: microseconds + above,
    tensorCoreShare: microseconds > 0 ? onTensorCores / microseconds : 0,
    planned,
  };
}

/** Adds steps up, which are `kernels` launches; they may have been priced anew. */
export function summarize(steps: readonly Step[], kernels: number): Timeline {
  const families: Record<Family, number> = { conv: 0, gemm: 0, attention: 0, recurrent: 0, memory: 0 };
  const byNode = new Map<Scope, ById<Node, readonly Step[]>>();
  let [microseconds, onTensorCores, below, above] = [0, 0, 0, 0];
  for (const step of steps) {
    const { estimate, runs } = step;
    microseconds += step.microseconds;
    families[step.family] += step.microseconds;
    onTensorCores += step.microseconds * tensorPartOf(step);
    below += (estimate.microseconds - estimate.low) * runs;
    above += (estimate.high - estimate.microseconds) * runs;
    const { scope } = step;
    const nodes = byNode.get(scope) ?? scope.byNode<readonly Step[]>();
    byNode.set(scope, nodes);
    const alone = [step];
    for (const node of step.nodes) {
      const others = nodes.get(node);
      nodes.set(node, others === undefined ? alone : [...others, step]);
    }
  }
  // Errors of kernels go together: layers repeat, and one machine runs them all. Of 102 whole files 92 are inside the plain sum.
  return {
    steps,
    kernels,
    microseconds,
    low: microseconds - below,
    high: microseconds + above,
    tensorCoreShare: microseconds > 0 ? onTensorCores / microseconds : 0,
    families,
    stepOf: (node, scope) => byNode.get(scope)?.get(node)?.at(-1),
    stepsOf: (node, scope) => byNode.get(scope)?.get(node) ?? [],
  };
}
