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
import { permutationOf } from "../ops/ask.ts";
import { transposeWork } from "../ops/movement/transpose.ts";
import { type ChannelPlace, movesTo, orderTo, otherPlace } from "../ops/permutations.ts";
import { findOp } from "../ops/registry.ts";
import { bindWork, type Work } from "../ops/work.ts";
import { ConstantValues } from "./constants.ts";
import { type Bound, sizesOf } from "./values.ts";
import { type RowsGiven, type WantedInput, WantedLayouts } from "./wanted-layout.ts";

export { choosesLayout, layoutSettingOf, undoesLayout } from "../hardware/stacks.ts";

export interface Turned {
  /** Transposes of the file that are gone. */
  readonly cancelled: ReadonlySet<Node>;
  /** Passes that stay, by the node for which they are made. */
  readonly conversions: ReadonlyMap<Node, readonly Work<number>[]>;
  /** Values that the file has in NHWC and that lie in NCHW. */
  readonly undone: ReadonlySet<Value>;
}

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
type Lying = ChannelPlace | "either";

interface LayoutsInput extends WantedInput {
  readonly bound: Bound;
}

class Layouts {
  readonly #scope: Scope;
  readonly #stack: Stack;
  readonly #bound: Bound;
  readonly #asRows: ReadonlyMap<Node, RowsGiven>;
  readonly #reads: WantedLayouts;
  readonly #constants: ConstantValues;
  readonly #lying = new Map<Value, Lying>();
  /** Values that there is a pass for already. */
  readonly #converted = new Set<Value>();
  /** Of a Transpose's result, who reads what the Transpose reads instead. */
  readonly #readAhead = new Map<Value, Set<Node>>();
  readonly #cancelled = new Set<Node>();
  readonly #conversions = new Map<Node, Work<number>[]>();

  constructor({ scope, stack, bound, asRows }: LayoutsInput) {
    this.#scope = scope;
    this.#stack = stack;
    this.#bound = bound;
    this.#asRows = asRows;
    this.#reads = new WantedLayouts({ scope, stack, asRows });
    this.#constants = ConstantValues.of(scope);
  }

  hasTurned(): boolean {
    const { nodes } = this.#scope.graph;
    return (
      nodes.some(isNhwcCall) ||
      [...this.#asRows.values()].includes("last") ||
      (choosesLayout(this.#stack) && nodes.some((node) => this.#reads.isTurned(node)))
    );
  }

  walk(): Turned {
    const { graph, functionName } = this.#scope;
    if (functionName !== undefined) for (const input of graph.inputs) this.#lying.set(input, "either");
    for (const node of graph.nodes) if (!this.#constants.has(node)) this.#place(node);
    const undone = new Set([...this.#lying].flatMap(([value, lying]) => (lying === "second" ? value : [])));
    return { cancelled: this.#cancelled, conversions: this.#conversions, undone };
  }

  #place(node: Node): void {
    const order = permutationOf(node);
    const image = this.#reads.imageOf(node);
    if (image !== undefined) this.#turn(node, image);
    else if (order !== undefined) this.#reorder(node, order);
    else if (this.#isCall(node) && !isNhwcCall(node)) this.#mark(node, "either");
    else if (this.#reads.crosses(node)) this.#cross(node);
    else this.#release(node);
    this.#giveRows(node);
    const isGiven = this.#scope.functionName === undefined && node.outputs.some((output) => output?.isOutput);
    if (isGiven)
      for (const output of node.outputs) if (output?.isOutput === true) this.#bringBack(node, output);
  }

  /** A call gives NHWC, which is how rows lie, as the file has it. */
  #giveRows(node: Node): void {
    const given = this.#asRows.get(node);
    if (given === undefined) return;
    if (isNhwcCall(node)) for (const output of node.outputs) output && this.#lying.delete(output);
    else if (given === "last") this.#mark(node, "last");
  }

  #turn(node: Node, order: ChannelPlace): void {
    const [image, ...others] = node.inputs;
    if (image !== undefined) this.#bring(node, image, order);
    for (const other of others) if (other !== undefined) this.#bringBack(node, other);
    this.#mark(node, order);
  }

  /** A Transpose of the file: where its operand lies so already it moves nothing, and where its result is wanted as its operand lies it is left to that. */
  #reorder(node: Node, order: readonly number[]): void {
    const [from] = node.inputs;
    const [to] = node.outputs;
    if (from === undefined || to === undefined) return;
    const lying = this.#lying.get(from);
    if (isOrder(lying) && movesTo[lying](order)) this.#cancelled.add(node);
    else if (lying === undefined) {
      const left = this.#reads.of(to);
      if (left === undefined || !movesTo[otherPlace[left]](order)) return;
      this.#cancelled.add(node);
      this.#lying.set(to, left);
    }
    // Of any other order it is one Transpose with what stays before it.
  }

  #cross(node: Node): void {
    const images = this.#reads.imagesOf(node);
    const turned = images.find((image) => isOrder(this.#lying.get(image)));
    const order = turned === undefined ? undefined : this.#lying.get(turned);
    if (turned === undefined || !isOrder(order)) return;
    const rank = this.#reads.rankOf(turned);
    const alike = images.filter((image) => this.#reads.rankOf(image) === rank);
    // What lies in NHWC is what such a stack pushes on, whatever it meets.
    const isMixed = alike.some((image) => this.#lying.get(image) !== order);
    if (order === "second" && isMixed && choosesLayout(this.#stack)) return this.#release(node);
    for (const image of alike) this.#bring(node, image, order);
    for (const output of node.outputs)
      if (output !== undefined && this.#reads.rankOf(output) === rank) this.#lying.set(output, order);
  }

  #release(node: Node): void {
    for (const input of node.inputs) if (input !== undefined) this.#bringBack(node, input);
  }

  #mark(node: Node, lying: Lying): void {
    for (const output of node.outputs)
      if (output !== undefined && (this.#reads.rankOf(output) ?? 0) > 2) this.#lying.set(output, lying);
  }

  #bring(node: Node, value: Value, order: ChannelPlace): void {
    if (this.#lying.has(value) || this.#constants.isFixedValue(value)) return;
    const isThere = this.#joinsTranspose(node, value, order) || this.#sharesTranspose(value, order);
    if (!isThere) this.#convert(node, value, order);
  }

  /** With one that the file has of the same value, and that stays. */
  #sharesTranspose({ consumers }: Value, order: ChannelPlace): boolean {
    return consumers.some((reader) => {
      const [to] = reader.outputs;
      const isAlike = to !== undefined && movesTo[order](permutationOf(reader) ?? []);
      return isAlike && this.#reads.of(to) !== otherPlace[order];
    });
  }

  /** A Transpose of the file's with the one behind it: none where one undoes the other, and one where nobody else reads what is between them. */
  #joinsTranspose(node: Node, value: Value, order: ChannelPlace): boolean {
    const { producer, consumers, isOutput } = value;
    const moved = producer && !this.#cancelled.has(producer) ? permutationOf(producer) : undefined;
    const [from] = producer?.inputs ?? [];
    if (producer === undefined || moved === undefined || from === undefined) return false;
    const isUndone = !isOrder(this.#lying.get(from)) && movesTo[otherPlace[order]](moved);
    if (!isUndone) return !isOutput && consumers.every((reader) => reader === node);
    const ahead = this.#readAhead.get(value) ?? new Set();
    this.#readAhead.set(value, ahead.add(node));
    const isUnread = consumers.every((reader) => ahead.has(reader) || this.#constants.has(reader));
    if (isUnread && !isOutput) this.#cancelled.add(producer);
    return true;
  }

  /** To the order that the file has. */
  #bringBack(node: Node, value: Value): void {
    const lying = this.#lying.get(value);
    if (isOrder(lying)) this.#convert(node, value, otherPlace[lying]);
  }

  #convert(node: Node, value: Value, order: ChannelPlace): void {
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
}

function isOrder(lying: Lying | undefined): lying is ChannelPlace {
  return lying === "last" || lying === "second";
}
