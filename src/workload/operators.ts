/**
 * @file What PyTorch's operators launch for nodes that move memory, where a stack runs one operator a node.
 *
 * A Transpose, a Slice or a Split is a view: nothing moves until an operator wants its operand in order and copies it, or reads it as it
 * lies, with addresses worked out element by element. So the strides of every value are followed.
 */
import { intAttributeIn, intsAttributeIn } from "../facts/attributes.ts";
import type { Scope } from "../facts/scope.ts";
import type { ById } from "../ir/by-id.ts";
import type { Node, Value } from "../ir/model.ts";
import {
  isConvolution,
  isGathering,
  isMatrixProduct,
  isRepeating,
  isReshaping,
  isSlicing,
  isTranspose,
} from "../ops/ask.ts";
import { findOp } from "../ops/registry.ts";
import { type TrafficPattern, type TrafficVariant, type TrafficWork, volume } from "../ops/work.ts";
import { extentOf, passOver } from "./extent.ts";
import {
  areAlike,
  areOrderedAlike,
  expandedStrides,
  isPacked,
  packed,
  packedLike,
  reshapedStrides,
  type Strides,
} from "./strides.ts";
import { copiesWhole } from "./traffic.ts";
import { type Bound, constantElements, sizesOf } from "./values.ts";

/** An operand brought in order by a kernel of its own. */
export interface OrderingCopy {
  readonly work: TrafficWork<number>;
  /** What put it out of order: whose kernel it is, but for the moment at which it runs. */
  readonly node: Node;
}

/** What a node launches besides a product. */
export interface Launched {
  readonly copies: readonly OrderingCopy[];
  /** What the node's own pass was measured as, undefined where only its pattern is known; "view" where it has none. */
  readonly pass: TrafficVariant | "view" | undefined;
  /** Elements of what was measured as a row, where they are others than the node's work says. */
  readonly columns?: number | undefined;
}

/** A copy that brings elements in another order, as it was measured. */
export const reordering: TrafficVariant = "permute";

/** Of half precision, in a load of 16 bytes. */
const vectorElements = 8;

const view: Launched = { copies: [], pass: "view" };

/** Where a value's elements lie. */
interface Placed {
  readonly sizes: readonly number[];
  readonly strides: Strides;
  /** The node that put the elements where they are not expected. */
  readonly by?: Node | undefined;
}

/** Of one instance of a graph. Asked node by node in the graph's order: what one leaves behind, the next ones read. */
export class Operators {
  readonly #scope: Scope;
  readonly #bound: Bound;
  readonly #placed: ById<Value, Pick<Placed, "strides" | "by">>;

  constructor(scope: Scope, bound: Bound) {
    this.#scope = scope;
    this.#bound = bound;
    this.#placed = scope.byValue();
  }

  /** Of a node that is no product. */
  launchedBy(node: Node, pattern: TrafficPattern | "none"): Launched {
    const pass = findOp(node.domain, node.opType)?.pass;
    const strides = this.#viewOf(node);
    if (strides !== undefined) {
      const [input] = node.inputs;
      const before = input && this.#placed.get(input)?.by;
      this.#leave(node, strides, isTranspose(node) || this.#repeats(node) ? node : (before ?? node));
      return view;
    }
    if (pattern === "none") return { copies: this.#copies(node, [0], () => false), pass: "view" };
    if (copiesWhole(node, this.#scope)) return { copies: [], pass: "copy" };
    if (pattern === "elementwise") return this.#lanewise(node, pass);
    if (pattern === "normalization") return { copies: this.#copies(node, [0], () => false), pass };
    return { copies: [], pass: pass === "gather" ? this.#gather(node) : pass };
  }

  /** What is copied before a product reads it. */
  copiesBefore(node: Node): readonly OrderingCopy[] {
    if (isConvolution(node)) return this.#beforeConv(node);
    if (!isMatrixProduct(node)) return this.#copies(node, [...node.inputs.keys()], () => false);
    const [, weights] = node.inputs;
    const isFolded = weights !== undefined && this.#placeOf(weights)?.sizes.length === 2;
    return this.#copies(node, [0, 1], (placed) => areMatrices(placed, isFolded));
  }

  /** Attention takes heads wherever they lie, if a head's elements lie together, and its result lies as queries do. */
  copiesBeforeAttention(node: Node): readonly OrderingCopy[] {
    const [[queries], [output]] = [node.inputs, node.outputs];
    const from = queries && this.#placeOf(queries);
    const sizes = output && sizesOf(output, this.#scope, this.#bound);
    if (output !== undefined && !output.isOutput && from?.sizes.length === sizes?.length && from && sizes)
      this.#placed.set(output, { strides: packedLike(sizes, from.strides), by: from.by });
    return this.#copies(node, [...node.inputs.keys()], ({ strides }) => strides.at(-1) === 1);
  }

  /** Strides of what a node gives out without moving anything. An output of the model is memory of its own. */
  #viewOf(node: Node): Strides | undefined {
    const [[input], [output]] = [node.inputs, node.outputs];
    const from = input && this.#placeOf(input);
    const shape = output && sizesOf(output, this.#scope, this.#bound);
    if (from === undefined || shape === undefined) return undefined;
    const { sizes, strides } = from;
    if (isReshaping(node)) return reshapedStrides(sizes, strides, shape);
    if (node.outputs.some((each) => each?.isOutput)) return undefined;
    if (isTranspose(node)) return this.#permuted(node, strides);
    if (isSlicing(node)) return strides;
    if (isRepeating(node)) return expandedStrides(sizes, strides, shape);
    return isGathering(node) ? this.#selected(node, strides) : undefined;
  }

  /** Whether elements are read several times over, so that a copy is of more of them than there were. */
  #repeats(node: Node): boolean {
    const [from, to] = [node.inputs[0], node.outputs[0]].map(
      (value) => value && sizesOf(value, this.#scope, this.#bound),
    );
    return isRepeating(node) && volume(to ?? []) > volume(from ?? []);
  }

  #permuted(node: Node, strides: Strides): Strides {
    const order = intsAttributeIn(node, "perm", this.#scope) ?? [...strides.keys()].reverse();
    return order.map((axis) => strides[axis] ?? 1);
  }

  /** One element of an axis, at a place that the file names: the axis goes. */
  #selected(node: Node, strides: Strides): Strides | undefined {
    const [, index] = node.inputs;
    const isScalar = index !== undefined && sizesOf(index, this.#scope, this.#bound)?.length === 0;
    if (!isScalar || constantElements(index, this.#scope) === undefined) return undefined;
    const axis = intAttributeIn(node, "axis", this.#scope) ?? 0;
    return strides.toSpliced(axis < 0 ? axis + strides.length : axis, 1);
  }

  /** The result lies as the first operand of its size does. One whose addresses have to be worked out takes another kernel. */
  #lanewise(node: Node, pass: TrafficVariant | undefined): Launched {
    const [output] = node.outputs;
    const sizes = output && sizesOf(output, this.#scope, this.#bound);
    if (sizes === undefined) return { copies: [], pass };
    const operands = (pass === "add" ? node.inputs : node.inputs.slice(0, 1)).flatMap(
      (input) => (input && this.#placeOf(input)) ?? [],
    );
    const whole = operands.filter((operand) => volume(operand.sizes) === volume(sizes));
    const strides = whole[0] === undefined ? packed(sizes) : packedLike(sizes, whole[0].strides);
    this.#leave(node, strides, whole[0]?.by);
    if (pass === "batchnorm_nchw") return { copies: [], pass, columns: sizes[1] };
    if (whole.some((operand) => !areOrderedAlike(sizes, operand.strides, strides)))
      return { copies: [], pass: reordering, columns: sizes.at(-1) };
    const isPlain = whole.every((operand) => areAlike(sizes, operand.strides, strides));
    const isWorkedOut = pass !== undefined && !(isPlain && whole.length === operands.length);
    return { copies: [], pass: isWorkedOut ? "bias" : pass };
  }

  /** Loads of vectors take whole rows that start on 16 bytes, by indices that lie together; else elements go one by one. */
  #gather(node: Node): TrafficVariant {
    const [table, index] = node.inputs;
    const [rows, places] = [table && this.#placeOf(table), index && this.#placeOf(index)];
    if (rows === undefined || places === undefined) return "gather";
    const axis = intAttributeIn(node, "axis", this.#scope) ?? 0;
    const isTogether = isPacked(places.sizes, places.strides) && isPacked(rows.sizes, rows.strides);
    const isAligned = volume(rows.sizes.slice(1)) % vectorElements === 0;
    return axis === 0 && isTogether && isAligned ? "gather" : "gather_single";
  }

  /** Images lie in either order of channels, and so does what a convolution makes of them. */
  #beforeConv(node: Node): readonly OrderingCopy[] {
    const [[input], [output]] = [node.inputs, node.outputs];
    const from = input && this.#placeOf(input);
    const sizes = output && sizesOf(output, this.#scope, this.#bound);
    if (from === undefined || sizes === undefined) return [];
    const isLast = isChannelsLast(from);
    if (isLast) this.#leave(node, channelsLast(sizes), from.by);
    return isLast ? [] : this.#copies(node, [0], () => false);
  }

  /** Of operands that neither lie in order nor suit. */
  #copies(
    node: Node,
    operands: readonly number[],
    suits: (placed: Placed) => boolean,
  ): readonly OrderingCopy[] {
    return operands.flatMap((at) => {
      const input = node.inputs[at];
      const placed = input && this.#placeOf(input);
      if (input === undefined || placed === undefined) return [];
      if (isPacked(placed.sizes, placed.strides) || suits(placed)) return [];
      const extent = extentOf(this.#scope.fact(input), this.#bound.bindings);
      return extent === undefined ? [] : [{ work: passOver(extent, "copy"), node: placed.by ?? node }];
    });
  }

  #leave({ outputs }: Node, strides: Strides, by: Node | undefined): void {
    for (const output of outputs) if (output !== undefined) this.#placed.set(output, { strides, by });
  }

  #placeOf(value: Value): Placed | undefined {
    const sizes = sizesOf(value, this.#scope, this.#bound);
    return sizes && { sizes, ...(this.#placed.get(value) ?? { strides: packed(sizes) }) };
  }
}

/** Whether a product takes each matrix as it lies; `isFolded` where all other axes are rows of one. */
function areMatrices({ sizes, strides }: Placed, isFolded: boolean): boolean {
  const [rows = 1, columns = 1] = sizes.slice(-2);
  const batch = volume(sizes.slice(0, -2));
  const shape = isFolded ? [batch * rows, columns] : [batch, rows, columns];
  const matrix = reshapedStrides(sizes, strides, shape)?.slice(-2) ?? [];
  return matrix.includes(1);
}

function channelsLast(sizes: readonly number[]): Strides {
  const [batch = 1, channels = 1, ...spatial] = sizes;
  const [outer = 1, ...inner] = packed([batch, ...spatial, channels]);
  return [outer, 1, ...inner.slice(0, -1)];
}

/** Planes alone have such a format. */
function isChannelsLast({ sizes, strides }: Placed): boolean {
  return sizes.length === 4 && areAlike(sizes, strides, channelsLast(sizes));
}
