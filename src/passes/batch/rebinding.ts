/** @file The edits that give a graph another batch: types of its ends, lists of sizes, operands that were alone. */
import type { Facts } from "../../facts/infer.ts";
import { type Dim, type Shape, substituteDim, symbol } from "../../ir/dim.ts";
import type { Node, Value, ValueType } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import { alikeInputs } from "../../ops/samples.ts";
import { asTensor, elementsOf, numbersOf } from "../../ops/shape.ts";
import type { PassContext } from "../pass.ts";
import { removeUnread } from "../unread.ts";
import { type Batch, placeOf } from "./samples.ts";
import { assumedShape, sizedNode, type Target, targetFor } from "./targets.ts";
import { Writer } from "./writer.ts";

export class Rebinding {
  readonly batch: Batch;
  readonly inputs: readonly Value[];
  readonly #context: PassContext;
  /** Values that samples reach. */
  readonly #reached: ReadonlySet<Value>;
  readonly #targets = new Map<Node, Target>();
  /** By node: positions of inputs that become as many as there are samples, and the axis. */
  readonly #alike = new Map<Node, Map<number, number>>();

  constructor(context: PassContext, batch: Batch, inputs: readonly Value[]) {
    this.#context = context;
    this.batch = batch;
    this.inputs = inputs;
    this.#reached = reachedFrom(inputs, context.model.graph.nodes);
    this.#assume();
  }

  get changes(): number {
    return this.#targets.size + this.#alike.size;
  }

  /** As if the batch stayed in front. */
  #assume(): void {
    const { facts, model } = this.#context;
    for (const node of model.graph.nodes) {
      const [input, ...others] = node.inputs;
      const isFed = input !== undefined && this.#reached.has(input);
      const sized =
        isFed && !others.some((each) => each !== undefined && this.#reached.has(each))
          ? sizedNode(node, facts)
          : undefined;
      const shape = input && facts.root.shape(input);
      const target = sized && shape && targetFor(sized, assumedShape(shape, this.batch), this.batch);
      if (target !== undefined) this.#targets.set(node, target);
    }
  }

  /** Corrects what was assumed by what was inferred of it; false where that is right. */
  correct(after: Facts): boolean {
    const { facts, model } = this.#context;
    const stale = new Set<Value>();
    let isChanged = false;
    for (const node of model.graph.nodes) {
      const isStale = node.inputs.some((input) => input !== undefined && stale.has(input));
      if (!isStale && !this.#correctAt(node, facts, after)) continue;
      isChanged = true;
      for (const output of node.outputs) if (output !== undefined) stale.add(output);
    }
    return isChanged;
  }

  #correctAt(node: Node, before: Facts, after: Facts): boolean {
    const shapes = node.inputs.map((input) => shapeIn(after, input));
    return this.#correctTarget(node, shapes[0], { before, after }) || this.#correctAlike(node, shapes);
  }

  #correctTarget(
    node: Node,
    shape: Shape | undefined,
    { before, after }: Record<"before" | "after", Facts>,
  ): boolean {
    const sized = sizedNode(node, before);
    const sizes = sized && node.inputs[sized.input.index];
    if (sized === undefined || shape === undefined || sizes === undefined) return false;
    // Computed from samples' own sizes, it holds at any.
    if (this.#reached.has(sizes) && numbersIn(after, sizes) === undefined) return false;
    const target = targetFor(sized, shape, this.batch);
    if (String(target?.sizes) === String(this.#targets.get(node)?.sizes)) return false;
    if (target === undefined) this.#targets.delete(node);
    else this.#targets.set(node, target);
    return true;
  }

  #correctAlike(node: Node, shapes: readonly (Shape | undefined)[]): boolean {
    const place = shapes
      .map((shape) => placeOf(shape, this.batch))
      .find((each) => each !== undefined && each !== null);
    if (place === undefined || place === null || this.#alike.has(node)) return false;
    const { indexes, axis } = alikeInputs(node, place);
    const alone = indexes.filter((index) => {
      const shape = shapes[index];
      return shape !== undefined && placeOf(shape, this.batch) === undefined && shape[axis] === 1;
    });
    if (alone.length === 0 || alone.length === shapes.filter((shape) => shape !== undefined).length)
      return false;
    this.#alike.set(node, new Map(alone.map((index) => [index, axis])));
    return true;
  }

  /** With the batch as a symbol, or as the number that stands for it; types of results as far as `after` knows them. */
  patch(after: Facts | undefined, size: number | undefined): Patch {
    const { model } = this.#context;
    const patch = new Patch();
    const graph = patch.of(model.graph);
    const typed = (value: Value, shape: Shape | undefined): ValueType => ({
      kind: "tensor",
      dtype: value.declared?.kind === "tensor" ? value.declared.dtype : undefined,
      shape: size === undefined ? shape : shape?.map((dim) => this.#at(dim, size)),
    });
    for (const input of this.inputs) graph.edges.set(input.name, typed(input, inputShape(input, this.batch)));
    for (const value of this.#reached) {
      if (value.isInput || value.declared?.kind !== "tensor" || value.graph !== model.graph) continue;
      const shape = after && shapeIn(after, value);
      if (value.isOutput) graph.edges.set(value.name, typed(value, shape));
      else graph.declared.set(value.name, shape === undefined ? null : typed(value, shape));
    }
    const writer = new Writer(patch, this.inputs[0]?.name ?? "", this.#context);
    for (const node of new Set([...this.#targets.keys(), ...this.#alike.keys()]))
      writer.rewrite(node, this.#targets.get(node), this.#alike.get(node));
    if (after !== undefined) removeUnread(model.graph, graph, this.#context);
    return patch;
  }

  #at(dim: Dim, size: number): Dim {
    return substituteDim(dim, (name) => (name === this.batch.symbol ? size : undefined));
  }
}

function inputShape({ declared }: Value, batch: Batch): Shape | undefined {
  return declared?.kind === "tensor" && declared.shape !== undefined
    ? [symbol(batch.symbol), ...declared.shape.slice(1)]
    : undefined;
}

/** Shapes of a model that was patched are those of values of the same name. */
function shapeIn(facts: Facts, value: Value | undefined): Shape | undefined {
  const there = value && facts.model.graph.values.get(value.name);
  return there && facts.root.shape(there);
}

function numbersIn(facts: Facts, value: Value): readonly number[] | undefined {
  const there = facts.model.graph.values.get(value.name);
  return numbersOf(elementsOf(asTensor(there && facts.root.fact(there))));
}

function reachedFrom(inputs: readonly Value[], nodes: readonly Node[]): Set<Value> {
  const reached = new Set(inputs);
  for (const node of nodes) {
    if (!node.inputs.some((input) => input !== undefined && reached.has(input))) continue;
    for (const output of node.outputs) if (output !== undefined) reached.add(output);
  }
  return reached;
}
