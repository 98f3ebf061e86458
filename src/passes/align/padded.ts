/** @file What a product asks of the GPU once atoms are padded: its operator's own account, on padded shapes. */
import { NodeContext } from "../../facts/context.ts";
import { type Atom, type Axis, atomsOf, type PaddedSizes, paddedSize } from "../../ir/axis.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Node, Value } from "../../ir/model.ts";
import type { Fact } from "../../ops/op.ts";
import { findOp } from "../../ops/registry.ts";
import { bindWork, type ProductWork, type TrafficWork } from "../../ops/work.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { TrafficStep } from "../../workload/timeline.ts";
import { freeAtomsOf } from "./free-atoms.ts";
import type { Relations, Rewrite } from "./relate.ts";

/** A fact with padded sizes for true ones, but at `positions`. Symbolic axes are never padded and stay symbolic. */
export function paddedFact(
  value: Value,
  relations: Relations,
  sizes: PaddedSizes,
  positions?: ReadonlySet<number>,
): Fact | undefined {
  const fact = relations.scope.fact(value);
  const axes = relations.axesOf(value);
  if (fact?.kind !== "tensor" || fact.shape === undefined || axes === undefined) return fact;
  const sizeAt = (dim: Dim, index: number) => {
    const axis = positions?.has(index) ? undefined : axes[index];
    return typeof dim === "number" && axis !== undefined ? paddedSize(axis, sizes) : dim;
  };
  if (fact.shape.every((dim, index) => sizeAt(dim, index) === dim)) return fact;
  return { kind: "tensor", dtype: fact.dtype, shape: fact.shape.map(sizeAt) };
}

/** One node on padded shapes. */
class PaddedContext extends NodeContext {
  readonly #inputs: readonly (Fact | undefined)[];
  readonly #attributes: ReadonlyMap<string, number | readonly number[]>;

  constructor(node: Node, relations: Relations, sizes: PaddedSizes) {
    const { inner } = relations;
    const fact = (value: Value | undefined, positions: ReadonlySet<number>) =>
      value === undefined ? undefined : paddedFact(value, relations, sizes, positions);
    super(
      node,
      relations.scope,
      node.outputs.map((value) => fact(value, inner.givenOf(value))),
    );
    this.#inputs = node.inputs.map((value, index) => fact(value, inner.takenBy(node, index)));
    this.#attributes = rewrittenAttributes(relations.rewritesOf(node), sizes);
  }

  override get inputs(): readonly (Fact | undefined)[] {
    return this.#inputs;
  }

  override int(name: string): number | undefined {
    const value = this.#attributes.get(name);
    return typeof value === "number" ? value : super.int(name);
  }

  override ints(name: string): readonly number[] | undefined {
    const value = this.#attributes.get(name);
    return typeof value === "object" ? value : super.ints(name);
  }
}

/** Numbers that the attributes of one node come to be. */
export function rewrittenAttributes(
  rewrites: readonly Rewrite[],
  sizes: PaddedSizes,
): ReadonlyMap<string, number | readonly number[]> {
  const attributes = new Map<string, number | readonly number[]>();
  for (const rewrite of rewrites)
    if (rewrite.kind === "attribute") attributes.set(rewrite.name, rewrite.value(sizes));
  return attributes;
}

/** Whether something in an axis may still be padded, by Slices and Pads where `areHeld`. */
export function mayGrow(axis: Axis, areHeld: boolean): boolean {
  return atomsOf(axis).some(({ blocked, held }) => blocked === undefined && (areHeld || held === undefined));
}

/** The product's work at padded sizes; undefined where its operator cannot tell. */
export function paddedWork(
  product: CostedProduct,
  relations: Relations,
  sizes: PaddedSizes,
  bindings: ReadonlyMap<string, number>,
): ProductWork<number> | undefined {
  if (product.decomposed !== undefined) return paddedAttention(product, relations, sizes);
  const context = new PaddedContext(product.node, relations, sizes);
  const works = findOp(product.node.domain, product.node.opType)?.work?.(context) ?? [];
  const work = works.find(({ kind }) => kind === product.work.kind);
  if (work === undefined || work.kind === "traffic") return undefined;
  const bound = bindWork(work, bindings);
  return bound === undefined ? undefined : { ...bound, dtype: product.sizes.dtype };
}

/** Whether the operator of a kernel's only node accounts for it. */
export function hasOwnTraffic({ nodes: [node, ...others], part }: TrafficStep): boolean {
  if (node === undefined || others.length > 0) return false;
  if (part === "conversion") return false;
  return part !== undefined || findOp(node.domain, node.opType)?.work !== undefined;
}

/** What a kernel of one node that only moves memory does at padded sizes; undefined where the node's operator does not account for it. */
export function paddedTraffic(
  { nodes: [node, ...others], part }: TrafficStep,
  relations: Relations,
  sizes: PaddedSizes,
  bindings: ReadonlyMap<string, number>,
): TrafficWork<number> | undefined {
  if (node === undefined || others.length > 0 || part === "conversion") return undefined;
  const context = new PaddedContext(node, relations, sizes);
  const op = findOp(node.domain, node.opType);
  const works =
    part === undefined
      ? op?.work?.(context)
      : [op?.body?.(context)?.[part]?.work].filter((work) => work !== undefined);
  const [work, ...more] = works ?? [];
  const bound = work === undefined || more.length > 0 ? undefined : bindWork(work, bindings);
  return bound?.kind === "traffic" ? bound : undefined;
}

/** Of attention written out, only the depth of a head can be padded: queries × keys sum over it. */
function paddedAttention(
  product: CostedProduct,
  relations: Relations,
  sizes: PaddedSizes,
): ProductWork<number> | undefined {
  const { decomposed, sizes: work } = product;
  if (decomposed === undefined || work.kind !== "attention") return undefined;
  const lastSize = (value: Value | undefined, position: number) => {
    const axis = value === undefined ? undefined : relations.axesOf(value)?.at(position);
    return axis === undefined ? undefined : paddedSize(axis, sizes);
  };
  const headDim = lastSize(decomposed.scores.inputs[0], -1) ?? work.headDim;
  const valueHeadDim = lastSize(decomposed.output.outputs[0], -1) ?? work.valueHeadDim;
  return { ...work, headDim, valueHeadDim };
}

/** Atoms that change a product's sizes. */
export function atomsOfProduct({ nodes }: CostedProduct, relations: Relations): ReadonlySet<Atom> {
  return freeAtomsOf(
    nodes.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]),
    relations,
  );
}
