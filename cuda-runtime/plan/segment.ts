/** @file A part of a graph as a plan: from values that are in memory to values that somebody wants there. */
import type { Facts } from "../../src/facts/infer.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { Model, TensorRef, Value } from "../../src/ir/model.ts";
import type { TensorBytes } from "../../src/ir/patch.ts";
import { cachesOf } from "../../src/ops/caches.ts";
import type { Fact } from "../../src/ops/op.ts";
import { notStored, sizesOfFact } from "../graph/known.ts";
import type { Chooser } from "../ir/question.ts";
import { h200, type Plan, PlanError, type PlanPort, type PlanTarget, type Step } from "../ir/step.ts";
import { isFloatStorage, isStorageType, type StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import { withBranches } from "./branches.ts";
import { PlanDraft } from "./buffers.ts";
import { PlanEmitter } from "./emitter.ts";
import { type Frame, ownerOf } from "./frame.ts";
import { frameAround, frameOf } from "./fusion.ts";
import { withPairs } from "./pairs.ts";
import { Planner } from "./planner.ts";
import { keepsCodes, type Precision, storageOf } from "./precision.ts";
import { refuseTooLarge, type Slot } from "./slots.ts";
import { ValueTable } from "./value-table.ts";
import type { PlanValues } from "./values.ts";

/** What all plans of a model have in common. */
export interface SegmentOptions {
  readonly model: Model;
  /** "model" unless given. */
  readonly precision?: Precision | undefined;
  readonly weights: (tensor: TensorRef) => TensorBytes;
  /** An H200 unless given. */
  readonly target?: PlanTarget | undefined;
  /**
   * Caches that are long enough take the new rows in their own memory: the input's bytes are the output's then, and a run changes
   * them. Else a run leaves its inputs as they are.
   */
  readonly shareCaches?: boolean | undefined;
  /** Answers where kernels can be chosen: by prediction unless given. */
  readonly chooser?: Chooser | undefined;
}

export interface SegmentRequest {
  /** The instance of the graph, whose facts are those of this run. */
  readonly scope: Scope;
  readonly inferBody: Facts["inferBody"];
  /** Values in memory, of the graph or of those around it: row-major, of the model's type unless another is given. */
  readonly given: ReadonlyMap<Value, StorageType | undefined>;
  /** Values of the graph to put into memory. */
  readonly wanted: readonly Value[];
  /** Among them, values that callers see: in the model's own types. */
  readonly isPort: (value: Value) => boolean;
}

export interface Segment {
  readonly plan: Plan;
  readonly takes: ReadonlyMap<Value, PlanPort>;
  readonly gives: ReadonlyMap<Value, PlanPort>;
}

/** Throws PlanError for what the runtime cannot do: a DataError where it would have to know what data decides. */
export function planSegment(request: SegmentRequest, options: SegmentOptions): Segment {
  const { model, precision = "model", target = h200, weights } = options;
  const { scope, given, wanted } = request;
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, target, precision === "tf32", options.chooser);
  const values = new ValueTable(emitter, {
    precision,
    weights,
    readElements: (tensor, limit) => model.reader.elements(tensor, limit),
  });
  const quantizedFor = keepsCodes(precision) ? target : undefined;
  const frame = frameOf(scope, framesAround(scope), wanted, quantizedFor, new Set(given.keys()));
  const takes = new Map<Value, PlanPort>();
  for (const [value, type] of given) {
    const owner = ownerOf(value, frame);
    if (owner !== undefined) takes.set(value, takePort(value, type, owner, precision, draft));
  }
  return draft.naming(() => {
    giveHomes(request, frame, values, options.shareCaches === true);
    new Planner(values, request.inferBody, quantizedFor).lowerGraph(frame);
    const outputs = wanted.map((value) => {
      const type = request.isPort(value) ? undefined : values.slotOf(value, frame).type;
      return [value, givePort(value, type, frame, values)] as const;
    });
    const { steps, ...finished } = draft.finish((steps) => withPairs(steps, target));
    const plan = {
      ...{ ...finished, steps: withBranches(opened(steps), target) },
      inputs: [...takes.values()],
      outputs: outputs.map(([, port]) => port),
    };
    return { plan, takes, gives: new Map(outputs) };
  });
}

function opened([first, ...others]: readonly Step[]): Step[] {
  return first === undefined ? [] : [{ ...first, action: { ...first.action, opensRun: true } }, ...others];
}

function framesAround({ parent, functionName }: Scope): Frame | undefined {
  // A function sees nothing around it.
  return parent === undefined || functionName !== undefined
    ? undefined
    : frameAround(parent, framesAround(parent));
}

/** In memory as the caller gives it: row-major. */
function takePort(
  value: Value,
  given: StorageType | undefined,
  { scope, slots }: Frame,
  precision: Precision,
  draft: PlanDraft,
): PlanPort {
  const view = portView(value, scope.fact(value), given, "input", draft);
  const { shape } = view;
  const fact = scope.fact(value);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  const stored = { dtype: dtype ?? view.type, shape, isWeight: false, producer: value.producer };
  const slot: Slot = {
    name: value.name,
    shape,
    type: storageOf(stored, precision) ?? view.type,
    state: { kind: "stored", view },
    converted: new Map(),
    isOperand: false,
    isRoot: true,
  };
  slots.set(value, slot);
  return { name: value.name, view };
}

/** `type`: the model's own unless given. */
function portView(
  value: Value,
  fact: Fact | undefined,
  type: StorageType | undefined,
  kind: "input" | "output",
  draft: PlanDraft,
): View {
  const subject = `${kind} "${value.name}"`;
  const refuse = (what: string) => new PlanError(kind, `${subject} ${what}`);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  if (fact?.kind !== "tensor" || !isStorageType(dtype)) throw refuse(notStored(fact));
  const shape = sizesOfFact(fact);
  if (shape === undefined) throw refuse("has an axis without a size: give --dim or --shape");
  refuseTooLarge(shape, kind, subject);
  draft.origin = { label: value.name, operator: kind, subject };
  return draft.allocate(kind, type ?? dtype, shape);
}

/** Present caches are written where the caller reads them: they are the largest outputs, and copies of them cost as much again. */
function giveHomes(request: SegmentRequest, frame: Frame, values: PlanValues, shares: boolean): void {
  const { draft } = values.emitter;
  const wanted = new Set(request.wanted.filter(request.isPort));
  for (const { past, present, kind } of cachesOf(frame.scope.graph)) {
    if (!frame.live.isLive(present) || !wanted.has(present)) continue;
    const slot = values.slotOf(present, frame);
    const before = values.slotOf(past, frame);
    const isOwn = past.consumers.length === 1 && before.state.kind === "stored";
    const isAlike = slot.shape.every((size, axis) => size === before.shape[axis]);
    const shared = shares && kind === "buffer" && isOwn && isAlike ? before.state : undefined;
    const home =
      shared?.kind === "stored"
        ? shared.view
        : portView(present, frame.scope.fact(present), undefined, "output", draft);
    // Rounded on the way out, it is another tensor.
    if (home.type === slot.type) frame.homes.set(present, home);
  }
}

function givePort(value: Value, type: StorageType | undefined, frame: Frame, values: PlanValues): PlanPort {
  const { name } = value;
  const { emitter } = values;
  const { draft } = emitter;
  const fact = frame.scope.fact(value);
  const slot = values.slotOf(value, frame);
  const home = frame.homes.get(value);
  const settled = slot.state.kind === "stored" ? slot.state.view : undefined;
  const isFree = home === undefined && settled !== undefined;
  if (isFree && isOfPort(settled, type, fact) && draft.handOut(settled, name)) return { name, view: settled };
  const view = home ?? portView(value, fact, type, "output", draft);
  const isMine = slot.type === view.type || (isFloatStorage(slot.type) && isFloatStorage(view.type));
  if (!isMine)
    throw new PlanError("output", `output "${name}" is computed as ${slot.type}, expected ${view.type}`);
  const written = slot.state.kind === "lazy" ? values.deferred.settle(slot, view) : values.rawViewOf(slot);
  if (written !== view) emitter.copy(written, view);
  return { name, view };
}

/** Whether the view is as its reader takes it: of this type (the model's own unless given), and of the value's shape. */
function isOfPort(view: View, type: StorageType | undefined, fact: Fact | undefined): boolean {
  if (fact?.kind !== "tensor" || view.type !== (type ?? fact.dtype)) return false;
  const wanted = sizesOfFact(fact);
  return wanted?.length === view.shape.length && wanted.every((size, axis) => size === view.shape[axis]);
}
