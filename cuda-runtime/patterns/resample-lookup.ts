/** @file How many source times are not behind each target time, written out: all compared with all, and summed. */
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import type { PatternGraph } from "./graph.ts";
import { aligned, type Roles, rolesOfSeen, type Seen, seenFrom, summedAxis } from "./resample-roles.ts";

export type Role = "batch" | "source" | "target" | "features";

/** A value of the model, and what its axes run over. */
export interface Root {
  readonly value: Value;
  readonly roles: Roles<Role>;
}

export interface Lookup {
  readonly times: Root;
  readonly targets: Root;
  /** Source times of a batch. */
  readonly source: number;
  /** A source time that is the target's counts. */
  readonly isInclusive: boolean;
}

export function sameLookup(a: Lookup, b: Lookup): boolean {
  return a === b || (sameRoot(a.times, b.times) && sameRoot(a.targets, b.targets) && sameRest(a, b));
}

function sameRoot(a: Root, b: Root): boolean {
  return a.value === b.value && a.roles.join() === b.roles.join();
}

function sameRest(a: Lookup, b: Lookup): boolean {
  return a.source === b.source && a.isInclusive === b.isInclusive;
}

/** Both operands of a comparison, the one that is to be the smaller first. */
export interface Compared {
  readonly smaller: Seen;
  readonly larger: Seen;
  readonly isInclusive: boolean;
  readonly shape: readonly number[];
}

export function comparedBy(node: Node, graph: PatternGraph): Compared | undefined {
  const [a, b] = node.inputs;
  const shape = graph.shape(node.outputs[0]);
  if (a === undefined || b === undefined || shape === undefined) return undefined;
  const operator = operatorOf(node);
  const isSwapped = operator === "Greater" || operator === "GreaterOrEqual";
  const [smaller, larger] = isSwapped ? [b, a] : [a, b];
  if (!graph.isFloat(a) || !graph.isFloat(b)) return undefined;
  return {
    smaller: seenFrom(smaller, graph),
    larger: seenFrom(larger, graph),
    isInclusive: operator === "LessOrEqual" || operator === "GreaterOrEqual",
    shape,
  };
}

/** The sum over source times: times and targets, and what the axes of the sum are. */
export function lookupOf(
  sum: Node,
  { smaller, larger, isInclusive, shape }: Compared,
  graph: PatternGraph,
): { lookup: Lookup; roles: Roles<Role> } | undefined {
  const over = summedAxis(sum, shape.length, graph);
  const [times, targets] = [tagged(smaller, shape.length, graph), tagged(larger, shape.length, graph)];
  if (over === undefined || times === undefined || targets === undefined) return undefined;
  const { axis, isKept } = over;
  const source = shape[axis];
  // Where there is one source time, its axis has no tag.
  if (source === undefined || targets[axis] !== undefined || (source > 1 && times[axis] === undefined))
    return undefined;
  const roles = rolesOfAxes(times, targets, axis);
  if (roles === undefined) return undefined;
  const rootOf = ({ root }: Seen, tags: Roles<number>): Root => ({
    value: root,
    roles: (graph.shape(root) ?? []).map((_, at) => {
      const place = tags.indexOf(at);
      return place < 0 ? undefined : roles[place];
    }),
  });
  const lookup = { times: rootOf(smaller, times), targets: rootOf(larger, targets), source, isInclusive };
  const rest = isKept ? roles.with(axis, undefined) : roles.toSpliced(axis, 1);
  return { lookup, roles: rest };
}

/** Of each axis of the comparison, which axis of the root it is. */
function tagged(seen: Seen, rank: number, graph: PatternGraph): Roles<number> | undefined {
  const shape = graph.shape(seen.root);
  const tags = shape?.map((size, axis) => (size === 1 ? undefined : String(axis)));
  const roles = tags && rolesOfSeen(seen, tags, graph);
  return roles && aligned(roles, rank).map((tag) => (tag === undefined ? undefined : Number(tag)));
}

/** Of the axes of a comparison; undefined where more than a batch and the targets are beside the source times. */
function rolesOfAxes(times: Roles<number>, targets: Roles<number>, source: number): Roles<Role> | undefined {
  const others = [...times.keys()].filter((axis) => axis !== source);
  const ofTimes = others.filter((axis) => times[axis] !== undefined);
  const ofTargets = others.filter((axis) => targets[axis] !== undefined && times[axis] === undefined);
  const isBatched = ofTimes.length > 0;
  if (ofTimes.length > 1 || ofTargets.length > (isBatched ? 1 : 2)) return undefined;
  const [first, second] = ofTargets;
  // One axis of targets before another one of a single element is the batch.
  const isBatch = !isBatched && (second !== undefined || (others.length > 1 && first === others[0]));
  return [...times.keys()].map((axis): Role | undefined => {
    if (axis === source) return "source";
    if (ofTimes.includes(axis)) return "batch";
    if (axis === first) return isBatch ? "batch" : "target";
    return axis === second ? "target" : undefined;
  });
}
