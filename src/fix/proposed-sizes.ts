/** @file Sizes that declined fixes would give products: rows about these are priced by them, and by no other padding. */
import { groupBy } from "../ir/group.ts";
import { labelOf } from "../ir/model.ts";
import { once } from "../ir/once.ts";
import type { ProposedSizes } from "../workload/product.ts";
import type { Workload } from "../workload/workload.ts";

/** Of a product, as the model has it that the fixes would have left; undefined where it has none by that name, or left it as it is. */
export function sizesIn(proposed: Workload): ProposedSizes {
  const byLabel = once(() =>
    groupBy(
      proposed.products.filter(({ scope }) => scope.isMain),
      ({ node }) => labelOf(node),
    ),
  );
  return ({ node, scope, sizes }) => {
    if (!scope.isMain) return undefined;
    const [only, ...namesakes] = byLabel().get(labelOf(node)) ?? [];
    if (only === undefined || namesakes.length > 0) return undefined;
    const own = { ...only.sizes, dtype: sizes.dtype };
    return JSON.stringify(own) === JSON.stringify(sizes) ? undefined : own;
  };
}

/** `the repaired model (13 layers change together)`: beside figures that are of all of them, and of no single entry's. */
export function repairedText(before: Workload, after: Workload): string {
  const count = changedLayers(before, after);
  return `the repaired model${count > 1 ? ` (${count} layers change together)` : ""}`;
}

/** Those that go, as several that become one, and those whose sizes do. */
function changedLayers(before: Workload, after: Workload): number {
  const [from, to] = [before, after].map(sizesByLabel);
  return [...(from ?? [])].filter(([label, sizes]) => to?.get(label) !== sizes).length;
}

function sizesByLabel({ products }: Workload): ReadonlyMap<string, string> {
  const inMain = products.filter(({ scope }) => scope.isMain);
  const byLabel = groupBy(inMain, ({ node }) => labelOf(node));
  return new Map(
    [...byLabel].map(([label, own]) => [label, JSON.stringify(own.map(({ sizes }) => sizes))] as const),
  );
}
