/** @file Which kernels of a model are which after a change. */
import { siteOf } from "../facts/nhwc-body.ts";
import { push } from "../ir/group.ts";
import { labelOf, type Node } from "../ir/model.ts";
import type { Step } from "./timeline.ts";

interface Pair {
  readonly before: Step | undefined;
  readonly after: Step | undefined;
}

/** A kernel before and after a change; gone or new where the other is not there. */
export interface PairedSteps extends Pair {
  /** Nothing that it computes is computed any more, in this kernel or in another. */
  readonly isRemoved: boolean;
}

/** What nodes of the main graph are called after a change, where they are called otherwise than before it. */
export type NewNames = ReadonlyMap<string, string>;

export interface Renaming {
  /** The steps whose names these are. */
  readonly of: readonly Step[];
  readonly names: NewNames;
}

/**
 * Kernels are known again by their graph and the name of their first node, or else of any of their nodes; those that have none, by what
 * they do.
 */
export function pairedSteps(
  before: readonly Step[],
  after: readonly Step[],
  renaming: Renaming | undefined,
): readonly PairedSteps[] {
  const labels = new Labels(renaming);
  const named = pairedInPlace(before, after) ?? paired(before, after, (step) => labels.first(step));
  const sharing = pairedByNodes(named.gone, named.fresh, labels);
  const alike = paired(sharing.gone, sharing.fresh, timeOf);
  const renamed = paired(alike.gone, alike.fresh, productKey(alike));
  const found = [named, sharing, alike, renamed].flatMap(({ pairs }) => pairs);
  const left = new Set(renamed.gone.length === 0 ? [] : after.flatMap((step) => labels.sites(step)));
  return [
    ...found.map((pair) => ({ ...pair, isRemoved: false })),
    ...renamed.gone.map((step) => ({
      before: step,
      after: undefined,
      isRemoved: !labels.sites(step).some((site) => left.has(site)),
    })),
    ...renamed.fresh.map((step) => ({ before: undefined, after: step, isRemoved: false })),
  ];
}

/** What kernels are called by the nodes that they compute. */
class Labels {
  readonly #renamed: ReadonlySet<Step>;
  readonly #names: NewNames;

  constructor(renaming: Renaming | undefined) {
    this.#renamed = new Set(renaming?.of);
    this.#names = renaming?.names ?? new Map();
  }

  /** What a kernel computes, wherever it does. */
  sites(step: Step): readonly string[] {
    return step.nodes.map((node) => this.#site(step, node));
  }

  /** By its first node, and what it does with it. */
  first(step: Step): string {
    const [node] = step.nodes;
    return node === undefined ? `\u0000${step.family}` : `${kindOf(step)}\u0000${this.#site(step, node)}`;
  }

  /** Of every node of a kernel, as `first` has the first. */
  all(step: Step): readonly string[] {
    return this.sites(step).map((site) => `${kindOf(step)}\u0000${site}`);
  }

  #site(step: Step, node: Node): string {
    const site = siteOf(node, step.scope);
    const label = labelOf(site.node);
    const isRenamed = this.#names.size > 0 && site.scope.depth === 0 && this.#renamed.has(step);
    return `${site.scope.path}\u0000${isRenamed ? (this.#names.get(label) ?? label) : label}`;
  }
}

/** A conversion has the name of the node that it is for. */
function kindOf({ family, part }: Step): string {
  return part === "conversion" ? part : family;
}

interface Paired {
  readonly pairs: readonly Pair[];
  readonly gone: readonly Step[];
  readonly fresh: readonly Step[];
}

/** Where the same kernels are priced anew: what pairs by name would be, without the names. */
function pairedInPlace(before: readonly Step[], after: readonly Step[]): Paired | undefined {
  if (before.length !== after.length) return undefined;
  const pairs: Pair[] = [];
  for (let index = 0; index < before.length; index++) {
    const step = before[index];
    const other = after[index];
    if (
      step === undefined ||
      other?.nodes !== step.nodes ||
      other.scope !== step.scope ||
      kindOf(other) !== kindOf(step)
    )
      return undefined;
    pairs.push({ before: step, after: other });
  }
  return { pairs, gone: [], fresh: [] };
}

/** Steps with equal keys, the first with the first; those without a key stay alone. */
function paired(
  before: readonly Step[],
  after: readonly Step[],
  keyOf: (step: Step) => string | undefined,
): Paired {
  if (before.length === 0 || after.length === 0) return { pairs: [], gone: before, fresh: after };
  const rest = new Map<string, Step[]>();
  const fresh = new Set(after);
  for (const step of after) {
    const key = keyOf(step);
    if (key !== undefined) push(rest, key, step);
  }
  for (const steps of rest.values()) steps.reverse();
  const pairs: Pair[] = [];
  const gone: Step[] = [];
  for (const step of before) {
    const key = keyOf(step);
    const found = key === undefined ? undefined : rest.get(key)?.pop();
    if (found === undefined) gone.push(step);
    else pairs.push({ before: step, after: found });
    if (found !== undefined) fresh.delete(found);
  }
  return { pairs, gone, fresh: [...fresh] };
}

/** A fused kernel that begins with another node is the kernel that has most of its nodes still; ties go to the first. */
function pairedByNodes(before: readonly Step[], after: readonly Step[], labels: Labels): Paired {
  if (before.length === 0 || after.length === 0) return { pairs: [], gone: before, fresh: after };
  const makerOf = new Map<string, Step>();
  for (const step of after) for (const name of labels.all(step)) makerOf.set(name, step);
  const pairs: Pair[] = [];
  const gone: Step[] = [];
  const taken = new Set<Step>();
  for (const step of before) {
    const shared = new Map<Step, number>();
    for (const name of labels.all(step)) {
      const maker = makerOf.get(name);
      if (maker !== undefined && !taken.has(maker)) shared.set(maker, (shared.get(maker) ?? 0) + 1);
    }
    const [found] = [...shared].sort(([, a], [, b]) => b - a)[0] ?? [];
    if (found === undefined) gone.push(step);
    else pairs.push({ before: step, after: found });
    if (found !== undefined) taken.add(found);
  }
  return { pairs, gone, fresh: after.filter((step) => !taken.has(step)) };
}

/** Products whose nodes have no names of their own, where there are as many as before. */
function productKey({ gone, fresh }: Paired): (step: Step) => string | undefined {
  const surplus = new Map<string, number>();
  for (const { family } of gone) surplus.set(family, (surplus.get(family) ?? 0) + 1);
  for (const { family } of fresh) surplus.set(family, (surplus.get(family) ?? 0) - 1);
  return ({ family }) => (family !== "memory" && surplus.get(family) === 0 ? family : undefined);
}

/** A kernel that takes the same time is the same kernel, wherever it stands now. */
function timeOf({ family, microseconds }: Step): string {
  return `${family}\u0000${microseconds}`;
}
