/**
 * @file Values that leave float16's range, brought into it: each at 2⁻ᵏ of its size, from the product that makes it to
 * where someone needs it as it was.
 *
 * Powers of two change no digit. Values that are of one scale (a sum and its terms, what goes into a pool and comes out)
 * are one class; a product with stored weights stands between two and takes up the difference in its weights.
 */
import { DisjointSets } from "../../ir/disjoint-sets.ts";
import type { Value } from "../../ir/model.ts";
import type { PassContext } from "../pass.ts";
import { formats } from "./formats.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";
import { Magnitudes } from "./magnitudes.ts";
import { type Absorbing, type ScaleRule, scaleRule } from "./rescale-rules.ts";

export interface ScalePlan {
  /** k of 2⁻ᵏ, not 0, by value; negative for small values behind small weights. */
  readonly exponents: ReadonlyMap<Value, number>;
  readonly rules: ReadonlyMap<FloatNode, ScaleRule>;
}

const { maxObserved, max, minNormal } = formats.float16;
/** How large values are where they are scaled at all: room above for other inputs, and below for small elements. */
const comfortable = 2 ** 10;
/** The largest element of a weight that is scaled is at least this: one of usual spread loses no more than to rounding. */
const leastWeight = 4 * minNormal;

/** Two products that want the opposite of what lies between them come to no end. */
const maxMoves = 16;

export function planScales(graph: FloatGraph, context: PassContext): ScalePlan {
  return new Planner(graph, context).plan();
}

class Planner {
  readonly #graph: FloatGraph;
  readonly #context: PassContext;
  readonly #magnitudes: Magnitudes;
  readonly #rules = new Map<FloatNode, ScaleRule>();
  readonly #classes = new DisjointSets<Value>();
  /** By the first of each class. */
  readonly #exponents = new Map<Value, number>();
  /** Largest magnitude seen in each class. */
  readonly #largest = new Map<Value, number>();
  /** How often each class has had to give way to the weights on either side. */
  readonly #moves = new Map<Value, number>();
  /** Classes that have the scale they have. */
  readonly #fixed = new Set<Value>();

  constructor(graph: FloatGraph, context: PassContext) {
    this.#graph = graph;
    this.#context = context;
    this.#magnitudes = new Magnitudes(context.open);
  }

  plan(): ScalePlan {
    for (const node of this.#graph.nodes) {
      const rule = node.scope.parent === undefined ? scaleRule(node, this.#graph) : undefined;
      if (rule === undefined) continue;
      this.#rules.set(node, rule);
      if (rule.kind === "homogeneous") this.#unite(rule.values);
    }
    this.#measure();
    this.#dropIdle();
    this.#holdBack();
    const exponents = new Map<Value, number>();
    for (const { value } of this.#graph.values.values()) {
      const exponent = this.#exponentOf(value);
      if (exponent !== 0) exponents.set(value, exponent);
    }
    return { exponents, rules: this.#rules };
  }

  #unite(values: readonly Value[]): void {
    const [first, ...rest] = values;
    if (first !== undefined) for (const other of rest) this.#classes.join(other, first);
  }

  #exponentOf(value: Value): number {
    return this.#exponents.get(this.#classes.rootOf(value)) ?? 0;
  }

  /** What each class needs, where all of it can have another scale; nothing where none is beyond the range. */
  #measure(): void {
    for (const entry of this.#graph.values.values()) {
      const { value, isStored, scope } = entry;
      if (isStored || scope.parent !== undefined) continue;
      const root = this.#classes.rootOf(value);
      const seen = this.#context.options.ranges?.largest.get(value.name) ?? 0;
      this.#largest.set(root, Math.max(seen, this.#largest.get(root) ?? 0));
      if (!this.#canMove(entry)) this.#fixed.add(root);
    }
    const movable = [...this.#largest].filter(([root, seen]) => !this.#fixed.has(root) && seen !== Infinity);
    if (movable.every(([, seen]) => seen <= maxObserved)) return;
    for (const [root, seen] of movable) {
      if (seen > comfortable) this.#exponents.set(root, Math.ceil(Math.log2(seen / comfortable)));
    }
  }

  /** Made by a node that can make it at any scale, and seen by nobody but nodes around it. */
  #canMove({ value, producer }: FloatValue): boolean {
    if (producer === undefined || !this.#rules.has(producer.user) || this.#graph.pinned.has(value))
      return false;
    return value.consumers.every((node) => this.#graph.byNode.has(node) && node.graph === value.graph);
  }

  /** A class that no product makes or reads has nothing to gain: what brings values back to their size, above all. */
  #dropIdle(): void {
    const useful = new Set<Value>();
    for (const [node, rule] of this.#rules) {
      if (!node.isProduct || rule.kind !== "absorbing") continue;
      useful.add(this.#classes.rootOf(rule.input)).add(this.#classes.rootOf(rule.output));
    }
    for (const root of this.#exponents.keys()) if (!useful.has(root)) this.#exponents.delete(root);
  }

  /**
   * Stored operands must be numbers of float16 at their new scale: a class whose are not takes another one, or stays as it
   * is; and so on.
   */
  #holdBack(): void {
    let before = "";
    for (let now = "start"; now !== before; now = [...this.#exponents.values()].join()) {
      before = now;
      for (const rule of this.#rules.values()) {
        if (rule.kind === "homogeneous") this.#checkStored(rule.stored, rule.values[0]);
        else this.#checkWeight(rule);
      }
    }
  }

  #checkStored(stored: readonly Value[], like: Value | undefined): void {
    if (like === undefined) return;
    const factor = 2 ** -this.#exponentOf(like);
    if (!stored.every((value) => this.#isHeld(value, factor, minNormal))) this.#giveUp(like);
  }

  #checkWeight({ input, weight, bias, output }: Absorbing): void {
    // Of a small bias, half loses no more than of the result.
    if (bias !== undefined && !this.#isHeld(bias, 2 ** -this.#exponentOf(output), 0)) this.#giveUp(output);
    const factor = 2 ** (this.#exponentOf(input) - this.#exponentOf(output));
    if (this.#isHeld(weight, factor, leastWeight)) return;
    const short = Math.ceil(Math.log2(leastWeight / (this.#sizeOf(weight) * factor)));
    if (short <= 0 || !this.#enlarge(input, output, short)) this.#giveUp(factor < 1 ? output : input);
  }

  /** Smaller values in front of a product, and larger ones behind it, ask for larger weights. */
  #enlarge(input: Value, output: Value, by: number): boolean {
    const [down, up] = [this.#roomOf(input, 1, -1), this.#roomOf(output, comfortable, 1)];
    if (down + up < by) return false;
    this.#move(input, Math.min(down, by));
    this.#move(output, -(by - Math.min(down, by)));
    return true;
  }

  /** How many powers of two the values of a class may become smaller (sign −1) or larger before they reach `bound`. */
  #roomOf(value: Value, bound: number, sign: 1 | -1): number {
    const root = this.#classes.rootOf(value);
    const seen = this.#largest.get(root) ?? 0;
    const isStuck = this.#fixed.has(root) || seen === Infinity || seen === 0;
    if (isStuck || (this.#moves.get(root) ?? 0) >= maxMoves) return 0;
    const now = Math.log2(seen) - (this.#exponents.get(root) ?? 0);
    return Math.max(0, Math.floor(sign * (Math.log2(bound) - now)));
  }

  #move(value: Value, by: number): void {
    if (by === 0) return;
    const root = this.#classes.rootOf(value);
    this.#exponents.set(root, (this.#exponents.get(root) ?? 0) + by);
    this.#moves.set(root, (this.#moves.get(root) ?? 0) + 1);
  }

  #giveUp(value: Value): void {
    const root = this.#classes.rootOf(value);
    this.#exponents.delete(root);
    this.#fixed.add(root);
  }

  #sizeOf(value: Value): number {
    const stored = this.#graph.values.get(value);
    return (stored && this.#magnitudes.of(stored)?.largest) ?? 0;
  }

  #isHeld(value: Value, factor: number, least: number): boolean {
    const size = this.#sizeOf(value);
    return size === 0 || factor === 1 || (size * factor <= max && size * factor >= least);
  }
}
