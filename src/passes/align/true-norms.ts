/**
 * @file Norms that are written out: the nodes take what one operator would take, and give what it would give, at its true size. What
 * they make on the way is never padded, so that they stay one norm to a stack that joins them.
 */
import type { Scope } from "../../facts/scope.ts";
import { type Axis, sizeOfAxis } from "../../ir/axis.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import { type NormPattern, normPatterns } from "../../workload/written-norm.ts";
import { canSlice } from "./inner-edges.ts";
import type { RelationBuilder } from "./relate.ts";

export class TrueNorm {
  /** All that its nodes read from outside, but constants. */
  readonly operand: Value;
  /** Continues no sentence: why its operand is to come at its true size. */
  readonly reason: string;
  readonly #pattern: NormPattern;
  readonly #builder: RelationBuilder;
  #inside: readonly Axis[] | undefined;

  constructor(pattern: NormPattern, builder: RelationBuilder) {
    const { node, kind, x } = pattern;
    this.operand = x;
    this.reason = `${kind} written out around ${operatorOf(node)} "${labelOf(node)}" normalizes over it`;
    this.#pattern = pattern;
    this.#builder = builder;
  }

  /** Axes of the operand as its nodes have them, once that is computed. */
  get inside(): readonly Axis[] {
    this.#inside ??= this.#take();
    return this.#inside;
  }

  #take(): readonly Axis[] {
    const { solver, inner } = this.#builder;
    const axes = this.#builder.axesOf(this.operand) ?? [];
    const first = axes.length - this.#pattern.axes;
    for (const node of this.#pattern.nodes)
      for (const [index, value] of node.inputs.entries())
        if (value === this.operand)
          for (let position = first; position < axes.length; position++) inner.take(node, index, position);
    return axes.map((axis, position) => {
      if (position < first) return axis;
      solver.hold(axis, this.reason);
      return solver.atom(sizeOfAxis(axis), this.reason);
    });
  }

  /** Whether an axis of a value is one that the norm gives, at a position from the end. */
  gives(value: Value, axis: Axis, fromEnd: number): boolean {
    if (value !== this.#pattern.nodes.at(-1)?.outputs[0] || fromEnd > this.#pattern.axes) return false;
    const own = this.inside.at(-fromEnd);
    // Its scale may have more elements than what is scaled.
    return own !== undefined && sizeOfAxis(own) === sizeOfAxis(axis);
  }
}

/** Of a graph, by node. A norm whose operand no Slice can stand in front of is as many operators as it has nodes. */
export function trueNorms(builder: RelationBuilder): ReadonlyMap<Node, TrueNorm> {
  const norms = new Map<Node, TrueNorm>();
  for (const pattern of normPatterns(builder.scope)) {
    if (!isTaken(pattern, builder.scope) || pattern.nodes.some((node) => norms.has(node))) continue;
    const norm = new TrueNorm(pattern, builder);
    for (const node of pattern.nodes) norms.set(node, norm);
  }
  return norms;
}

function isTaken({ x, axes }: NormPattern, scope: Scope): boolean {
  const rank = scope.shape(x)?.length ?? 0;
  return Array.from({ length: axes }, (_, at) => rank - 1 - at).every((at) => canSlice(x, at, scope));
}
