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
import { findOp } from "../../ops/registry.ts";

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

/** Sizes that stand in for symbols: primes no layer has. */
const firstStandIn = 1_000_003;

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
      context.blockAll(`${operatorOf(node)} does not say how padding passes through it`);
    } else axes(context);
    for (const [index, value] of node.outputs.entries()) {
      if (value !== undefined && !this.#axes.has(value)) this.#blockOutput(value, node, index);
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

  axesOf(value: Value): readonly Axis[] | undefined {
    if (this.#axes.has(value)) return this.#axes.get(value);
    const axes = this.#fresh(value, this.#reasonAgainst(value));
    this.#axes.set(value, axes);
    return axes;
  }

  /** Takes an operator's word for an output's axes where they fit its shape. */
  setAxes(value: Value, axes: readonly Axis[], node: Node): void {
    const shape = this.#shapeOf(value);
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
    return undefined;
  }

  #fresh(value: Value, blocked: string | undefined): readonly Axis[] | undefined {
    const fact = this.#scope.fact(value);
    if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
    const shape = this.#shapeOf(value);
    return shape?.map((size, index) => {
      const dim = fact.shape?.[index];
      return this.solver.atom(
        size,
        blocked ?? (typeof dim === "number" ? undefined : `has the symbolic size ${dim}`),
      );
    });
  }

  #shapeOf(value: Value): readonly number[] | undefined {
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
      if (!this.#standIns.has(name)) this.#standIns.set(name, firstStandIn + 2 * this.#standIns.size);
    }
    return evaluateDim(dim, this.#standIns);
  }
}

class RelationContext extends NodeContext implements AxisContext {
  readonly #builder: RelationBuilder;

  constructor(node: Node, scope: Scope, builder: RelationBuilder) {
    super(node, scope, scope.outputsOf(node));
    this.#builder = builder;
  }

  get solver(): AxisSolver {
    return this.#builder.solver;
  }

  axesOf(index: number): readonly Axis[] | undefined {
    const value = this.node.inputs[index];
    return value === undefined ? undefined : this.#builder.axesOf(value);
  }

  setAxes(index: number, axes: readonly Axis[]): void {
    const value = this.node.outputs[index];
    if (value !== undefined) this.#builder.setAxes(value, axes, this.node);
  }

  contract(axis: Axis, a: number, b: number): void {
    this.#builder.contractions.push({ node: this.node, axis, a, b });
  }

  sumOver(axis: Axis, index: number): void {
    this.#builder.contractions.push({ node: this.node, axis, a: index, b: undefined });
  }

  fill(index: number, axis: Axis, fill: number): void {
    const value = this.node.inputs[index];
    if (value !== undefined) this.#builder.fills.push({ value, axis, fill, node: this.node });
  }

  rewriteInput(index: number, values: (sizes: PaddedSizes) => readonly number[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "input", index, values });
  }

  rewriteAttribute(name: string, value: (sizes: PaddedSizes) => number | readonly number[]): void {
    this.#builder.rewrites.push({ node: this.node, kind: "attribute", name, value });
  }

  blockAll(reason: string): void {
    for (const value of this.node.inputs)
      if (value !== undefined) this.#builder.block(value, this.#told(reason));
  }

  #told(reason: string): string {
    return `${reason} (node "${labelOf(this.node)}")`;
  }
}

/** A node that only holds a tensor. */
export function isConstantNode(node: Node): boolean {
  return node.domain === "" && node.opType === "Constant";
}

/** Whether a value's elements are in the file: an initializer that nobody overrides, or a Constant's output. */
export function isStored(value: Value, scope: Scope): boolean {
  return isConstant(value, scope.model) || (value.producer !== undefined && isConstantNode(value.producer));
}

/** Atoms that may still be padded: more than one element, no reason against them. */
export function freeAtoms(axes: Iterable<Axis>): Set<Atom> {
  const free = new Set<Atom>();
  for (const axis of axes) for (const atom of atomsOf(axis)) if (atom.blocked === undefined) free.add(atom);
  return free;
}
