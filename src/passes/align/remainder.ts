/** @file Why a product that is off the multiple stays so, in a model that padding has been through. */

import type { Facts } from "../../facts/infer.ts";
import { type Atom, type Axis, atomsOf, sizeOfAxis } from "../../ir/axis.ts";
import type { ProductWork } from "../../ops/work.ts";
import type { Pricing, SizedProduct } from "../pass.ts";
import { choosePadding, type MeasuredWork } from "./choose.ts";
import { allAxes, blockUnsafe, collectFills } from "./lanes.ts";
import { freeAtoms, type Relations, relate } from "./relate.ts";

export interface Reason {
  /** `forbidden`: it would be another function. The others: it may be padded, and does not pay. */
  readonly kind: "forbidden" | "elsewhere" | "edges" | "neighbours" | "min-saving";
  readonly message: string;
}

export interface RemainderInput {
  readonly facts: Facts;
  readonly work: MeasuredWork;
  readonly pricing: Pricing;
}

/** Solves the model's components once; a reason for any product then. */
export function explainer({ facts, work, pricing }: RemainderInput): (product: SizedProduct) => Reason {
  const relations = relate(facts);
  blockUnsafe(relations, freeAtoms(allAxes(relations)), collectFills(relations));
  const atoms = freeAtoms(allAxes(relations));
  const { components } = choosePadding(relations, atoms, work, pricing);
  const within = choosePadding(relations, atoms, work, pricing, { edges: false }).components;
  return (product) => {
    if (product.scope !== facts.root)
      return { kind: "elsewhere", message: "it is in a subgraph or a function, where axes are not followed" };
    const at = components.findIndex(({ products }) => products.includes(product));
    const saves = components[at]?.savesMicroseconds ?? 0;
    const blocked = blocksOf(product, relations);
    // An axis that is forbidden says more than what another axis of the same product would save.
    if (blocked.length > 0) return { kind: "forbidden", message: `blocked: ${blocked.join("; ")}` };
    if (saves > worthMentioning) return tooLittle(saves, pricing);
    if ((within[at]?.savesMicroseconds ?? 0) > worthMentioning) {
      const message = "the Pad or Slice at an input or output of the model costs more than padding saves";
      return { kind: "edges", message };
    }
    const message = "padding costs more in the layers that it goes through than it saves here";
    return { kind: "neighbours", message };
  };
}

/** Microseconds. */
const worthMentioning = 1e-6;

function tooLittle(saves: number, { leastMicroseconds, modelMicroseconds }: Pricing): Reason {
  const share = (100 * saves) / modelMicroseconds;
  const least = (100 * leastMicroseconds) / modelMicroseconds;
  const message = `below --min-saving: padding saves ${share.toPrecision(2)} % of the model's time, less than ${least.toPrecision(2)} %`;
  return { kind: "min-saving", message };
}

/** `97: LogSoftmax "p" normalizes over it`: what forbids padding the axes that are off the multiple. */
function blocksOf(product: SizedProduct, relations: Relations): string[] {
  const misaligned = new Set(contiguousAxes(product.sizes).filter((size) => size % multiple !== 0));
  const values = product.nodes.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]);
  const axes = values.flatMap((value) => (value === undefined ? [] : (relations.axesOf(value) ?? [])));
  const reasons = axes
    .filter((axis) => misaligned.has(sizeOfAxis(axis)) && !isFree(axis))
    .flatMap((axis) => atomsOf(axis).flatMap((atom) => reasonAgainst(atom)));
  return [...new Set(reasons)];
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
