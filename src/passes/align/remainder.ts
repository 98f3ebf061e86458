/** @file Why a product that is off the multiple stays so, in a model that padding has been through. */
import type { Facts } from "../../facts/infer.ts";
import { type Atom, type Axis, atomsOf, sizeOfAxis } from "../../ir/axis.ts";
import { duration } from "../../ir/format.ts";
import { pushAll } from "../../ir/lists.ts";
import { findOp } from "../../ops/registry.ts";
import type { ProductWork } from "../../ops/work.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { Whole } from "../../workload/within-whole.ts";
import type { PassContext, Pricing } from "../pass.ts";
import { choosePadding, type MeasuredWork } from "./choose.ts";
import { freeAtoms } from "./free-atoms.ts";
import { ItemTimes } from "./item-times.ts";
import { atomsOfProduct } from "./padded.ts";
import { blockLeftOut, partNames } from "./parts.ts";
import type { Component } from "./problem.ts";
import type { Relations } from "./relate.ts";
import { safeRelations } from "./safe-relations.ts";

export interface Reason {
  /**
   * `forbidden`: it would be another function. The others: it may be padded, and does not pay; `other-axis` where another axis of the
   * same product does.
   */
  readonly kind:
    | "forbidden"
    | "elsewhere"
    | "edges"
    | "neighbours"
    | "min-saving"
    | "other-axis"
    | "uncertain";
  readonly message: string;
  /** Set where it would be padded together with others: what all of them would save. */
  readonly whole?: Whole | undefined;
}

export interface RemainderInput {
  readonly facts: Facts;
  readonly work: MeasuredWork;
  readonly pricing: Pricing;
  /** As the pass is told it. */
  readonly leftOut?: PassContext["leftOut"] | undefined;
}

/** Solves the model's components once; a reason for any product then. */
export function explainer({
  facts,
  work,
  pricing,
  leftOut,
}: RemainderInput): (product: CostedProduct) => Reason {
  const { relations } = safeRelations(facts);
  if (leftOut !== undefined) blockLeftOut(partNames(work.products, relations), leftOut);
  const atoms = freeAtoms(relations);
  // What would be padded if any saving were enough, and if inputs and outputs of the model were padded for nothing.
  const unbounded = { ...pricing, leastMicroseconds: 0 };
  const times = new ItemTimes(relations, unbounded);
  const paying = componentOf(choosePadding(relations, atoms, work, unbounded, { times }).components);
  const inside = componentOf(
    choosePadding(relations, atoms, work, unbounded, { edges: false, times }).components,
  );
  const wholes = new Map<Component, Whole>();
  const wholeOf = (component: Component) => {
    const whole = wholes.get(component) ?? { microseconds: component.savesMicroseconds };
    wholes.set(component, whole);
    return whole;
  };
  const isPadded = (product: CostedProduct, component: Component | undefined) =>
    [...atomsOfProduct(product, relations)].some((atom) => component?.sizes.has(atom));
  return (product) => {
    if (!product.scope.isMain) return elsewhere;
    // An axis that is forbidden says more than what another axis of the same product would save.
    const blocked = blocksOf(product, relations);
    if (blocked.length > 0) return { kind: "forbidden", message: `blocked: ${blocked.join("; ")}` };
    const component = paying.get(product);
    if (component !== undefined && isPadded(product, component))
      return component.savesMicroseconds < pricing.leastMicroseconds
        ? tooLittle(wholeOf(component), pricing)
        : otherAxis;
    if (component?.isUncertain === true) return mayBeNothing(component, wholeOf(component));
    const within = inside.get(product);
    if (within?.isUncertain === true) return mayBeNothing(within, wholeOf(within));
    if (isPadded(product, within)) {
      const message = "the Pad or Slice at an input or output of the model costs more than padding saves";
      return { kind: "edges", message };
    }
    const message = "padding costs more in the layers that it goes through than it saves here";
    return { kind: "neighbours", message };
  };
}

const elsewhere: Reason = {
  kind: "elsewhere",
  message: "it is in a subgraph or a function, where axes are not followed",
};

function componentOf(components: readonly Component[]): Map<CostedProduct, Component> {
  return new Map(
    components.flatMap((component) => component.products.map((product) => [product, component] as const)),
  );
}

/** What its component saves is enough: this is what is left of the product then. */
const otherAxis: Reason = {
  kind: "other-axis",
  message: "its other axes are padded; padding this one as well costs more than it saves",
};

/** Products of one component are padded together: what that saves is said of each of them, and is one saving. */
function mayBeNothing({ products: { length: count } }: Component, whole: Whole): Reason {
  const what = count > 1 ? `padding ${count} products together` : "padding";
  const does = `${what}, with what it costs around ${count > 1 ? "them" : "it"}, is predicted to`;
  const message = `${does} save ${duration(whole.microseconds)}, and may save nothing: its interval reaches 0`;
  return { kind: "uncertain", message, whole };
}

function tooLittle(whole: Whole, { leastMicroseconds, modelMicroseconds }: Pricing): Reason {
  const share = (100 * whole.microseconds) / modelMicroseconds;
  const least = (100 * leastMicroseconds) / modelMicroseconds;
  const message = `below --min-saving: with what it costs around it, padding saves ${share.toPrecision(2)} % of the model's time, less than ${least.toPrecision(2)} %`;
  return { kind: "min-saving", message, whole };
}

/** `97: LogSoftmax "p" normalizes over it`: what forbids padding the axes that are off the multiple. */
function blocksOf(product: CostedProduct, relations: Relations): string[] {
  const misaligned = new Set(contiguousAxes(product.sizes).filter((size) => size % multiple !== 0));
  const reasons = matrixAxes(product, relations)
    .filter((axis) => misaligned.has(sizeOfAxis(axis)) && !isFree(axis))
    .flatMap((axis) => atomsOf(axis).flatMap((atom) => reasonAgainst(atom)));
  if (misaligned.size === 1 && misaligned.has(1))
    reasons.push("1: a single element, which may stand for many");
  return [...new Set(reasons)];
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
  return atomsOf(axis).some(({ size, blocked }) => blocked === undefined && size > 1);
}

function reasonAgainst({ size, blocked }: Atom): string[] {
  return blocked === undefined || size === 1 ? [] : [`${size}: ${blocked}`];
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
