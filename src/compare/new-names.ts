/**
 * @file Which node of head is which of base, where names do not tell: exporters number nodes, or leave them to the numbers of their values, so
 * that one layer more in front gives every later node the name that another had.
 */
import { attributeText, describe, goneName } from "../fix/diff.ts";
import { labelOf, type Model, type Node, operatorOf } from "../ir/model.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import { commonPairs } from "./common-pairs.ts";

/**
 * Of base's nodes of the main graph, names in head, where these are others; a name that is gone, and is another node's in head, has one that
 * nobody has. Nothing where names explain as much as the order of what is computed does.
 */
export function newNames(base: Model, head: Model): NewNames {
  const [before, after] = [base.graph.nodes, head.graph.nodes];
  const kinds = new Kinds();
  const [from, to] = [before.map((node) => kinds.of(node)), after.map((node) => kinds.of(node))];
  const [old, now] = [placesOf(before), placesOf(after)];
  const agreeing = before.filter((node, index) => {
    const place = now.get(labelOf(node));
    return place !== undefined && to[place] === from[index];
  }).length;
  // Most changes leave names as they are.
  if (agreeing === Math.min(before.length, after.length)) return new Map();
  const pairs = commonPairs(from, to);
  if (pairs === undefined || pairs.size <= agreeing) return new Map();
  return renamed({ before, after, old, now, pairs });
}

interface Sides {
  readonly before: readonly Node[];
  readonly after: readonly Node[];
  /** Where the one node of a name is. */
  readonly old: ReadonlyMap<string, number>;
  readonly now: ReadonlyMap<string, number>;
  /** Of places in base, those in head. */
  readonly pairs: ReadonlyMap<number, number>;
}

function renamed({ before, after, old, now, pairs }: Sides): NewNames {
  const back = new Map([...pairs].map(([from, to]) => [to, from]));
  // Two layers that took each other's widths changed; one that stands where the namesake has moved on, or is no more, has moved.
  const isFree = (place: number | undefined, places: ReadonlyMap<number, number>) =>
    place === undefined || places.has(place);
  const names = new Map<string, string>();
  for (const [from, to] of pairs) {
    const [was, is] = [labelAt(before, from), labelAt(after, to)];
    if (was === is || old.get(was) !== from || now.get(is) !== to) continue;
    if (isFree(now.get(was), back) || isFree(old.get(is), pairs)) names.set(was, is);
  }
  const taken = new Set(names.values());
  for (const label of taken) if (old.has(label) && !names.has(label)) names.set(label, goneName(label));
  return names;
}

function labelAt(nodes: readonly Node[], index: number): string {
  const node = nodes[index];
  return node === undefined ? "" : labelOf(node);
}

/** Names that several nodes have say nothing of either. */
function placesOf(nodes: readonly Node[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const several = new Set<string>();
  for (const [index, node] of nodes.entries()) {
    const label = labelOf(node);
    if (places.has(label)) several.add(label);
    places.set(label, index);
  }
  for (const label of several) places.delete(label);
  return places;
}

/** What nodes do, whatever they and their values are called: a number each. */
class Kinds {
  readonly #numbers = new Map<string, number>();

  of(node: Node): number {
    const inputs = node.inputs.map((value) => {
      const stored = value?.initializer;
      return stored === undefined ? (value === undefined ? "-" : "+") : describe(stored);
    });
    const attributes = node.attributes.map(({ name, value }) => `${name}=${attributeText(value)}`).sort();
    const text = [operatorOf(node), ...inputs, ...attributes].join("\u0000");
    const known = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, known);
    return known;
  }
}
