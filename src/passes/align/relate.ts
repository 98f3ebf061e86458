/**
 * @file Reads the axis relations of a graph: one expression for every axis of every value, and what padding them asks.
 *
 * Relations need numbers: a symbolic size stands in as a number no other axis has, and is blocked.
 */
import type { Facts } from "../../facts/infer.ts";
import type { Scope } from "../../facts/scope.ts";
import { type Axis, type PaddedSizes, resolveAxis, sizeOfAxis } from "../../ir/axis.ts";
import { AxisSolver } from "../../ir/axis-solver.ts";
import type { Dim } from "../../ir/dim.ts";
import { groupBy, push } from "../../ir/group.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import { isConstantNode } from "../../ops/ask.ts";
import type { AxisContext } from "../../ops/axes.ts";
import { ShapeError } from "../../ops/op.ts";
import { findOp } from "../../ops/registry.ts";
import { Hearsay } from "./declared-only.ts";
import { reasonAgainst } from "./fixed-values.ts";
import { InnerEdges } from "./inner-edges.ts";
import { RelationContext } from "./relation-context.ts";
import { type RelatedShuffle, type Shuffle, shufflesOf } from "./shuffles.ts";
import { StandIns } from "./stand-ins.ts";
import { type TrueNorm, trueNorms } from "./true-norms.ts";

/** An axis summed over: of two inputs' products, or of one input alone. */
export interface Contraction {
  readonly node: Node;
  readonly axis: Axis;
  /** Undefined where the sum is inside, over what the outputs hold. */
  readonly a: number | undefined;
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
      readonly kind: "sizes";
      readonly index: number;
      /** Of input 0, by element; undefined where the element stays. */
      readonly axes: readonly (number | undefined)[];
    }
  | {
      /** Along `axis` of input 0, maybe counted from its end. */
      readonly kind: "positions";
      readonly index: number;
      readonly axis: number;
    }
  | {
      readonly kind: "attribute";
      readonly name: string;
      readonly value: (sizes: PaddedSizes) => number | readonly number[];
    }
  | {
      readonly kind: "float";
      readonly name: string;
      readonly value: (sizes: PaddedSizes) => number | undefined;
    }
);

export type PositionRewrite = Extract<Rewrite, { readonly kind: "positions" }>;

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
  /** Those of kind "positions", by the table that they are positions in. */
  readonly positions: ReadonlyMap<Value, readonly PositionRewrite[]>;
  rewritesOf(node: Node): readonly Rewrite[];
  readonly fills: readonly Fill[];
  readonly shuffles: readonly RelatedShuffle[];
  /** What is taken and given at its true size. */
  readonly inner: InnerEdges;
}

/** Relations of the main graph. What subgraphs and function bodies read is blocked. */
export function relate(facts: Facts): Relations {
  const builder = new RelationBuilder(facts);
  builder.visitAll();
  return builder.finish();
}

export class RelationBuilder {
  readonly solver = new AxisSolver();
  readonly contractions: Contraction[] = [];
  readonly rewrites: Rewrite[] = [];
  readonly fills: Fill[] = [];
  readonly shuffles: RelatedShuffle[] = [];
  readonly inner = new InnerEdges();
  /** Axes that are padded as one atom or not at all. */
  readonly whole: { readonly axis: Axis; readonly reason: string }[] = [];
  readonly #scope: Scope;
  /** By the value's id; null for what has none. */
  readonly #axes: (readonly Axis[] | null | undefined)[] = [];
  readonly #hearsay: Hearsay;
  readonly #standIns = new StandIns();

  constructor(facts: Facts) {
    this.#scope = facts.root;
    this.#hearsay = new Hearsay(facts.root);
  }

  visitAll(): void {
    const [shuffles, norms] = [shufflesOf(this.#scope), trueNorms(this)];
    for (const node of this.#scope.graph.nodes) {
      const shuffle = shuffles.get(node);
      const rumour = this.#hearsay.at(node);
      if (rumour !== undefined) this.#blockNode(node, rumour);
      else if (shuffle === undefined) this.#visit(node, norms.get(node));
      else if (node === shuffle.nodes[2]) this.#shuffle(shuffle);
    }
  }

  #visit(node: Node, norm: TrueNorm | undefined): void {
    // A constant is free to be padded, wherever it is stored.
    if (isConstantNode(node)) return;
    const context = new RelationContext(node, this, norm);
    const axes = findOp(node.domain, node.opType)?.axes;
    if (axes === undefined || this.#scope.children.has(node)) {
      context.blockAll("does not say how padding passes through it");
    } else this.#state(axes, context);
    context.blockUnread();
    this.#blockUnstated(node);
  }

  #blockNode(node: Node, reason: string): void {
    for (const value of node.inputs) if (value !== undefined) this.block(value, reason);
    for (const value of node.outputs) if (value !== undefined) this.#set(value, this.#fresh(value, reason));
  }

  /** The shuffled axis is new; what lies between its nodes vanishes with them. */
  #shuffle(shuffle: Shuffle): void {
    const [first, transpose, last] = shuffle.nodes;
    const axes = this.axesOf(shuffle.data);
    const from = axes?.[shuffle.axis];
    const [result] = last.outputs;
    if (axes === undefined || from === undefined || result === undefined) return;
    const to = this.solver.atom(shuffle.order.length);
    this.shuffles.push({ ...shuffle, from, to });
    this.setAxes(result, axes.with(shuffle.axis, to), last);
    for (const node of [first, transpose, last]) {
      for (const parameter of node.inputs.slice(1)) {
        if (parameter !== undefined) this.block(parameter, `${operatorOf(node)} takes it as a parameter`);
      }
      this.#blockUnstated(node);
    }
  }

  #blockUnstated(node: Node): void {
    for (let index = 0; index < node.outputs.length; index++) {
      const value = node.outputs[index];
      if (value !== undefined && this.#axes[value.id] === undefined) this.#blockOutput(value, node, index);
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
    for (const { axis, reason } of this.whole) {
      if (resolveAxis(axis).kind !== "atom") this.solver.block(axis, reason);
    }
    if (this.#scope.model.hasTraining)
      this.#blockEverything("training information of the model may refer to it");
    const rewrites = groupBy(this.rewrites, ({ node }) => node);
    return {
      scope: this.#scope,
      solver: this.solver,
      axesOf: (value) => this.axesOf(value),
      contractions: this.contractions,
      rewrites: this.rewrites,
      positions: positionsOf(this.rewrites),
      rewritesOf: (node) => rewrites.get(node) ?? noRewrites,
      fills: this.fills,
      shuffles: this.shuffles,
      inner: this.inner,
    };
  }

  #blockEverything(reason: string): void {
    for (const value of this.#scope.graph.values.values()) this.block(value, reason);
  }

  get scope(): Scope {
    return this.#scope;
  }

  axesOf(value: Value): readonly Axis[] | undefined {
    const known = this.#axes[value.id];
    if (known !== undefined) return known ?? undefined;
    return this.#set(value, this.#fresh(value, reasonAgainst(value, this.#scope)));
  }

  #set(value: Value, axes: readonly Axis[] | undefined): readonly Axis[] | undefined {
    this.#axes[value.id] = axes ?? null;
    return axes;
  }

  /** Takes an operator's word for an output's axes where they fit its shape. */
  setAxes(value: Value, axes: readonly Axis[], node: Node): void {
    const shape = this.sizesOf(value);
    const fits =
      shape?.length === axes.length && axes.every((axis, index) => sizeOfAxis(axis) === shape[index]);
    if (fits) {
      this.#set(value, axes);
      this.#blockSymbols(value, axes);
      return;
    }
    for (const axis of axes)
      this.solver.block(axis, `${operatorOf(node)} "${labelOf(node)}" reshapes it in a way not foreseen`);
    this.#set(value, this.#fresh(value, "its shape is not what its operator's axes say"));
  }

  block(value: Value, reason: string): void {
    for (const axis of this.axesOf(value) ?? []) this.solver.block(axis, reason);
  }

  #blockSymbols(value: Value, axes: readonly Axis[]): void {
    const shape = this.#scope.shape(value) ?? [];
    for (let index = 0; index < shape.length; index++) {
      const dim = shape[index] ?? 0;
      const axis = axes[index];
      if (axis !== undefined && typeof dim !== "number") this.solver.block(axis, symbolicSize(dim));
    }
  }

  #blockOutput(value: Value, node: Node, index: number): void {
    const reason = `output ${index} of ${operatorOf(node)} "${labelOf(node)}" has axes of its own`;
    this.#set(value, this.#fresh(value, reason));
  }

  #fresh(value: Value, blocked: string | undefined): readonly Axis[] | undefined {
    const fact = this.#scope.fact(value);
    if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
    const shape = this.sizesOf(value);
    return shape?.map((size, index) => {
      const dim = fact.shape?.[index];
      return this.solver.atom(
        size,
        blocked ?? (dim === undefined || typeof dim === "number" ? undefined : symbolicSize(dim)),
      );
    });
  }

  sizesOf(value: Value): readonly number[] | undefined {
    const fact = this.#scope.fact(value);
    if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
    return this.#standIns.sizesOf(fact.shape);
  }
}

const noRewrites: readonly Rewrite[] = [];

function positionsOf(rewrites: readonly Rewrite[]): Map<Value, PositionRewrite[]> {
  const found = new Map<Value, PositionRewrite[]>();
  for (const rewrite of rewrites) {
    const [table] = rewrite.node.inputs;
    if (rewrite.kind !== "positions" || table === undefined) continue;
    push(found, table, rewrite);
  }
  return found;
}

function symbolicSize(dim: Dim): string {
  return `has the symbolic size ${dim}`;
}
