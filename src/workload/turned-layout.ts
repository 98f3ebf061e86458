/**
 * @file What ONNX Runtime makes of layouts where it turns convolutions to NHWC as it loads a file: each gets a Transpose before it and one behind it, and
 * those are pushed down the graph across what has no layout, until they cancel with the next, with one that the file has, or stay.
 *
 * Source: TransformLayoutForEP and PostLayoutTransformCostCheck (layout_transformation.cc), which push a Transpose of channels wherever they can, but for
 * Concat, of which that is a guess here.
 */
import { isNhwcCall, spellsLayout } from "../facts/nhwc-body.ts";
import type { Scope } from "../facts/scope.ts";
import { choosesLayout, type Stack } from "../hardware/stacks.ts";
import { push } from "../ir/group.ts";
import type { Node, Value } from "../ir/model.ts";
import { permutationOf, traitsOf } from "../ops/ask.ts";
import { transposeWork } from "../ops/movement/transpose.ts";
import { movesToLast, movesToSecond, toLast, toSecond } from "../ops/permutations.ts";
import { findOp } from "../ops/registry.ts";
import type { Layout } from "../ops/traits.ts";
import { bindWork, type Work } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import { type Bound, sizesOf } from "./values.ts";

/** Operators that a Transpose is moved across, wherever their axes are. */
export const isCrossed: Readonly<Record<Layout, boolean>> = {
  lanewise: true,
  scaled: true,
  channels: false,
  axis: true,
  sliced: true,
  padded: true,
  reduced: true,
  gathered: false,
  view: false,
  fixed: false,
};

export interface Turned {
  /** Transposes of the file that are gone. */
  readonly cancelled: ReadonlySet<Node>;
  /** Passes that stay, by the node for which they are made. */
  readonly conversions: ReadonlyMap<Node, readonly Work<number>[]>;
}

/** Of one graph; undefined where the stack leaves layouts as the file has them, or works with both. */
export function turnedLayout(scope: Scope, stack: Stack, bound: Bound): Turned | undefined {
  if (!stack.cancelsTransposes || !choosesLayout(stack)) return undefined;
  const layouts = new Layouts(scope, stack, bound);
  return layouts.hasTurned() ? layouts.walk() : undefined;
}

/**
 * How a value lies: in NHWC; in an order that the file spells as NHWC by local functions; as a function's operand, which its caller decides. What is in
 * the file's order is not listed.
 */
type Lying = "nhwc" | "spelled" | "either";

class Layouts {
  readonly #scope: Scope;
  readonly #stack: Stack;
  readonly #bound: Bound;
  readonly #constants: ConstantValues;
  readonly #lying = new Map<Value, Lying>();
  /** Values that there is a pass for already. */
  readonly #converted = new Set<Value>();
  readonly #cancelled = new Set<Node>();
  readonly #conversions = new Map<Node, Work<number>[]>();

  constructor(scope: Scope, stack: Stack, bound: Bound) {
    this.#scope = scope;
    this.#stack = stack;
    this.#bound = bound;
    this.#constants = ConstantValues.of(scope);
  }

  hasTurned(): boolean {
    return this.#scope.graph.nodes.some((node) => this.#isTurned(node) || isNhwcCall(node));
  }

  walk(): Turned {
    const { graph, functionName } = this.#scope;
    const wanted = this.#wanted();
    if (functionName !== undefined) for (const input of graph.inputs) this.#lying.set(input, "either");
    for (const node of graph.nodes) if (!this.#constants.has(node)) this.#place(node, wanted);
    return { cancelled: this.#cancelled, conversions: this.#conversions };
  }

  /** Values that a convolution reads in NHWC, across what a Transpose is moved across. */
  #wanted(): ReadonlySet<Value> {
    const wanted = new Set<Value>();
    for (const node of this.#scope.graph.nodes.toReversed()) {
      const isCrossing = crosses(node) && node.outputs.some((output) => output && wanted.has(output));
      const images = isCrossing ? this.#imagesOf(node) : this.#isTurned(node) ? node.inputs.slice(0, 1) : [];
      for (const image of images) if (image !== undefined) wanted.add(image);
    }
    return wanted;
  }

  #place(node: Node, wanted: ReadonlySet<Value>): void {
    const order = permutationOf(node);
    if (this.#isTurned(node)) this.#turn(node);
    else if (order !== undefined) this.#reorder(node, order, wanted);
    else if (isNhwcCall(node)) this.#mark(node, "spelled");
    else if (this.#isCall(node)) this.#mark(node, "either");
    else if (crosses(node)) this.#cross(node);
    else this.#release(node);
    const isGiven = this.#scope.functionName === undefined && node.outputs.some((output) => output?.isOutput);
    if (isGiven)
      for (const output of node.outputs) if (output?.isOutput === true) this.#bringBack(node, output);
  }

  /** Of so many axes the stack has kernels for, and turns. */
  #isTurned(node: Node): boolean {
    if (traitsOf(node)?.turnsToNhwc !== true) return false;
    const rank = this.#rankOf(node.inputs[0]);
    return rank !== undefined && rank > 2 && choosesLayout(this.#stack, rank - 2);
  }

  #turn(node: Node): void {
    const [image, ...others] = node.inputs;
    if (image !== undefined) this.#bring(node, image);
    for (const other of others) if (other !== undefined) this.#bringBack(node, other);
    this.#mark(node, "nhwc");
  }

  /** A Transpose of the file: where its operand lies so already it moves nothing, and where a convolution wants it so it is left to that. */
  #reorder(node: Node, order: readonly number[], wanted: ReadonlySet<Value>): void {
    const [from] = node.inputs;
    const [to] = node.outputs;
    if (from === undefined || to === undefined) return;
    const lying = this.#lying.get(from);
    const isSpelled = lying === "spelled" || spellsLayout(node, this.#scope);
    if (movesToLast(order) && lying === "nhwc") this.#cancelled.add(node);
    else if (movesToSecond(order) && (isSpelled || (lying === undefined && wanted.has(to)))) {
      this.#cancelled.add(node);
      this.#lying.set(to, "nhwc");
    }
    // Of any other order it is one Transpose with what stays before it.
  }

  #cross(node: Node): void {
    const images = this.#imagesOf(node);
    const turned = images.find((image) => this.#lying.get(image) === "nhwc");
    if (turned === undefined) {
      if (images.some((image) => this.#lying.get(image) === "spelled")) this.#mark(node, "spelled");
      return;
    }
    const rank = this.#rankOf(turned);
    for (const image of images) if (this.#rankOf(image) === rank) this.#bring(node, image);
    for (const output of node.outputs)
      if (output !== undefined && this.#rankOf(output) === rank) this.#lying.set(output, "nhwc");
  }

  /** What a node reads that has a layout, and is not there before the model runs. */
  #imagesOf(node: Node): Value[] {
    const uses = traitsOf(node)?.uses;
    return node.inputs.filter(
      (input, at): input is Value =>
        input !== undefined &&
        uses?.[at] === undefined &&
        (this.#rankOf(input) ?? 0) > 2 &&
        !this.#constants.isFixedValue(input),
    );
  }

  #release(node: Node): void {
    for (const input of node.inputs) if (input !== undefined) this.#bringBack(node, input);
  }

  #mark(node: Node, lying: Lying): void {
    for (const output of node.outputs)
      if (output !== undefined && (this.#rankOf(output) ?? 0) > 2) this.#lying.set(output, lying);
  }

  /** To NHWC. */
  #bring(node: Node, value: Value): void {
    if (!this.#lying.has(value) && !this.#constants.isFixedValue(value)) this.#convert(node, value, toLast);
  }

  /** To the order that the file has. */
  #bringBack(node: Node, value: Value): void {
    if (this.#lying.get(value) === "nhwc") this.#convert(node, value, toSecond);
  }

  #convert(node: Node, value: Value, order: (rank: number) => readonly number[]): void {
    if (this.#converted.has(value)) return;
    this.#converted.add(value);
    const fact = this.#scope.fact(value);
    const sizes = sizesOf(value, this.#scope, this.#bound);
    if (fact?.kind !== "tensor" || fact.dtype === undefined || sizes === undefined) return;
    for (const work of transposeWork(sizes, order(sizes.length), fact.dtype)) {
      const bound = bindWork(work, this.#bound.bindings);
      if (bound !== undefined) push(this.#conversions, node, bound);
    }
  }

  #isCall(node: Node): boolean {
    return this.#scope.children.has(node) && findOp(node.domain, node.opType) === undefined;
  }

  #rankOf(value: Value | undefined): number | undefined {
    return this.#scope.shape(value)?.length;
  }
}

function crosses(node: Node): boolean {
  return isCrossed[traitsOf(node)?.layout ?? "fixed"];
}
