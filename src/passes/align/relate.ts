/**
 * @file Reads the axis relations of a graph: one expression for every axis of every value, and what padding them asks.
 *
 * Relations need numbers: a symbolic size stands in as a number no other axis has, and is blocked.
 */
import { NodeContext } from "../../facts/context.ts";
import type { Facts } from "../../facts/infer.ts";
import { isConstant, type Scope } from "../../facts/scope.ts";
import { type Atom, type Axis, AxisSolver, atomsOf, type PaddedSizes, sizeOfAxis } from "../../ir/axis.ts";
import { collectSymbols, type Dim, evaluateDim } from "../../ir/dim.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import type { AxisContext } from "../../ops/axes.ts";
import { ShapeError } from "../../ops/op.ts";
import { findOp } from "../../ops/registry.ts";
import { isConstantNode, isStored, storedTensor } from "../stored.ts";
import { elementsRead } from "./elements-read.ts";

/** An axis summed over: of two inputs' products, or of one input alone. */
export interface Contraction {
  readonly node: Node;
  readonly axis: Axis;
  readonly a: number;
  /** Undefined for a plain sum. */
  readonly b: number | undefined;
}

export type Rewrite = { readonly node: Node } & (
  | {
      readonly kind: "input";
      readonly index: number;
      readonly values: (sizes: PaddedSizes) => readonly number[];
    }
  | {
      readonly kind: "attribute";
      readonly name: string;
      readonly value: (sizes: PaddedSizes) => number | readonly number[];
    }
);

export interface Fill {
  readonly value: Value;
  readonly axis: Axis;
  readonly fill: number;
  readonly node: Node;
}

export interface Relations {
  readonly scope: Scope;
  readonly solver: AxisSolver;
  /** Undefined for what is no tensor, or has an axis of unknown size. */
  axesOf(value: Value): readonly Axis[] | undefined;
  readonly contractions: readonly Contraction[];
  readonly rewrites: readonly Rewrite[];
  readonly fills: readonly Fill[];
}

/** Sizes that stand in for symbols: primes no layer has, small enough for exact products of three and a layer. */
const standIns = [10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069, 10_079] as const;

/** Relations of the main graph. What subgraphs and function bodies read is blocked. */
export function relate(facts: Facts): Relations {
  const builder = new RelationBuilder(facts);
  for (const node of facts.root.graph.nodes) builder.visit(node);
  return builder.finish();
}

class RelationBuilder {
  readonly solver = new AxisSolver();
  readonly contractions: Contraction[] = [];
  readonly rewrites: Rewrite[] = [];
  readonly fills: Fill[] = [];
  readonly #scope: Scope;
  readonly #axes = new Map<Value, readonly Axis[] | undefined>();
  readonly #standIns = new Map<string, number>();

  constructor(facts: Facts) {
    this.#scope = facts.root;
  }

  visit(node: Node): void {
    // A constant is free to be padded, wherever it is stored.
    if (isConstantNode(node)) return;
    const context = new RelationContext(node, this.#scope, this);
    const axes = findOp(node.domain, node.opType)?.axes;
    if (axes === undefined || this.#scope.children.has(node)) {
      context.blockAll("does not say how padding passes through it");
    } else this.#state(axes, context);
    context.blockUnread();
    for (const [index, value] of node.outputs.entries()) {
      if (value !== undefined && !this.#axes.has(value)) this.#blockOutput(value, node, index);
    }
  }

  /** An operator that contradicts its operands has been reported by inference; here it passes nothing. */
  #state(axes: (context: AxisContext) => void, context: RelationContext): void {
    try {
      axes(context);
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      context.blockAll("has operands that do not fit");
    }
  }

  finish(): Relations {
    for (const value of this.#scope.graph.values.values()) {
      const outside = value.consumers.find((node) => node.graph !== value.graph);
      if (outside !== undefined) this.block(value, `is read inside a subgraph, by "${labelOf(outside)}"`);
    }
    const axes = this.#axes;
    return {
      scope: this.#scope,
      solver: this.solver,
      axesOf: (value) => (axes.has(value) ? axes.get(value) : this.axesOf(value)),
      contractions: this.contractions,
      rewrites: this.rewrites,
      fills: this.fills,
    };
  }

  get scope(): Scope {
    return this.#scope;
  }

  axesOf(value: Value): readonly Axis[] | undefined {
    if (this.#axes.has(value)) return this.#axes.get(value);
    const axes = this.#fresh(value, this.#reasonAgainst(value));
    this.#axes.set(value, axes);
    return axes;
  }

  /** Takes an operator's word for an output's axes where they fit its shape. */
  setAxes(value: Value, axes: readonly Axis[], node: Node): void {
    const shape = this.sizesOf(value);
    const fits =
      shape?.length === axes.length && axes.every((axis, index) => sizeOfAxis(axis) === shape[index]);
    if (fits) {
      this.#axes.set(value, axes);
      return;
    }
    for (const axis of axes)
      this.solver.block(axis, `${operatorOf(node)} "${labelOf(node)}" reshapes it in a way not foreseen`);
    this.#axes.set(value, this.#fresh(value, "its shape is not what its operator's axes say"));
  }

  block(value: Value, reason: string): void {
    for (const axis of this.axesOf(value) ?? []) this.solver.block(axis, reason);
  }

  #blockOutput(value: Value, node: Node, index: number): void {
    const reason = `output ${index} of ${operatorOf(node)} "${labelOf(node)}" has axes of its own`;
    this.#axes.set(value, this.#fresh(value, reason));
  }

  #reasonAgainst(value: Value): string | undefined {
    if (value.initializer !== undefined && !isConstant(value, this.#scope.model)) {
      return `"${value.name}" is an initializer that callers may override`;
    }
    const { producer } = value;
    if (value.isOutput && (value.isInput || isStored(value, this.#scope))) {
      return `"${value.name}" is an output of the model that nothing computes`;
    }
    if (producer !== undefined && isConstantNode(producer) && storedTensor(value) === undefined) {
      return `"${value.name}" is written into its node, not a tensor`;
    }
    return undefined;
  }

  #fresh(value: Value, blocked: string | undefined): readonly Axis[] | undefined {
    const fact = this.#scope.fact(value);
    if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
    const shape = this.sizesOf(value);
    return shape?.map((size, index) => {
      const dim = fact.shape?.[index];
      return this.solver.atom(
        size,
        blocked ?? (typeof dim === "number" ? undefined : `has the symbolic size ${dim}`),
      );
    });
  }

  sizesOf(value: Value): readonly number[] | undefined {
    const fact = this.#scope.fact(value);
    if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
    const sizes = fact.shape.map((dim) => this.#numberOf(dim));
    return sizes.every((size) => size !== undefined) ? sizes : undefined;
  }

  #numberOf(dim: Dim): number | undefined {
    if (typeof dim === "number") return dim;
    const symbols = new Set<string>();
    collectSymbols(dim, symbols);
    for (const name of symbols) {
      const next = this.#standIns.size;
      if (!this.#standIns.has(name)) this.#standIns.set(name, standIns[next] ?? 10_091 + 2 * next);
    }
    return evaluateDim(dim, this.#standIns);
  }
}

class RelationContext extends NodeContext implements AxisContext {
  readonly #builder: RelationBuilder;
  readonly #read = new Set<number>();

  constructor(node: Node, scope: Scope, builder: RelationBuilder) {
    super(node, scope, scope.outputsOf(node));
    this.#builder = builder;
  }

  get solver(): AxisSolver {
    return this.#builder.solver;
  }

  axesOf(index: number): readonly Axis[] | undefined {
    this.#read.add(index);
    const value = this.node.inputs[index];
    return value === undefined ? undefined : this.#builder.axesOf(value);
  }

  setAxes(index: number, axes: readonly Axis[]): void {
    const value = this.node.outputs[index];
    if (value !== undefined) this.#builder.setAxes(value, axes, this.node);
  }

  /** An input whose axes its operator does not ask for is a parameter: a list of sizes, of axes, of scales. */
  blockUnread(): void {
    for (const [index, value] of this.node.inputs.entries()) {
      if (value !== undefined && !this.#read.has(index)) {
        this.#builder.block(value, this.#told("takes it as a parameter"));
      }
    }
  }

  sizesOf(index: number): readonly number[] | undefined {
    const value = this.node.outputs[index];
    return value === undefined ? undefined : this.#builder.sizesOf(value);
  }

  isStored(index: number): boolean {
    const value = this.node.inputs[index];
    return value !== undefined && isStored(value, this.#builder.scope);
  }

  elementsRead(index: number): ReadonlySet<number> {
    const value = this.node.outputs[index];
    return value === undefined ? new Set() : elementsRead(value, this.#builder.scope);
  }

  contract(axis: Axis, a: number, b: number): void {
    this.#builder.contractions.push({ node: this.node, axis, a, b });
  }

  sumOver(axis: Axis, index: number): void {
    this.#builder.contractions.push({ node: this.node, axis, a: index, b: undefined });
  }

  fill(index: number, axis: Axis, fill: number): void {
    const value = this.node.inputs[index];
    if (value !== undefined && this.isStored(index))
      this.#builder.fills.push({ value, axis, fill, node: this.node });
  }

  rewriteInput(index: number, values: (sizes: PaddedSizes) => readonly number[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "input", index, values });
  }

  rewriteAttribute(name: string, value: (sizes: PaddedSizes) => number | readonly number[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "attribute", name, value });
  }

  block(axis: Axis, verb: string): void {
    this.solver.block(axis, this.#told(verb));
  }

  fixed(size: number, verb: string): Axis {
    return this.solver.atom(size, this.#told(verb));
  }

  blockAll(verb: string): void {
    for (const value of this.node.inputs)
      if (value !== undefined) this.#builder.block(value, this.#told(verb));
  }

  #told(verb: string): string {
    return `${operatorOf(this.node)} "${labelOf(this.node)}" ${verb}`;
  }
}

/** Atoms that may still be padded: more than one element, no reason against them. */
export function freeAtoms(axes: Iterable<Axis>): Set<Atom> {
  const free = new Set<Atom>();
  for (const axis of axes) for (const atom of atomsOf(axis)) if (atom.blocked === undefined) free.add(atom);
  return free;
}
