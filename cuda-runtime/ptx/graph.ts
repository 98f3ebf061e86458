/** @file A chain's expressions with equal parts made one, and the operands that they read. */

import type { Expr } from "../ir/expr.ts";
import { argumentsOf, nodesOf } from "../ir/expr-walk.ts";
import { bytesOfType } from "../ir/storage.ts";
import { broadcastsTo, expanded, type View } from "../ir/view.ts";

export interface ChainNode {
  readonly id: number;
  readonly expr: Expr;
  readonly args: readonly ChainNode[];
  /** Index into `leaves`, for what reads one. */
  readonly leaf: number | undefined;
}

/** What differs from element to element: memory, or the coordinate along an axis, which is its own offset. */
export interface ChainLeaf {
  /** Broadcast to the chain's shape; undefined for a coordinate. */
  readonly view: View | undefined;
  /** By axis of the chain's shape. */
  readonly strides: readonly number[];
}

export interface ChainGraph {
  readonly roots: readonly ChainNode[];
  /** Arguments before what uses them. */
  readonly nodes: readonly ChainNode[];
  readonly leaves: readonly ChainLeaf[];
}

export function chainGraph(shape: readonly number[], exprs: readonly Expr[]): ChainGraph {
  const byKey = new Map<string, ChainNode>();
  const byExpr = new Map<Expr, ChainNode>();
  const leaves = new Map<string, { readonly at: number; readonly leaf: ChainLeaf }>();
  const leafAt = (expr: Expr): number | undefined => {
    const leaf = leafOf(expr, shape);
    if (leaf === undefined) return undefined;
    const key = leafKey(leaf);
    const known = leaves.get(key);
    if (known !== undefined) return known.at;
    const at = leaves.size;
    leaves.set(key, { at, leaf });
    return at;
  };
  const nodeOf = (expr: Expr): ChainNode => {
    const seen = byExpr.get(expr);
    if (seen !== undefined) return seen;
    // Known by now: arguments come first.
    const args = argumentsOf(expr).map(nodeOf);
    const leaf = leafAt(expr);
    const key = [...keyOf(expr), leaf ?? "", ...args.map(({ id }) => id)].join(" ");
    const node = byKey.get(key) ?? { id: byKey.size, expr, args, leaf };
    byKey.set(key, node);
    byExpr.set(expr, node);
    return node;
  };
  for (const root of exprs) for (const expr of nodesOf(root)) nodeOf(expr);
  const roots = exprs.map(nodeOf);
  return { roots, nodes: [...byKey.values()], leaves: [...leaves.values()].map(({ leaf }) => leaf) };
}

function leafOf(expr: Expr, shape: readonly number[]): ChainLeaf | undefined {
  if (expr.kind === "load") {
    if (!broadcastsTo(expr.view.shape, shape)) {
      throw new Error(
        `tc-lint bug: an operand [${expr.view.shape.join(",")}] does not broadcast to [${shape.join(",")}]`,
      );
    }
    const view = expanded(expr.view, shape);
    return { view, strides: view.strides.map((stride, axis) => (shape[axis] === 1 ? 0 : stride)) };
  }
  if (expr.kind !== "index") return undefined;
  const axis = shape.length - 1 - expr.axisFromRight;
  return { view: undefined, strides: shape.map((_, at) => (at === axis && expr.size !== 1 ? 1 : 0)) };
}

function leafKey({ view, strides }: ChainLeaf): string {
  if (view === undefined) return `index ${strides.join(",")}`;
  return `${view.buffer.id} ${view.type} ${view.offset * bytesOfType(view.type)} ${strides.join(",")}`;
}

function keyOf(expr: Expr): readonly (string | number)[] {
  switch (expr.kind) {
    case "load":
    case "index":
    case "select":
    case "convert":
    case "bits":
      return [expr.kind, expr.type];
    case "constant":
      return [expr.kind, expr.type, Object.is(expr.value, -0) ? "-0" : expr.value];
    case "narrow":
      return [expr.kind, expr.type, expr.to];
    case "unary":
    case "binary":
    case "compare":
    case "test":
      return [expr.kind, expr.type, expr.op];
    case "product":
      throw new Error("tc-lint bug: a product that was not launched is part of a chain");
  }
}
