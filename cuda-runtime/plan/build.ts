/** @file A model and its sizes to a plan. No GPU is needed: what is to run on one can be printed anywhere. */
import { alwaysPlanned, expandedNodes, maxPlannedPerNode, writtenNodes } from "../../src/facts/expansion.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { isConstant } from "../../src/facts/scope.ts";
import type { Model, TensorRef, Value } from "../../src/ir/model.ts";
import type { TensorBytes } from "../../src/ir/patch.ts";
import type { Fact } from "../../src/ops/op.ts";
import { notStored, sizesOfFact } from "../graph/known.ts";
import { h200, type Plan, PlanError, type PlanPort, type PlanTarget } from "../ir/step.ts";
import { isFloatStorage, isStorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import { PlanDraft } from "./buffers.ts";
import { refuseSkipped } from "./control-body.ts";
import { PlanEmitter } from "./emitter.ts";
import type { Frame } from "./frame.ts";
import { Planner } from "./planner.ts";
import { type Precision, storageOf } from "./precision.ts";
import { refuseTooLarge, type Slot } from "./slots.ts";
import { ValueTable } from "./value-table.ts";
import type { PlanValues } from "./values.ts";

export interface PlanOptions {
  readonly model: Model;
  /** "model" unless given. */
  readonly precision?: Precision | undefined;
  /** Sizes of symbolic dims, and of inputs by name. */
  readonly dims?: ReadonlyMap<string, number> | undefined;
  readonly shapes?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Inputs whose elements are known: sizes, axes. The plan then holds for these elements alone. */
  readonly known?: ReadonlyMap<string, Fact> | undefined;
  readonly weights: (tensor: TensorRef) => TensorBytes;
  /** An H200 unless given. */
  readonly target?: PlanTarget | undefined;
}

/** Throws PlanError for what the runtime cannot do, InputError for sizes that contradict the model. */
export function planModel(options: PlanOptions): Plan {
  const { model, precision = "model", target = h200, weights } = options;
  refuseExpansion(model);
  const facts = inferFacts(model, { dims: options.dims, shapes: options.shapes, inputs: options.known });
  refuseSkipped(facts.root);
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, target, precision === "tf32");
  const values = new ValueTable(emitter, {
    precision,
    weights,
    readElements: (tensor, limit) => model.reader.elements(tensor, limit),
  });
  const planner = new Planner(values, facts.inferBody, precision === "model" ? target : undefined);
  const frame = planner.frameOf(facts.root, undefined);
  const inputs = model.graph.inputs
    .filter((value) => !isConstant(value, model))
    .map((value) => inputPort(value, frame, precision, draft));
  return draft.naming(() => {
    planner.lowerGraph(frame);
    const outputs = model.graph.outputs.map((value) => outputPort(value, frame, values, draft));
    return { ...draft.finish(), inputs, outputs };
  });
}

/**
 * Every call is lowered anew, which costs what the body does: a model whose functions call each other twice over would
 * become more than its size is a reason for.
 */
function refuseExpansion(model: Model): void {
  const nodes = expandedNodes(model);
  if (nodes <= alwaysPlanned) return;
  const most = Math.max(alwaysPlanned, maxPlannedPerNode * writtenNodes(model));
  if (nodes <= most) return;
  const [found, limit] = [nodes, most].map(countText);
  throw new PlanError(
    "functions",
    `the model's functions expand to ${found} nodes, more than a plan of a model of its size holds (${limit})`,
  );
}

function countText(count: number): string {
  return count < 1e15 ? count.toLocaleString("en-US") : count.toExponential(1);
}

/** In memory as the caller gives it: row-major, of the model's type. */
function inputPort(value: Value, { scope, slots }: Frame, precision: Precision, draft: PlanDraft): PlanPort {
  const view = portView(value, scope.fact(value), "input", draft);
  const { shape } = view;
  const stored = { dtype: view.type, shape, isWeight: false, producer: value.producer };
  const type = storageOf(stored, precision) ?? view.type;
  const slot: Slot = {
    name: value.name,
    shape,
    type,
    state: { kind: "stored", view },
    converted: new Map(),
    isOperand: false,
    isRoot: true,
  };
  slots.set(value, slot);
  return { name: value.name, view };
}

function portView(value: Value, fact: Fact | undefined, kind: "input" | "output", draft: PlanDraft): View {
  const subject = `${kind} "${value.name}"`;
  const refuse = (what: string) => new PlanError(kind, `${subject} ${what}`);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  if (fact?.kind !== "tensor" || !isStorageType(dtype)) throw refuse(notStored(fact));
  const shape = sizesOfFact(fact);
  if (shape === undefined) throw refuse("has an axis without a size: give --dim or --shape");
  refuseTooLarge(shape, kind, subject);
  draft.origin = { label: value.name, operator: kind, subject };
  return draft.allocate(kind, dtype, shape);
}

function outputPort(value: Value, frame: Frame, values: PlanValues, draft: PlanDraft): PlanPort {
  const { name } = value;
  const view = portView(value, frame.scope.fact(value), "output", draft);
  const slot = values.slotOf(value, frame);
  const { emitter } = values;
  const isMine = slot.type === view.type || (isFloatStorage(slot.type) && isFloatStorage(view.type));
  if (!isMine)
    throw new PlanError("output", `output "${name}" is computed as ${slot.type}, expected ${view.type}`);
  const settled = slot.state.kind === "lazy" ? values.deferred.settle(slot, view) : values.rawViewOf(slot);
  if (settled !== view) emitter.copy(settled, view);
  return { name, view };
}
