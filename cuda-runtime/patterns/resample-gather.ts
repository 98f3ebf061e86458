/** @file Rows, and source times, that are taken by index. */
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { elementCount } from "../ir/view.ts";
import type { PatternGraph } from "./graph.ts";
import type { Role } from "./resample-lookup.ts";
import { axisOfNode, type Roles, rolesOfSeen, seenFrom } from "./resample-roles.ts";
import type { Meaning, TermOf } from "./resample-terms.ts";

interface Taken {
  readonly meaning: Meaning;
  readonly roles: Roles<Role>;
}

interface Gather {
  readonly node: Node;
  readonly data: Value;
  /** Of the data. */
  readonly sizes: readonly number[];
  readonly axis: number;
  /** Of the indices. */
  readonly picks: readonly number[];
  readonly index: TermOf<"index">;
  readonly isElementwise: boolean;
}

/** Gather(data, index) and GatherElements(data, index). */
export function gathered(node: Node, index: TermOf<"index">, graph: PatternGraph): Taken | undefined {
  const [data, indices] = node.inputs;
  const [sizes, picks] = [graph.shape(data), graph.shape(indices)];
  if (data === undefined || sizes === undefined || picks === undefined || !graph.isFloat(data))
    return undefined;
  const axis = axisOfNode(node, sizes.length, graph);
  const { source } = index.lookup;
  // Outside these limits an index is an error, which is another node's to say.
  const isInside =
    index.index.least >= -source && index.index.most < source && index.index.least <= source - 1;
  if (axis === undefined || sizes[axis] !== source || !isInside || index.index.most < -source)
    return undefined;
  const isElementwise = operatorOf(node) === "GatherElements";
  const gather: Gather = { node, data, sizes, axis, picks, index, isElementwise };
  if (isElementwise && picks.some((size, at) => at !== axis && size !== sizes[at])) return undefined;
  const { times } = index.lookup;
  const seen = seenFrom(data, graph);
  if (seen.root !== times.value) return rowsTaken(gather);
  const roles = rolesOfSeen(seen, times.roles, graph);
  return roles && timesTaken(gather, roles as Roles<Role>);
}

function timesTaken(gather: Gather, roles: Roles<Role>): Taken | undefined {
  const { axis, index, isElementwise, sizes } = gather;
  if (sizes[axis] !== 1 && roles[axis] !== "source") return undefined;
  const result = isElementwise
    ? roles.map((role, at) => (at === axis ? index.roles[at] : (role ?? index.roles[at])))
    : roles.toSpliced(axis, 1, ...index.roles);
  const isOne =
    !isElementwise || roles.every((role, at) => isSame(at === axis ? undefined : role, index.roles[at]));
  if (!isOne || result.includes("source") || !isEachOnce(result)) return undefined;
  return { meaning: { kind: "time", lookup: index.lookup, index: index.index }, roles: result };
}

function isSame(a: Role | undefined, b: Role | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

function isEachOnce(roles: Roles<Role>): boolean {
  const given = roles.filter((role) => role !== undefined);
  return new Set(given).size === given.length;
}

function rowsTaken({ data, sizes, axis, picks, index, isElementwise }: Gather): Taken | undefined {
  const [before, behind] = [sizes.slice(0, axis), sizes.slice(axis + 1)];
  const { lookup, roles: own } = index;
  const inside = isElementwise ? own.slice(axis, axis + 1) : own;
  if (isElementwise && !isBatchAlone(own.slice(0, axis), before)) return undefined;
  if (isElementwise && own.slice(axis + 1).some((role) => role !== undefined)) return undefined;
  if (inside.some((role) => role === "source" || role === "features") || !isEachOnce(inside))
    return undefined;
  // Data of its own for each batch, and an index that has batches beside, would be two.
  const isShared = inside.includes("batch");
  if (isShared && (elementCount(before) !== 1 || inside.indexOf("target") < inside.indexOf("batch")))
    return undefined;
  const target = isElementwise ? (picks[axis] ?? 1) : elementCount(picks);
  const batches = isShared ? (picks[inside.indexOf("batch")] ?? 1) : elementCount(before);
  const rows = {
    ...{ data, axis, lookup },
    batch: batches,
    target: isShared ? target / batches : target,
    features: elementCount(behind),
    isBatched: !isShared,
  };
  return {
    meaning: { kind: "row", rows, index: index.index },
    roles: [
      ...before.map((size) => (size === 1 ? undefined : ("batch" as const))),
      ...inside,
      ...behind.map((size) => (size === 1 ? undefined : ("features" as const))),
    ],
  };
}

/** Where an index differs between batches, they are the only axis before its own. */
function isBatchAlone(roles: Roles<Role>, sizes: readonly number[]): boolean {
  if (roles.some((role) => role !== undefined && role !== "batch")) return false;
  return !roles.includes("batch") || sizes.filter((size) => size !== 1).length === 1;
}
