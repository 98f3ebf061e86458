/** @file Which products of codes are computed as one. */
import type { Value } from "../../src/ir/model.ts";
import { joinsOthers, QuantizedGroup } from "../lower/quantized-group.ts";
import type { Quantized } from "../lower/quantized-products.ts";
import type { CodeProduct, StoredAs } from "./code-attention.ts";
import type { PatternGraph } from "./graph.ts";

/** Of products of the same codes by int8 matrices of the file, stored as one type. */
export function groupsOf(
  found: readonly CodeProduct[],
  stored: ReadonlyMap<Value, StoredAs>,
  graph: PatternGraph,
): ReadonlyMap<Quantized, QuantizedGroup> {
  const kinds = [true, false].map((isHalf) => found.filter(({ output }) => stored.has(output) === isHalf));
  return new Map(kinds.flatMap((members) => [...groupsOfOneType(members, graph)]));
}

function groupsOfOneType(
  found: readonly CodeProduct[],
  graph: PatternGraph,
): ReadonlyMap<Quantized, QuantizedGroup> {
  const groups = new Map<Value, Quantized[]>();
  for (const { quantized } of found) {
    const { x, w } = quantized;
    const isMatrix =
      w.codes.initializer !== undefined && !w.codes.isInput && graph.shape(w.codes)?.length === 2;
    if (!isMatrix || graph.dtype(w.codes) !== "int8" || !joinsOthers(quantized)) continue;
    const [first, ...rest] = groups.get(x.codes) ?? [];
    const isAlike = first === undefined || (first.x.scale === x.scale && first.x.zero === x.zero);
    if (isAlike) groups.set(x.codes, first === undefined ? [quantized] : [first, ...rest, quantized]);
  }
  return new Map(
    [...groups.values()].flatMap((members) => {
      const group = new QuantizedGroup(members);
      return members.map((member) => [member, group] as const);
    }),
  );
}
