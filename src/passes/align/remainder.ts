/** @file Why a product that is off the multiple stays so, in a model that padding has been through. */
import type { Facts } from "../../facts/infer.ts";
import { type Atom, type Axis, atomsOf, sizeOfAxis } from "../../ir/axis.ts";
import { duration } from "../../ir/format.ts";
import { pushAll } from "../../ir/lists.ts";
import { once } from "../../ir/once.ts";
import { findOp } from "../../ops/registry.ts";
import type { ProductWork } from "../../ops/work.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { Whole } from "../../workload/within-whole.ts";
import type { PassContext, Pricing } from "../pass.ts";
import type { MeasuredWork } from "./choose.ts";
import { freeAtoms } from "./free-atoms.ts";
import { ItemTimes } from "./item-times.ts";
import { LaneAnalysis } from "./lanes.ts";
import { blockLeftOut, partNames } from "./parts.ts";
import type { Component } from "./problem.ts";
import type { Relations } from "./relate.ts";
import { type SafeRelations, safeRelations } from "./safe-relations.ts";
import { Together } from "./together.ts";
import { heldAtoms } from "./wider.ts";

export interface Reason {
  /**
   * `forbidden`: it would be another function. The others: it may be padded, and does not pay; `other-axis` where another axis of the
   * same product does, `inside` where Slices and Pads inside the graph are what it takes.
   */
  readonly kind:
    | "forbidden"
    | "elsewhere"
    | "inside"
    | "edges"
    | "neighbours"
    | "min-saving"
    | "other-axis"
    | "uncertain";
  readonly message: string;
  /** Set where it would be padded together with others: what all of them would save. */
  readonly whole?: Whole | undefined;
  /** Set with it: the product's sizes then. */
  readonly padded?: ProductWork<number> | undefined;
}

export interface RemainderInput {
  readonly facts: Facts;
  readonly work: MeasuredWork;
  readonly pricing: Pricing;
  /** In what figures are told, where that is another than what padding is decided in: `decidedIn`. */
  readonly told?: { readonly pricing: Pricing; readonly decidedIn: string } | undefined;
  /**
   * What padding a product, with what is padded beside it, saves by the model's account, where padding that is left for being too little
   * was asked about: passes foresee it of each kernel by itself. Undefined where nobody asked, and for what is not padded then.
   */
  readonly accountOf?: ((product: CostedProduct) => Whole | undefined) | undefined;
  /** As the pass is told it. */
  readonly leftOut?: PassContext["leftOut"] | undefined;
}

/** Solves the model's components once; a reason for any product then. */
export function explainer({
  facts,
  work,
  pricing,
  told,
  accountOf,
  leftOut,
}: RemainderInput): (product: CostedProduct) => Reason {
  const safe = safeRelations(facts);
  const { relations } = safe;
  if (leftOut !== undefined) blockLeftOut(partNames(work.products, relations), leftOut);
  const place = once(() => ({ relations, atoms: freeAtoms(relations), work }));
  // What would be padded if any saving were enough, and if inputs and outputs of the model were padded for nothing.
  const unbounded = { ...pricing, leastMicroseconds: 0 };
  const times = new ItemTimes(relations, unbounded);
  const paying = once(() => new Together(place(), unbounded, { times }, told?.pricing));
  const atEnds = once(() => new Together(place(), unbounded, { edges: false, times }, told?.pricing));
  const blockOn = blocksIn(safe, work, pricing);
  return (product) => {
    if (!product.scope.isMain) return elsewhere;
    // An axis that is forbidden says more than what another axis of the same product would save.
    const blocked = blockOn(product);
    if (blocked !== undefined) return blocked;
    const component = paying().of(product);
    if (component !== undefined && paying().isPadded(product))
      return component.savesMicroseconds < pricing.leastMicroseconds
        ? asPart(
            product,
            component,
            paying(),
            (whole, padding) => tooLittle(padding, whole, pricing, told),
            accountOf,
          )
        : otherAxis;
    for (const solved of [paying, atEnds]) {
      const unsure = solved().of(product);
      if (unsure?.isUncertain === true)
        return asPart(product, unsure, solved(), (whole, padding) => mayBeNothing(padding, whole, told));
    }
    if (atEnds().isPadded(product)) {
      const lack = pricing.cannotPad(product.sizes.dtype);
      const message =
        lack === undefined
          ? "the Pad or Slice at an input or output of the model costs more than padding saves"
          : `it takes a Pad at an input of the model, and ${lack}`;
      return { kind: "edges", message };
    }
    const message = "padding costs more in the layers that it goes through than it saves here";
    return { kind: "neighbours", message };
  };
}

const none: ReadonlySet<Atom> = new Set();
const unsureInside = "may save nothing with the Slices and Pads that it takes";

/**
 * What forbids padding a product, with or without Slices and Pads inside; undefined where nothing does. What these would do for is no
 * reason beside what forbids it.
 */
function blocksIn(
  safe: SafeRelations,
  { products }: MeasuredWork,
  { inside }: Pricing,
): (product: CostedProduct) => Reason | undefined {
  const { relations, fills } = safe;
  const held = once(() => (inside === undefined ? none : heldAtoms(safe, products)));
  const lanes = once(() => new LaneAnalysis(relations, fills));
  return (product) => {
    const stay = misalignedAxes(product, relations).filter((axis) => !isFree(axis));
    const atoms = stay.filter((axis) => !isHeld(axis, held())).flatMap((axis) => atomsOf(axis));
    const blocked = reasonsAgainst(atoms, product);
    if (blocked.length > 0) {
      const message = `blocked: ${blocked.join("; ")}`;
      const unsafe = inside === undefined ? undefined : unsafeInside(atoms, lanes());
      return { kind: "forbidden", message: unsafe === undefined ? message : `${message}; ${unsafe}` };
    }
    const may = stay.flatMap((axis) => atomsOf(axis).filter((atom) => held().has(atom)));
    const why = reasonsAgainst(may, product);
    return why.length === 0 ? undefined : { kind: "inside", message: `${unsureInside}: ${why.join("; ")}` };
  };
}

/** Whether an axis could be padded with Slices and Pads. */
function isHeld(axis: Axis, held: ReadonlySet<Atom>): boolean {
  return atomsOf(axis).some((atom) => held.has(atom));
}

/** What stands against padding axes that only ask for Slices and Pads; undefined where nothing does, or one is blocked. */
function unsafeInside(atoms: readonly Atom[], lanes: LaneAnalysis): string | undefined {
  if (atoms.some(({ blocked }) => blocked !== undefined)) return undefined;
  for (const atom of atoms) {
    const reason = atom.held === undefined ? undefined : lanes.reasonAgainst(atom);
    if (reason !== undefined) return `with a Slice in front of that, ${reason}`;
  }
  return undefined;
}

/** Products of one component are padded together: what that saves is said of each of them, and is one saving. */
function asPart(
  product: CostedProduct,
  component: Component,
  solved: Together,
  reasonOf: (whole: Whole, padding: string) => Reason,
  accountOf?: RemainderInput["accountOf"],
): Reason {
  const whole = accountOf?.(product) ?? solved.wholeOf(component);
  const padding = paddingText(solved.padsHowMany(component));
  return { ...reasonOf(whole, padding), whole, padded: solved.paddedIn(component, product) };
}

const elsewhere: Reason = {
  kind: "elsewhere",
  message: "it is in a subgraph or a function, where axes are not followed",
};

/** What its component saves is enough: this is what is left of the product then. */
const otherAxis: Reason = {
  kind: "other-axis",
  message: "its other axes are padded; padding this one as well costs more than it saves",
};

/** What a reason's figures are of: of all products that are padded together, where these are several. */
function paddingText(count: number): string {
  return count > 1
    ? `padding ${count} products together, with what it costs around them,`
    : "padding, with what it costs around it,";
}

function mayBeNothing(does: string, { microseconds }: Whole, told: RemainderInput["told"]): Reason {
  const saves = `is predicted to ${microseconds < 0 ? "cost" : "save"} ${duration(Math.abs(microseconds))}`;
  const message =
    told === undefined
      ? `${does} ${saves}, and may save nothing: its interval reaches 0`
      : `in ${told.decidedIn} ${does} may save nothing: its interval reaches 0; as stored it ${saves}`;
  return { kind: "uncertain", message };
}

function tooLittle(
  does: string,
  { microseconds }: Whole,
  { leastMicroseconds, modelMicroseconds }: Pricing,
  told: RemainderInput["told"],
): Reason {
  const partOf = (time: number, model: number) => `${((100 * time) / model).toPrecision(2)} %`;
  if (told !== undefined) {
    const part = partOf(Math.abs(microseconds), told.pricing.modelMicroseconds);
    const saves = `${microseconds < 0 ? "costs" : "saves"} ${part} of the model's time`;
    const message = `in ${told.decidedIn} below --min-saving; as stored ${does} ${saves}`;
    return { kind: "min-saving", message };
  }
  const [share, least] = [microseconds, leastMicroseconds].map((time) => partOf(time, modelMicroseconds));
  const message = `below --min-saving: ${does} saves ${share} of the model's time, less than ${least}`;
  return { kind: "min-saving", message };
}

/** `97: LogSoftmax "p" normalizes over it`: why what is off the multiple in a product stays so. */
function reasonsAgainst(atoms: readonly Atom[], product: CostedProduct): string[] {
  const reasons = atoms.flatMap((atom) => reasonAgainst(atom));
  const misaligned = misalignedSizes(product);
  if (misaligned.size === 1 && misaligned.has(1))
    reasons.push("1: a single element, which may stand for many");
  return [...new Set(reasons)];
}

function misalignedSizes({ sizes }: CostedProduct): ReadonlySet<number> {
  return new Set(contiguousAxes(sizes).filter((size) => size % multiple !== 0));
}

function misalignedAxes(product: CostedProduct, relations: Relations): Axis[] {
  const misaligned = misalignedSizes(product);
  return matrixAxes(product, relations).filter((axis) => misaligned.has(sizeOfAxis(axis)));
}

/** Axes of the product's matrices: channels of a convolution, not its taps and positions. */
function matrixAxes({ nodes, sizes }: CostedProduct, relations: Relations): Axis[] {
  const multiplying = nodes.filter(({ domain, opType }) => findOp(domain, opType)?.product === true);
  const found: Axis[] = [];
  for (const { inputs, outputs } of multiplying) {
    for (const [role, value] of [...inputs.slice(0, 2), outputs[0]].entries()) {
      const axes = value === undefined ? [] : (relations.axesOf(value) ?? []);
      const isWeight = role === 1;
      const channels = isWeight ? axes.slice(0, 2) : axes.slice(1, 2);
      pushAll(found, sizes.kind === "conv" ? channels : axes.slice(-2));
    }
  }
  return found;
}

/** One atom that may grow makes the whole axis a multiple of what it is padded to. */
function isFree(axis: Axis): boolean {
  return atomsOf(axis).some(({ size, blocked, held }) => (blocked ?? held) === undefined && size > 1);
}

function reasonAgainst({ size, blocked, held }: Atom): string[] {
  const reason = blocked ?? held;
  return reason === undefined || size === 1 ? [] : [`${size}: ${reason}`];
}

/** Halves in the 16 bytes of one load. */
const multiple = 8;

/** Axes that a kernel loads by vectors. */
export function contiguousAxes(work: ProductWork<number>): readonly number[] {
  switch (work.kind) {
    case "gemm":
      return [work.transA ? work.m : work.k, work.transB ? work.k : work.n, work.n];
    case "conv":
      return work.groups === work.channels ? [] : [work.channels / work.groups, work.filters / work.groups];
    case "attention":
      return [work.headDim, work.valueHeadDim];
    case "recurrent":
      return [work.hiddenSize, work.inputSize];
  }
}
