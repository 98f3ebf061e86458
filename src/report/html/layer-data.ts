/**
 * @file Layers as the page holds them. Of a hundred thousand, most are alike but for their names: what they have in common is there
 * once. Every figure is the report's own, to its last digit.
 */
import type { LayerReport } from "../../lint/result.ts";

/** What layers have in common; the names apart. */
export type LayerKind = Omit<LayerReport, "node" | "graph" | "fused" | "findings">;

/** Kind, node, graph, other nodes of the kernel, codes of findings; the last two are left out where they are empty. */
export type LayerRow = readonly [number, string, number, (readonly string[])?, (readonly string[])?];

export interface LayerData {
  readonly kinds: readonly LayerKind[];
  readonly graphs: readonly string[];
  readonly rows: readonly LayerRow[];
}

export function packLayers(layers: readonly LayerReport[]): LayerData {
  const kinds = new Numbered<LayerKind>((kind) => JSON.stringify(kind));
  const graphs = new Numbered<string>((graph) => graph);
  const rows = layers.map(({ node, graph, fused, findings, ...kind }): LayerRow => {
    const row = [kinds.indexOf(kind), node, graphs.indexOf(graph)] as const;
    if (findings.length > 0) return [...row, fused, findings];
    return fused.length > 0 ? [...row, fused] : row;
  });
  return { kinds: kinds.items, graphs: graphs.items, rows };
}

export function unpackLayers({ kinds, graphs, rows }: LayerData): LayerReport[] {
  return rows.flatMap(([kind, node, graph, fused = [], findings = []]) => {
    const common = kinds[kind];
    return common === undefined ? [] : [{ node, graph: graphs[graph] ?? "", fused, findings, ...common }];
  });
}

/** Distinct items in the order in which they come. */
class Numbered<Item> {
  readonly items: Item[] = [];
  readonly #keyOf: (item: Item) => string;
  readonly #indices = new Map<string, number>();

  constructor(keyOf: (item: Item) => string) {
    this.#keyOf = keyOf;
  }

  indexOf(item: Item): number {
    const key = this.#keyOf(item);
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    this.#indices.set(key, this.items.length);
    return this.items.push(item) - 1;
  }
}
