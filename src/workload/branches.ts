/** @file What is priced of graphs inside a model: of branches of which one runs, the dearer; of a body that runs an unknown number of times, one run. */
import type { Facts } from "../facts/infer.ts";
import type { Scope } from "../facts/scope.ts";
import { isUnknown } from "../ir/dim.ts";
import type { Node } from "../ir/model.ts";
import { isBranching } from "../ops/ask.ts";
import { type Timeline, timelineOf } from "./timeline.ts";

/** Where a constant decides, inference has the one branch that runs. */
export function isChoice(node: Node, branches: readonly Scope[]): boolean {
  return branches.length > 1 && isBranching(node);
}

/** The time and the kernels of branches that are priced; what rules look at and nobody adds up has the others as well. */
export function ofDearerBranches(timeline: Timeline, { root }: Facts): Timeline {
  if (root.children.size === 0) return timeline;
  const own = new Map<Scope, number>();
  for (const { scope, microseconds } of timeline.steps) own.set(scope, (own.get(scope) ?? 0) + microseconds);
  const chosen: Chosen = { idle: new Set(), leads: new Map() };
  choose(root, own, chosen);
  const { idle, leads } = chosen;
  if (leads.size === 0) return timeline;
  const isIdle = (scope: Scope) => isIn(scope, idle);
  const { steps, stepOf, stepsOf } = timeline;
  const priced = timelineOf(steps.filter(({ scope }) => !isIdle(scope)));
  return { ...priced, stepOf, stepsOf, choices: { steps, leads, isIdle } };
}

interface Chosen {
  /** Branches that are not priced. */
  readonly idle: Set<Scope>;
  readonly leads: Map<Scope, number>;
}

/** What a graph takes with all that is in it, of branches the dearest. */
function choose(scope: Scope, own: ReadonlyMap<Scope, number>, chosen: Chosen): number {
  let total = own.get(scope) ?? 0;
  for (const [node, graphs] of scope.children) {
    const ranked = graphs
      .map((graph) => ({ graph, time: choose(graph, own, chosen) }))
      .sort((a, b) => b.time - a.time);
    const [first, second] = ranked;
    if (first === undefined || second === undefined || !isChoice(node, graphs)) {
      for (const { time } of ranked) total += time;
      continue;
    }
    total += first.time;
    chosen.leads.set(first.graph, first.time - second.time);
    for (const { graph } of ranked.slice(1)) chosen.idle.add(graph);
  }
  return total;
}

function isIn(scope: Scope, graphs: ReadonlySet<Scope>): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (graphs.has(at)) return true;
  return false;
}

/** A node that runs one of several graphs, and which of them are priced: all that run, where another account than the cost model's says so. */
export interface PricedBranch {
  readonly node: Node;
  readonly priced: readonly Scope[];
}

interface Priced {
  readonly facts: Facts;
  readonly timeline: Timeline;
}

/** Graphs in which, or in graphs of which, any time is spent. */
function busyGraphs({ steps }: Timeline): Set<Scope> {
  const busy = new Set<Scope>();
  for (const { scope, microseconds } of steps)
    for (
      let at: Scope | undefined = scope;
      microseconds > 0 && at !== undefined && !busy.has(at);
      at = at.parent
    )
      busy.add(at);
  return busy;
}

/** Nodes whose body runs as often as only a run knows, and takes any time: it is priced once. */
export function countedOnce({ facts, timeline }: Priced): Node[] {
  if (facts.root.children.size === 0) return [];
  const busy = busyGraphs(timeline);
  return [...facts.scopes()].flatMap((scope) =>
    scope.owner !== undefined && isUnknown(scope.repeat) && busy.has(scope) ? [scope.owner] : [],
  );
}

/** Of choices that take any time. */
export function pricedBranches({ facts, timeline }: Priced): PricedBranch[] {
  if (facts.root.children.size === 0) return [];
  const busy = busyGraphs(timeline);
  return [...facts.scopes()].flatMap((scope) =>
    [...scope.children].flatMap(([node, graphs]) => {
      const priced = isChoice(node, graphs) ? graphs.filter((graph) => busy.has(graph)) : [];
      return priced.length === 0 ? [] : [{ node, priced }];
    }),
  );
}
