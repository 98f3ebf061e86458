/**
 * @file What a model takes on a target, as data: the one account of it that lint, passes, fixes and reports go by.
 *
 * Times are microseconds, amounts of data bytes, work FLOPs with a multiply-add counted as two. An `Estimate` is one run of
 * one kernel; `microseconds` of a product, a step or a timeline is one run of the model, every iteration of its loops
 * included. The steps' microseconds add up to the timeline's.
 */
import type { CostModel } from "../cost/model.ts";
import type { BindOptions } from "../facts/bind.ts";
import { type Facts, inferFacts } from "../facts/infer.ts";
import { extractProducts, type Product, type UnresolvedProduct } from "../facts/products.ts";
import { undoesLayout } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { evaluateDim } from "../ir/dim.ts";
import type { Half } from "../ir/fix-command.ts";
import type { Model } from "../ir/model.ts";
import { once } from "../ir/once.ts";
import { plausibleSizes } from "../ir/symbols.ts";
import { bindWork, isNothing } from "../ops/work.ts";
import { asBroughtToHalf, asStoredTarget, floatsOf } from "./already-half.ts";
import { ofDearerBranches } from "./branches.ts";
import { quantizedIn, whyFloats } from "./codes.ts";
import { checkOutputs } from "./emptied.ts";
import type { CostedProduct } from "./product.ts";
import {
  buildTimeline,
  plannedSummary,
  type Step,
  summarize,
  type Timeline,
  type TrafficStep,
} from "./timeline.ts";

/** What times depend on beside the model's facts. */
export { isSameTarget } from "../hardware/target.ts";

export interface PriceSettings {
  readonly target: Target;
  readonly cost: CostModel;
  /** An account of its own, for a stack that has one: the workload's timeline is the cost model's. */
  readonly timelineOf?: ((workload: Workload) => Timeline | undefined) | undefined;
  /** A half that no fix brings the model to: a target that asks for it has what the file stores. */
  readonly unstored?: Half | undefined;
}

/** What facts and times depend on: `shapes` and `dims` are sizes that the user gives. */
export interface WorkloadSettings extends PriceSettings, BindOptions {}

export interface Workload {
  readonly model: Model;
  readonly facts: Facts;
  /** What was asked for, in the types that the file stores where half precision leaves those as they are, and INT8 where they are codes that it multiplies. */
  readonly target: Target;
  /** Sizes of symbols: as given, else plausible ones. */
  readonly bindings: ReadonlyMap<string, number>;
  /** Of every instance of every graph, in graph order, of branches that are not priced as well. */
  readonly products: readonly CostedProduct[];
  /** Products whose sizes only running the model would tell: no time holds them. */
  readonly unresolved: readonly UnresolvedProduct[];
  readonly timeline: Timeline;
  /** The stack's own account, or a profile's, where there is one: what another precision takes is asked there. */
  readonly timelineOf: PriceSettings["timelineOf"];
}

/** Infers and prices a model. Throws InputError where shapes or symbols given by the user do not fit it, or leave nothing to compute. */
export function priceModel(model: Model, settings: WorkloadSettings): Workload {
  const { shapes, dims } = settings;
  const facts = inferFacts(model, { shapes, dims });
  checkOutputs(facts, { shapes });
  return priceFacts(facts, settings);
}

/** The same where a model has been inferred before, at the sizes of its facts; other symbols get plausible ones. */
export function priceFacts(facts: Facts, settings: PriceSettings): Workload {
  const { target: asked, cost, timelineOf } = settings;
  const { model } = facts;
  const bindings = new Map([...plausibleSizes(model, facts.symbols, facts.bindings), ...facts.bindings]);
  const { products: found, unresolved } = extractProducts(facts, {
    seesAttention: asked.stack.fuses.attention,
    multipliesCodes: (codes, work) => whyFloats(codes, work, asked) === undefined,
    undoesLayout: undoesLayout(asked.stack, "portable"),
  });
  const timeOf = (product: Product, on: Target) =>
    costProduct(product, bindings, { target: on, cost })?.microseconds ?? 0;
  const costedOn = (on: Target) =>
    found.flatMap((product) => costProduct(product, bindings, { target: on, cost }) ?? []);
  const isQuantized = () => asked.precision === "int8" && quantizedIn(costedOn(asked), asked) === "all";
  const isUnstored = asked.precision === settings.unstored || isQuantized();
  const target = isUnstored
    ? asStoredTarget(asked)
    : asBroughtToHalf(asked, found, timeOf, () => floatsOf(facts));
  const products = costedOn(target);
  // Of a model between two passes only products are asked for.
  const timeline = once(() =>
    ofDearerBranches(buildTimeline({ facts, products, bindings, target, cost }), facts),
  );
  const workload = {
    model,
    facts,
    target,
    bindings,
    products,
    unresolved,
    get timeline() {
      return timeline();
    },
    timelineOf,
  };
  const own = timelineOf?.(workload);
  return own === undefined ? workload : { ...workload, ...timedBy(own, products, target) };
}

/** Products with what their kernels take on the timeline. */
function timedBy(
  { steps, kernels, planned }: Timeline,
  products: readonly CostedProduct[],
  target: Target,
): Pick<Workload, "products" | "timeline"> {
  const times = new Map(steps.map((step) => [step.product, step.microseconds]));
  const timed = new Map(
    products.map((product) => [
      product,
      { ...product, microseconds: times.get(product) ?? product.microseconds },
    ]),
  );
  const own = steps.map((step) => ({ ...step, product: step.product && timed.get(step.product) }));
  const timeline = planned === undefined ? summarize(own, kernels) : plannedSummary(own, planned, target);
  return { products: [...timed.values()], timeline };
}

function costProduct(
  product: Product,
  bindings: ReadonlyMap<string, number>,
  { target, cost }: PriceSettings,
): CostedProduct | undefined {
  const sizes = bindWork(product.work, bindings);
  if (sizes === undefined || isNothing(sizes)) return undefined;
  const runs = evaluateDim(product.scope.totalRepeat, bindings) ?? 1;
  const estimate = cost.estimate(sizes, target);
  return { ...product, sizes, runs, estimate, microseconds: estimate.microseconds * runs };
}

/**
 * Symbols and the size at which each is priced, and those that nobody bound. What a plan takes at its largest has no size that is the account's.
 */
export function pricedSizes({
  facts,
  bindings,
  timeline,
}: Pick<Workload, "facts" | "bindings" | "timeline">): {
  readonly symbols: Readonly<Record<string, number>>;
  readonly assumed: readonly string[];
} {
  const left = new Set(timeline.planned?.atLargest);
  return {
    symbols: Object.fromEntries([...bindings].filter(([name]) => !left.has(name))),
    assumed: [...facts.symbols].filter((name) => !left.has(name)).sort(),
  };
}

/** The main graph's steps that only move memory, in its order. */
export function trafficOf({ timeline, facts }: Workload): TrafficStep[] {
  return timeline.steps.filter(isTraffic).filter(({ scope }) => scope === facts.root);
}

function isTraffic(step: Step): step is TrafficStep {
  return step.product === undefined && step.work.kind === "traffic";
}
