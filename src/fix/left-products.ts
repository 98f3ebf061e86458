/** @file Which products rules still find in a repaired model, and of which state of it what each would save is told. */
import { groupBy } from "../ir/group.ts";
import { labelOf } from "../ir/model.ts";
import type { CostedProduct, ProposedSizes } from "../workload/product.ts";
import type { Workload } from "../workload/workload.ts";
import type { Declined } from "./decide-stored.ts";
import type { FixSettings, RemainingProduct } from "./pipeline.ts";
import { sizesIn } from "./proposed-sizes.ts";

export interface LeftProduct extends RemainingProduct {
  /**
   * Where a command makes in half what is declined here: `part` of what that saves, or `behind` it, where lint finds it as well. Undefined of the model as
   * it is.
   */
  readonly place?: "part" | "behind";
}

/** `product` is one of `workload`, whichever state its time is of. */
export function leftProducts(
  workload: Workload,
  { remaining }: Pick<FixSettings, "remaining">,
  declined: Declined | undefined,
  proposed: ProposedSizes,
): readonly LeftProduct[] {
  if (remaining === undefined) return [];
  const made = declined?.isMadeInHalf === true ? declined.proposed : undefined;
  if (made === undefined) return remaining(workload, { proposed });
  const sizes = sizesIn(made);
  const parts = remaining(workload, { made }).filter(({ product }) => sizes(product) !== undefined);
  const inFile = sameIn(workload);
  const behind = remaining(made).flatMap((each) => {
    const product = inFile(each.product);
    return product === undefined ? [] : [{ ...each, product, place: "behind" } as const];
  });
  return [...parts.map((each) => ({ ...each, place: "part" }) as const), ...behind];
}

/** By the names of nodes, which fixes keep: of several products at one, by the weight. */
function sameIn({ products }: Workload): (product: CostedProduct) => CostedProduct | undefined {
  const byName = groupBy(products, nameOf);
  return (product) => {
    const own = byName.get(nameOf(product)) ?? [];
    return own.find(({ weight }) => weight?.name === product.weight?.name) ?? own[0];
  };
}

function nameOf({ node, scope }: CostedProduct): string {
  return `${scope.path}\u0000${labelOf(node)}`;
}
