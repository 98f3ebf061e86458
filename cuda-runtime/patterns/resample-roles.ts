/** @file What the axes of values run over, where a resampling is written out: batch, source rows, target rows, features. */
import { intAttributeIn, intsAttributeIn } from "../../src/facts/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import type { PatternGraph } from "./graph.ts";

/** Of each axis; undefined: one element, or the same ones again and again. */
export type Roles<Role = string> = readonly (Role | undefined)[];

const viewOperators = new Set([
  "Expand",
  "Flatten",
  "Identity",
  "Reshape",
  "Squeeze",
  "Transpose",
  "Unsqueeze",
]);

export function isViewNode(node: Node): boolean {
  return viewOperators.has(operatorOf(node));
}

/** Roles behind a node that only shows its first input in another shape; undefined where axes were cut or merged. */
export function throughView(node: Node, roles: Roles, graph: PatternGraph): Roles | undefined {
  const [from, to] = [graph.shape(node.inputs[0]), graph.shape(node.outputs[0])];
  if (from === undefined || to === undefined || from.length !== roles.length) return undefined;
  switch (operatorOf(node)) {
    case "Transpose": {
      const order = intsAttributeIn(node, "perm", graph.scope) ?? [...from.keys()].reverse();
      return order.map((axis) => roles[axis]);
    }
    case "Expand":
      return expandedRoles(roles, from, to);
    default:
      return sameRuns(roles, from, to);
  }
}

function expandedRoles(roles: Roles, from: readonly number[], to: readonly number[]): Roles {
  const missing = to.length - from.length;
  return to.map((size, axis) => (from[axis - missing] === size ? roles[axis - missing] : undefined));
}

/** Axes of one element come and go. */
function sameRuns(roles: Roles, from: readonly number[], to: readonly number[]): Roles | undefined {
  const wide = [...from.keys()].filter((axis) => from[axis] !== 1);
  const sizes = to.filter((size) => size !== 1);
  if (wide.length !== sizes.length || wide.some((axis, at) => from[axis] !== sizes[at])) return undefined;
  const left = wide.map((axis) => roles[axis]);
  return to.map((size) => (size === 1 ? undefined : left.shift()));
}

/** A value as a view of another one, whose axes have these roles. */
export interface Seen {
  readonly root: Value;
  readonly views: readonly Node[];
}

/** Where the value comes from, before nodes that only show it in another shape. */
export function seenFrom(value: Value, graph: PatternGraph): Seen {
  const views: Node[] = [];
  let root = value;
  for (;;) {
    const node = graph.producerOf(root);
    const source = node?.inputs[0];
    if (node === undefined || source === undefined || !isViewNode(node)) return { root, views };
    views.unshift(node);
    root = source;
  }
}

export function rolesOfSeen({ views }: Seen, rootRoles: Roles, graph: PatternGraph): Roles | undefined {
  let roles: Roles | undefined = rootRoles;
  for (const node of views) roles = roles && throughView(node, roles, graph);
  return roles;
}

/** Of an elementwise result of that rank; undefined where an axis would be two things at once. */
export function combinedRoles(a: Roles, b: Roles, rank = Math.max(a.length, b.length)): Roles | undefined {
  const [left, right] = [aligned(a, rank), aligned(b, rank)];
  const isOne = left.every((role, axis) => {
    const other = right[axis];
    return role === undefined || other === undefined || role === other;
  });
  return isOne ? left.map((role, axis) => role ?? right[axis]) : undefined;
}

/** As many axes as `rank`, filled up on the left. */
export function aligned(roles: Roles, rank: number): Roles {
  return [...new Array<undefined>(Math.max(0, rank - roles.length)).fill(undefined), ...roles];
}

/** The axis that a node names, not negative; undefined where the tensor does not have it. */
export function axisOfNode(node: Node, rank: number, graph: PatternGraph): number | undefined {
  const axis = intAttributeIn(node, "axis", graph.scope) ?? 0;
  const at = axis < 0 ? axis + rank : axis;
  return at >= 0 && at < rank ? at : undefined;
}

/** The one axis of a ReduceSum, and whether it stays as one of a single element. */
export function summedAxis(
  node: Node,
  rank: number,
  graph: PatternGraph,
): { axis: number; isKept: boolean } | undefined {
  const given =
    node.inputs[1] === undefined
      ? intsAttributeIn(node, "axes", graph.scope)
      : graph.elements(node.inputs[1]);
  const [axis, ...more] = given ?? [];
  if (axis === undefined || more.length > 0) return undefined;
  const isKept = intAttributeIn(node, "keepdims", graph.scope) !== 0;
  return { axis: axis < 0 ? axis + rank : axis, isKept };
}
