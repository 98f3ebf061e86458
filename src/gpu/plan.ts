/** @file A model to a plan, at sizes that it takes. */

import type { Chooser } from "../../cuda-runtime/ir/question.ts";
import {
  DataError,
  type Plan,
  PlanError,
  PlanSizeError,
  type PlanTarget,
} from "../../cuda-runtime/ir/step.ts";
import { type PlanOptions, planModel, programOf } from "../../cuda-runtime/plan/build.ts";
import { foresee, type Part } from "../../cuda-runtime/plan/foresee.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { Program } from "../../cuda-runtime/plan/program.ts";
import { evaluateDim } from "../ir/dim.ts";
import { InputError } from "../ir/errors.ts";
import { describeNode, type TensorRef, type Value } from "../ir/model.ts";
import { requiredInputs } from "../ir/symbols.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { Fact } from "../ops/op.ts";
import { type Draw, drawInputs } from "../verify/inputs.ts";
import { type GivenSizes, sizeAttempts } from "../verify/sizes.ts";
import { countOf, type Tensors } from "../verify/tensor.ts";
import type { Bindings } from "../verify/use.ts";
import { type PlanLimits, planWithin } from "./plan-limits.ts";
import { missingWeights, weightOf } from "./prepare.ts";

export interface PlanRequest {
  readonly precision: Precision;
  readonly target: PlanTarget;
  /** As `PlanOptions.shareCaches`. */
  readonly shareCaches?: boolean | undefined;
  /** As `PlanOptions.chooser`. */
  readonly chooser?: Chooser | undefined;
}

export interface Planned {
  /** Where data decides what follows, the first part alone. */
  readonly plan: Plan;
  /** Where data decides: the parts of the model, and what the host does between them. */
  readonly staged: StagedPlan | undefined;
  /** Inputs whose elements the plan holds for: sizes, axes, numbers of rounds. */
  readonly known: readonly string[];
}

/** A model that is no single graph. */
export interface StagedPlan {
  readonly program: Program;
  /** As far as they can be told without data. */
  readonly parts: readonly Part[];
}

/** All plans that are known before there is data. */
export function plansOf({ plan, staged }: Planned): readonly Plan[] {
  return staged?.parts.flatMap((part) => (part.kind === "segment" ? [part.plan] : [])) ?? [plan];
}

/** What cannot be planned before there is data, by node, with why. */
export function openPartsOf({ staged }: Pick<Planned, "staged">): readonly string[] {
  const parts = staged?.parts ?? [];
  return parts.flatMap((part) => (part.kind === "open" ? [`${describeNode(part.node)} ${part.reason}`] : []));
}

/** Elements of an input that a plan may depend on. */
const maxKnownElements = 4096;

type Shapes = ReadonlyMap<string, readonly number[]>;

/**
 * For inputs of these shapes. Elements of whole-number inputs are told to the planner only where it does not work
 * without. Throws InputError: `gpu-unsupported` for what the runtime does not do, or sizes that contradict the model.
 */
export function planFor(model: OpenModel, inputs: Tensors, request: PlanRequest): Planned {
  const shapes = new Map([...inputs].map(([name, { dims }]) => [name, dims]));
  try {
    return planShapes(model, shapes, () => knowable(inputs), request);
  } catch (error) {
    throw asInputError(model, error);
  }
}

/** What the runtime cannot do is the model's affair. */
export function asInputError({ path }: OpenModel, error: unknown): unknown {
  if (!(error instanceof PlanError)) return error;
  return new InputError("gpu-unsupported", `${path}: ${error.message}`, { cause: error });
}

/** `knownOf`: asked only where there is no plan without. */
function planShapes(
  model: OpenModel,
  shapes: Shapes,
  knownOf: () => ReadonlyMap<string, Fact>,
  { precision, target, shareCaches, chooser }: PlanRequest,
): Planned {
  const absent = missingWeights(model);
  const weights = (tensor: TensorRef) => weightOf(model, tensor, absent);
  const options = { model, precision, target, shareCaches, chooser, shapes, weights };
  const attempt = (known: ReadonlyMap<string, Fact>): Planned => ({
    plan: planModel({ ...options, known }),
    staged: undefined,
    known: [...known.keys()],
  });
  try {
    return attempt(new Map());
  } catch (error) {
    if (!(error instanceof PlanError) || error instanceof PlanSizeError) throw error;
    const known = knownOf();
    const inStages = () => retried(() => stagedPlan(options), error);
    if (known.size === 0) return inStages();
    return error instanceof DataError
      ? unlessRefused(() => attempt(known), inStages)
      : retried(() => attempt(known), error);
  }
}

/** Throws PlanError. */
function stagedPlan(options: PlanOptions): Planned {
  const program = programOf(options);
  const parts = foresee(program);
  const [first] = parts.flatMap((part) => (part.kind === "segment" ? [part.plan] : []));
  return { plan: first ?? nothingPlanned, staged: { program, parts }, known: [] };
}

/** The host does all of it. */
const nothingPlanned: Plan = { buffers: [], uploads: [], prepare: [], steps: [], inputs: [], outputs: [] };

function unlessRefused<Result>(attempt: () => Result, otherwise: () => Result): Result {
  try {
    return attempt();
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    return otherwise();
  }
}

/** The first reason is the one to tell: a second attempt that fails as well explains less. */
function retried<Result>(attempt: () => Result, first: PlanError): Result {
  try {
    return attempt();
  } catch (error) {
    throw error instanceof PlanError ? first : error;
  }
}

function knowable(inputs: Tensors): Map<string, Fact> {
  const facts = new Map<string, Fact>();
  for (const [name, { dtype, dims, data }] of inputs) {
    if (!isKnowable(dtype, dims)) continue;
    facts.set(name, { kind: "tensor", dtype, shape: dims, elements: Array.from(data, Number) });
  }
  return facts;
}

function isWhole(dtype: string | undefined): boolean {
  return dtype !== undefined && (dtype === "bool" || /^u?int/.test(dtype));
}

function isKnowable(dtype: string | undefined, dims: readonly number[]): boolean {
  return isWhole(dtype) && countOf(dims) <= maxKnownElements;
}

/** A plan for sizes that the model takes. */
export interface PlannedSizes extends Planned {
  readonly sizes: Bindings;
}

/**
 * The first sizes for which there is a plan within `limits`: those given, else guesses from small to large. Draws no inputs.
 * Throws InputError: `gpu-unsupported` for what the runtime does not do, or sizes that contradict the model.
 */
export function planSizes(
  model: OpenModel,
  given: GivenSizes,
  request: PlanRequest,
  limits: PlanLimits,
): PlannedSizes {
  let first: unknown;
  for (const [sizes] of sizeAttempts(model, given)) {
    if (sizes === undefined) continue;
    try {
      const planned = (own: Bindings) => {
        const found = planAt(model, own, request);
        return { ...found, plans: plansOf(found) };
      };
      return planWithin(model, given, sizes, limits, planned);
    } catch (error) {
      const isRefusal = error instanceof PlanError || error instanceof InputError;
      if (!isRefusal) throw error;
      first ??= error;
    }
  }
  if (first !== undefined) throw asInputError(model, first);
  throw new InputError("cannot-run", `${model.path}: there is nothing to run it on`);
}

function planAt(model: OpenModel, sizes: Bindings, request: PlanRequest): PlannedSizes {
  const shapes = inputShapes(model, sizes);
  const isSmall = ({ name, declared }: Value) =>
    declared?.kind === "tensor" && isKnowable(declared.dtype, shapes.get(name) ?? [Number.POSITIVE_INFINITY]);
  const known = () => knowable(drawInputs(model, drawFor(sizes), isSmall));
  try {
    return { ...planShapes(model, shapes, known, request), sizes };
  } catch (error) {
    throw error instanceof DataError ? explained(error, model, shapes) : error;
  }
}

/** What the plan hangs on could have been drawn, were it smaller. */
function explained(error: DataError, model: OpenModel, shapes: Shapes): PlanError {
  const large = requiredInputs(model).find(({ name, declared }) => {
    const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
    return isWhole(dtype) && countOf(shapes.get(name) ?? []) > maxKnownElements;
  });
  const limit = maxKnownElements.toLocaleString("en-US");
  const why =
    large === undefined
      ? `nothing but whole-number inputs of up to ${limit} elements is drawn for a plan`
      : `input "${large.name}" of [${shapes.get(large.name)?.join(",")}] is not drawn for a plan: only whole-number inputs of up to ${limit} elements are`;
  return new PlanError(error.operator, `${error.message}; ${why}`);
}

function inputShapes(model: OpenModel, sizes: Bindings): Shapes {
  const shapes = new Map<string, readonly number[]>();
  for (const { name, declared } of requiredInputs(model)) {
    const shape = declared?.kind === "tensor" ? declared.shape : undefined;
    const dims = shape?.map((dim) => evaluateDim(dim, sizes)).filter((size) => size !== undefined);
    if (dims !== undefined && dims.length === shape?.length) shapes.set(name, dims);
  }
  return shapes;
}

/** Inputs of these sizes: what a plan by `planSizes` holds for. */
export function drawPlanned(model: OpenModel, { sizes }: PlannedSizes): Tensors {
  return drawInputs(model, drawFor(sizes));
}

function drawFor(sizes: Bindings): Draw {
  return { kind: "normal", seed: 1, sizes, isNarrow: false };
}

/** Sizes of symbols, for reports. */
export function sizesOf(bindings: Bindings): Record<string, number> {
  return Object.fromEntries(bindings);
}
