/** @file A file to a plan: opened, perhaps repaired, with inputs that it takes. */
import { planModel } from "../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { type Plan, PlanError, type PlanTarget } from "../../cuda-runtime/plan/step.ts";
import { runToFixedPoint } from "../fix/fix.ts";
import { patched } from "../fix/pipeline.ts";
import { bytesOf } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { Model, TensorRef } from "../ir/model.ts";
import type { TensorBytes } from "../ir/patch.ts";
import { exposeValues } from "../onnx/expose.ts";
import { modelFromSource, type OpenModel, openModel } from "../onnx/open.ts";
import { tensorBytes } from "../onnx/tensor-bytes.ts";
import { weightFiles } from "../onnx/weights.ts";
import type { Fact } from "../ops/op.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import type { Tensor, Tensors } from "../verify/index.ts";
import { drawInputs } from "../verify/inputs.ts";
import { roundWeights } from "../verify/rounded.ts";
import { type GivenSizes, sizeAttempts } from "../verify/sizes.ts";
import { countOf } from "../verify/tensor.ts";
import type { Bindings } from "../verify/use.ts";
import { SegmentSource } from "../wire/segments.ts";
import { fixSettings } from "./fix-settings.ts";
import type { ModelRequest } from "./gpu-protocol.ts";

/** A model as requested, for as long as the file that it reads from is open. */
export interface PreparedModel extends Disposable {
  readonly model: OpenModel;
}

/** Throws InputError: `weights-missing` where it is to be run, repaired or rounded without its weights. */
export function prepareModel(
  { path, fix, rounded, expose = [] }: ModelRequest,
  { isRun = true }: { readonly isRun?: boolean } = {},
): PreparedModel {
  const original = openModel(path);
  try {
    const absent = missingWeights(original);
    if (absent !== undefined && (isRun || fix !== undefined || rounded !== undefined)) throw absent;
    let model = original;
    if (fix !== undefined) model = runToFixedPoint(model, fixSettings(fix.plan, fix.flags)).model;
    if (rounded !== undefined) model = patched(model, roundWeights(model, rounded), "tc-lint.rounded.data");
    if (expose.length > 0) {
      const segments = exposeValues(model, model.source, expose);
      model = modelFromSource(new SegmentSource(path, segments), model.files);
    }
    return { model, [Symbol.dispose]: () => original[Symbol.dispose]() };
  } catch (error) {
    original[Symbol.dispose]();
    throw error;
  }
}

/** What to tell a user whose model's weights are elsewhere; undefined where they are there. */
export function missingWeights(model: OpenModel): InputError | undefined {
  // What a repair has made is nowhere on the disk.
  const absent = weightFiles(model).find(
    ({ present, location }) => !present && !model.files.made.has(location),
  );
  if (absent === undefined) return undefined;
  return new InputError(
    "weights-missing",
    `${model.path}: its weights are in "${absent.location}", which is not there; running it needs them`,
  );
}

/** A weight's bytes; where they are not there, whoever reads them is told so. */
function weightOf(model: OpenModel, tensor: TensorRef, absent: InputError | undefined): TensorBytes {
  if (absent === undefined || tensor.data.kind !== "external")
    return tensorBytes(model.source, model.files, tensor, encodeNumbers);
  const { dtype, dims } = tensor;
  const size = dtype === undefined ? 0 : bytesOf(dtype, countOf(dims));
  return {
    size,
    readInto: () => {
      throw absent;
    },
  };
}

export interface PlanRequest {
  readonly precision: Precision;
  readonly target: PlanTarget;
}

export interface Planned {
  readonly plan: Plan;
  /** Inputs whose elements the plan holds for: sizes, axes, numbers of rounds. */
  readonly known: readonly string[];
}

/** Elements of an input that a plan may depend on. */
const maxKnownElements = 4096;

/**
 * For inputs of these shapes. Elements of whole-number inputs are told to the planner only where it does not work
 * without. Throws PlanError for what the runtime does not do, InputError for sizes that contradict the model.
 */
export function planFor(model: OpenModel, inputs: Tensors, { precision, target }: PlanRequest): Planned {
  const shapes = new Map([...inputs].map(([name, { dims }]) => [name, dims]));
  const facts = knowable(inputs);
  const absent = missingWeights(model);
  const attempt = (known: ReadonlyMap<string, Fact>): Planned => ({
    plan: planModel({
      model,
      precision,
      target,
      shapes,
      known,
      weights: (tensor) => weightOf(model, tensor, absent),
    }),
    known: [...known.keys()],
  });
  try {
    return attempt(new Map());
  } catch (error) {
    if (!(error instanceof PlanError) || facts.size === 0) throw error;
    return retried(() => attempt(facts), error);
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
  for (const [name, tensor] of inputs) {
    const elements = wholeNumbers(tensor);
    if (elements === undefined) continue;
    const { dtype, dims } = tensor;
    facts.set(name, { kind: "tensor", dtype, shape: dims, elements });
  }
  return facts;
}

function wholeNumbers({ dtype, dims, data }: Tensor): number[] | undefined {
  const isWhole = dtype === "bool" || /^u?int/.test(dtype);
  return isWhole && countOf(dims) <= maxKnownElements ? Array.from(data, Number) : undefined;
}

/** Inputs drawn for sizes that the model takes, and their plan. */
export interface Drawn extends Planned {
  readonly inputs: Tensors;
  readonly sizes: Bindings;
}

/** The first sizes for which there is a plan: those given, else guesses from small to large. */
export function planDrawn(model: OpenModel, given: GivenSizes, request: PlanRequest): Drawn {
  let first: unknown;
  for (const [sizes] of sizeAttempts(model, given)) {
    if (sizes === undefined) continue;
    try {
      const inputs = drawInputs(model, { kind: "normal", seed: 1, sizes, isNarrow: false });
      return { ...planFor(model, inputs, request), inputs, sizes };
    } catch (error) {
      const isRefusal = error instanceof PlanError || error instanceof InputError;
      if (!isRefusal) throw error;
      first ??= error;
    }
  }
  throw first ?? new InputError("cannot-run", `${model.path}: there is nothing to run it on`);
}

/** Sizes of symbols, for reports. */
export function sizesOf(bindings: Bindings): Record<string, number> {
  return Object.fromEntries(bindings);
}

/** Values of the main graph that can be looked at: float tensors that nodes make, in order. */
export function innerValues({ graph }: Model): string[] {
  return graph.nodes.flatMap(({ outputs }) => outputs.flatMap((value) => value?.name ?? []));
}
