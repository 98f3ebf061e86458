/**
 * @file What a model takes on the bundled runtime: the planner's own account of its launches, in place of the cost model's. One
 * computation serves lint, fixes and plans.
 */
import { predictedMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import { type Plan, PlanError } from "../../cuda-runtime/ir/step.ts";
import type { Precision as PlanPrecision } from "../../cuda-runtime/plan/precision.ts";
import { machineOf } from "../hardware/machine.ts";
import type { Target } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import { labelOf, type Model } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import { inputSymbols } from "../verify/sizes.ts";
import { everyStep, plannedSummary, type Step, type Timeline } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import { isOnTensorCores } from "./describe.ts";
import { openPartsOf, type Planned, planSizes, plansOf } from "./plan.ts";
import { plannedTime } from "./planned-time.ts";
import { wholeRunsOn } from "./whole-runs.ts";
import { workPriceOn } from "./work-price.ts";

/** What the runtime computes in where a target says so. */
export const planPrecisions: Readonly<Partial<Record<Target["precision"], PlanPrecision>>> = {
  fp16: "fp16",
  bf16: "bf16",
  tf32: "tf32",
  fp32: "fp32",
  "as-is": "model",
};

/** The timeline of a workload on the bundled runtime; undefined on other stacks, and where the runtime has no plan for it. */
export function plannedTimeline(workload: Workload): Timeline | undefined {
  const { model, target, bindings, facts } = workload;
  const precision = planPrecisions[target.precision];
  if (target.stack.id !== "tc-runtime" || precision === undefined || !isOpen(model)) return undefined;
  const machine = machineOf(target.gpu);
  // Of symbols that no input has data decides.
  const ofInputs = new Set(inputSymbols(model));
  const given = Object.fromEntries(
    [...bindings].flatMap(([name, size]) => (ofInputs.has(name) ? [[name, [size]]] : [])),
  );
  const planned = attempt(() =>
    planSizes(model, given, { precision, target: machine }, { memoryBytes: undefined }),
  );
  if (planned === undefined) return undefined;
  const rest = timesByLabel(planned, (action) => predictedMicroseconds(action, machine), pricesOf(workload));
  const { choices } = workload.timeline;
  const steps = everyStep(workload.timeline).flatMap((step): Step[] => {
    const launched = addedUp(step.nodes.map((node) => taken(rest, labelOf(node))));
    // It runs both branches where data chooses.
    const isLeftOut = launched.microseconds === 0 && choices?.isIdle(step.scope) === true;
    return isLeftOut ? [] : [rescaled(step, launched)];
  });
  const [first] = workload.timeline.steps;
  // Conversions at inputs and outputs are for no node of the model.
  const others = addedUp(rest.values());
  if (first !== undefined && others.microseconds > 0)
    steps.push(
      rescaled({ ...first, scope: facts.root, nodes: [], family: "memory", product: undefined }, others),
    );
  const own = {
    // As `bench --plan` counts it.
    time: plannedTime(planned, machine),
    atLargest: byData(bindings, ofInputs),
    open: openPartsOf(planned),
    priceOf: workPriceOn(machine, precision),
    wholeRuns: planned.staged === undefined ? wholeRunsOn(target.gpu) : undefined,
  };
  return plannedSummary(steps, own, target);
}

function byData(bindings: ReadonlyMap<string, number>, ofInputs: ReadonlySet<string>): string[] {
  return [...bindings.keys()].filter((name) => !ofInputs.has(name)).sort();
}

/** Planning reads weights' sizes and small constants. */
function isOpen(model: Model): model is OpenModel {
  return "source" in model && "files" in model;
}

/** Codes of what the runtime does not do; a file that cannot be read is another matter. */
const refusals: ReadonlySet<string> = new Set(["gpu-unsupported", "cannot-run"]);

/** What the runtime cannot do has no plan: the cost model's account stands. */
function attempt<T>(plan: () => T): T | undefined {
  try {
    return plan();
  } catch (error) {
    const isRefused = error instanceof InputError && refusals.has(error.code);
    if (isRefused || error instanceof PlanError) return undefined;
    throw error;
  }
}

/** What the cost model says of the kernel that a node is in, by the node's label. */
function pricesOf({ timeline }: Workload): Map<string, number> {
  const prices = new Map<string, number>();
  for (const { nodes, microseconds } of everyStep(timeline))
    for (const node of nodes) prices.set(labelOf(node), microseconds);
  return prices;
}

/** Microseconds of a node's launches, and what of them multiply on Tensor Cores. */
interface Launched {
  readonly microseconds: number;
  readonly onTensorCores: number;
}

const nothing: Launched = { microseconds: 0, onTensorCores: 0 };

function addedUp(times: Iterable<Launched>): Launched {
  let [microseconds, onTensorCores] = [0, 0];
  for (const each of times) {
    microseconds += each.microseconds;
    onTensorCores += each.onTensorCores;
  }
  return { microseconds, onTensorCores };
}

/**
 * What the host takes between graphs counts for the node that it works at. A launch of several products is shared out as the cost model prices
 * each alone: were it the first one's, padding that brings them together would seem to make the others free.
 */
function timesByLabel(
  planned: Planned,
  timeOf: (action: Plan["steps"][number]["action"]) => number,
  prices: ReadonlyMap<string, number>,
): Map<string, Launched> {
  const times = new Map<string, Launched>();
  const add = (label: string, microseconds: number, isOnTensorCores: boolean) => {
    const own = { microseconds, onTensorCores: isOnTensorCores ? microseconds : 0 };
    times.set(label, addedUp([times.get(label) ?? nothing, own]));
  };
  for (const { steps } of plansOf(planned))
    for (const { label, beside = [], action } of steps) {
      const priced = [label, ...beside].map((each) => [each, prices.get(each) ?? 0] as const);
      const whole = priced.reduce((sum, [, price]) => sum + price, 0);
      const time = timeOf(action);
      const isTensor = isOnTensorCores(action);
      for (const [each, price] of priced)
        add(each, time * (whole > 0 ? price / whole : 1 / priced.length), isTensor);
    }
  for (const part of planned.staged?.parts ?? [])
    if (part.kind === "host") add(labelOf(part.node), part.predictedMicroseconds, false);
  return times;
}

function taken(times: Map<string, Launched>, label: string): Launched {
  const time = times.get(label) ?? nothing;
  times.delete(label);
  return time;
}

/** The same kernel at another time: its interval and its price elsewhere keep their ratio to it. */
function rescaled(step: Step, { microseconds, onTensorCores }: Launched): Step {
  const { estimate, runs } = step;
  const factor = step.microseconds > 0 ? microseconds / step.microseconds : 0;
  return {
    ...step,
    factor,
    microseconds,
    tensorPart: microseconds > 0 ? onTensorCores / microseconds : 0,
    estimate: {
      ...estimate,
      tensorCore: onTensorCores > 0,
      microseconds: microseconds / runs,
      low: estimate.low * factor,
      high: estimate.high * factor,
    },
  };
}
