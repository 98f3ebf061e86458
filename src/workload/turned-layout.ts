/**
 * @file What ONNX Runtime makes of layouts where it turns convolutions to NHWC as it loads a file: each gets a Transpose before it and one behind it, and
 * those are pushed down the graph across what has no layout, until they cancel with the next, with one that the file has, or stay.
 *
 * Source: TransformLayoutForEP and PostLayoutTransformCostCheck (layout_transformation.cc), which push a Transpose of channels wherever they can, but for
 * Concat, of which that is a guess here.
 */
import { isNhwcBody, isNhwcCall } from "../facts/nhwc-body.ts";
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

export { choosesLayout, layoutSettingOf, undoesLayout } from "../hardware/stacks.ts";

/** Operators that a Transpose is moved across, wherever their axes are. */
const isCrossed: Readonly<Record<Layout, boolean>> = {
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
  /** Values that the file has in NHWC and that lie in NCHW. */
  readonly undone: ReadonlySet<Value>;
}

/** Of a node that is rewritten as a product of rows, which has the channels of its image last: in what order those that read it get it. */
export type RowsGiven = "last" | "file";

/**
 * Of one graph; undefined where nothing moves its Transposes. Bodies of what spells NHWC are told of at their calls. `asRows`: convolutions as if they
 * were products of rows, of which nothing is turned.
 */
export function turnedLayout(
  scope: Scope,
  stack: Stack,
  bound: Bound,
  asRows: ReadonlyMap<Node, RowsGiven> = new Map(),
): Turned | undefined {
  if (!stack.cancelsTransposes || isNhwcBody(scope)) return undefined;
  const layouts = new Layouts({ scope, stack, bound, asRows });
  return layouts.hasTurned() ? layouts.walk() : undefined;
}

/**
 * How a value lies beside what the file calls it: its channels last, where they are second in the file; second, where the file spells NHWC by local
 * functions; as a function's operand, which its caller decides. What is in the file's order is not listed.
 */
type Lying = "last" | "second" | "either";

/** What an operator reads its image in. */
type Wanted = "last" | "second" | undefined;

const orderTo: Readonly<Record<"last" | "second", (rank: number) => readonly number[]>> = {
  last: toLast,
  second: toSecond,
};
const back = { last: "second", second: "last" } as const;

interface LayoutsInput {
  readonly scope: Scope;
  readonly stack: Stack;
  readonly bound: Bound;
  readonly asRows: ReadonlyMap<Node, RowsGiven>;
}

class Layouts {
  readonly #scope: Scope;
  readonly #stack: Stack;
  readonly #bound: Bound;
  readonly #asRows: ReadonlyMap<Node, RowsGiven>;
  readonly #constants: ConstantValues;
  readonly #lying = new Map<Value, Lying>();
  /** Values that there is a pass for already. */
  readonly #converted = new Set<Value>();
  readonly #cancelled = new Set<Node>();
  readonly #conversions = new Map<Node, Work<number>[]>();

  constructor({ scope, stack, bound, asRows }: LayoutsInput) {
    this.#scope = scope;
    this.#stack = stack;
    this.#bound = bound;
    this.#asRows = asRows;
    this.#constants = ConstantValues.of(scope);
  }

  hasTurned(): boolean {
    const { nodes } = this.#scope.graph;
    return (
      nodes.some(isNhwcCall) ||
      [...this.#asRows.values()].includes("last") ||
      (choosesLayout(this.#stack) && nodes.some((node) => this.#isTurned(node)))
    );
  }

  walk(): Turned {
    const { graph, functionName } = this.#scope;
    const wanted = this.#wantedValues();
    if (functionName !== undefined) for (const input of graph.inputs) this.#lying.set(input, "either");
    for (const node of graph.nodes) if (!this.#constants.has(node)) this.#place(node, wanted);
    const undone = new Set([...this.#lying].flatMap(([value, lying]) => (lying === "second" ? value : [])));
    return { cancelled: this.#cancelled, conversions: this.#conversions, undone };
  }

  /** Values that are read in another order than the file's, across what a Transpose is moved across. */
  #wantedValues(): ReadonlyMap<Value, Wanted> {
    const wanted = new Map<Value, Wanted>();
    for (const node of this.#scope.graph.nodes.toReversed()) {
      const output = node.outputs.find((each) => each !== undefined && wanted.has(each));
      const isCrossing = output !== undefined && crosses(node, this.#scope);
      const order = isCrossing ? wanted.get(output) : (this.#imageOf(node) ?? this.#endOf(node));
      if (order === undefined) continue;
      const images = isCrossing ? this.#imagesOf(node) : node.inputs.slice(0, 1);
      for (const image of images) if (image !== undefined) wanted.set(image, order);
    }
    return wanted;
  }

  /** In what an operator reads and gives its image, where that is another order than the file's. */
  #imageOf(node: Node): Wanted {
    if (!isNhwcCall(node)) return this.#isTurned(node) ? "last" : undefined;
    const [body] = this.#scope.children.get(node) ?? [];
    const rank = this.#rankOf(node.inputs[0]) ?? 0;
    const isTurned = body?.graph.nodes.some((inner) => this.#turns(inner, rank)) === true;
    return isTurned ? undefined : "second";
  }

  /** A Transpose to channels last cancels with one from them, whatever is between that both are moved across. */
  #endOf(node: Node): Wanted {
    const order = permutationOf(node) ?? [];
    return order.length > 3 && movesToLast(order) && choosesLayout(this.#stack) ? "last" : undefined;
  }

  #place(node: Node, wanted: ReadonlyMap<Value, Wanted>): void {
    const order = permutationOf(node);
    const image = this.#imageOf(node);
    if (image !== undefined) this.#turn(node, image);
    else if (order !== undefined) this.#reorder(node, order, wanted);
    else if (this.#isCall(node) && !isNhwcCall(node)) this.#mark(node, "either");
    else if (crosses(node, this.#scope)) this.#cross(node);
    else this.#release(node);
    if (this.#asRows.get(node) === "last") this.#mark(node, "last");
    const isGiven = this.#scope.functionName === undefined && node.outputs.some((output) => output?.isOutput);
    if (isGiven)
      for (const output of node.outputs) if (output?.isOutput === true) this.#bringBack(node, output);
  }

  #isTurned(node: Node): boolean {
    return !this.#asRows.has(node) && this.#turns(node, this.#rankOf(node.inputs[0]) ?? 0);
  }

  /** Of so many axes the stack has kernels for, and turns. */
  #turns(node: Node, rank: number): boolean {
    return traitsOf(node)?.turnsToNhwc === true && rank > 2 && choosesLayout(this.#stack, rank - 2);
  }

  #turn(node: Node, order: "last" | "second"): void {
    const [image, ...others] = node.inputs;
    if (image !== undefined) this.#bring(node, image, order);
    for (const other of others) if (other !== undefined) this.#bringBack(node, other);
    this.#mark(node, order);
  }

  /** A Transpose of the file: where its operand lies so already it moves nothing, and where its result is wanted as its operand lies it is left to that. */
  #reorder(node: Node, order: readonly number[], wanted: ReadonlyMap<Value, Wanted>): void {
    const [from] = node.inputs;
    const [to] = node.outputs;
    if (from === undefined || to === undefined) return;
    const lying = this.#lying.get(from);
    const moves = { last: movesToLast(order), second: movesToSecond(order) };
    if ((moves.last && lying === "last") || (moves.second && lying === "second")) this.#cancelled.add(node);
    else if (lying === undefined) {
      const left = wanted.get(to);
      if (left === undefined || !moves[back[left]]) return;
      this.#cancelled.add(node);
      this.#lying.set(to, left);
    }
    // Of any other order it is one Transpose with what stays before it.
  }

  #cross(node: Node): void {
    const images = this.#imagesOf(node);
    const turned = images.find((image) => isOrder(this.#lying.get(image)));
    const order = turned === undefined ? undefined : this.#lying.get(turned);
    if (turned === undefined || !isOrder(order)) return;
    const rank = this.#rankOf(turned);
    const alike = images.filter((image) => this.#rankOf(image) === rank);
    // What lies in NHWC is what such a stack pushes on, whatever it meets.
    const isMixed = alike.some((image) => this.#lying.get(image) !== order);
    if (order === "second" && isMixed && choosesLayout(this.#stack)) return this.#release(node);
    for (const image of alike) this.#bring(node, image, order);
    for (const output of node.outputs)
      if (output !== undefined && this.#rankOf(output) === rank) this.#lying.set(output, order);
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

  #bring(node: Node, value: Value, order: "last" | "second"): void {
    if (!this.#lying.has(value) && !this.#constants.isFixedValue(value)) this.#convert(node, value, order);
  }

  /** To the order that the file has. */
  #bringBack(node: Node, value: Value): void {
    const lying = this.#lying.get(value);
    if (isOrder(lying)) this.#convert(node, value, back[lying]);
  }

  #convert(node: Node, value: Value, order: "last" | "second"): void {
    if (this.#converted.has(value)) return;
    this.#converted.add(value);
    const fact = this.#scope.fact(value);
    const sizes = sizesOf(value, this.#scope, this.#bound);
    if (fact?.kind !== "tensor" || fact.dtype === undefined || sizes === undefined) return;
    for (const work of transposeWork(sizes, orderTo[order](sizes.length), fact.dtype)) {
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

function isOrder(lying: Lying | undefined): lying is "last" | "second" {
  return lying === "last" || lying === "second";
}

/** Whether a Transpose of an image is moved across, its axes named otherwise. */
export function crosses(node: Node, { opsets }: Pick<Scope, "opsets">): boolean {
  const { layout = "fixed", crossedSince = Number.POSITIVE_INFINITY } = traitsOf(node) ?? {};
  return isCrossed[layout] || (opsets.get(node.domain) ?? 0) >= crossedSince;
}
