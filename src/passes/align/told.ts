/** @file What padding did, as data: it is told once, however many rounds came to it. */
import { counted } from "../../ir/format.ts";
import { groupBy } from "../../ir/group.ts";
import { type AddedNodes, addedText } from "./added-nodes.ts";

/** An axis that several values have. */
export interface PaddedAxis {
  /** The first product that has it. */
  readonly product: string;
  readonly from: number;
  readonly to: number;
}

export interface ToldPadding {
  readonly axes: readonly PaddedAxis[];
  /** Labels of products that have one of them. */
  readonly products: ReadonlySet<string>;
  readonly added: AddedNodes;
}

/** `padded 67 to 72, 129 to 136 (2×) in 3 products, with 2 Slices around what needs the true size`. */
export function paddingText({ axes, products, added }: ToldPadding): string {
  const sizes = [...groupBy(axes, ({ from, to }) => `${from} to ${to}`)];
  const each = sizes.map(([text, { length: count }]) => (count > 1 ? `${text} (${count}×)` : text));
  const padded = `padded ${each.join(", ")} in ${counted(products.size, "product")}`;
  const more = addedText(added);
  return more === undefined ? padded : `${padded}, ${more}`;
}

/** Both as one, where `next` pads further what `first` has padded: from the size of the file to the last. Undefined where it pads others alone. */
export function continued(first: ToldPadding, next: ToldPadding): ToldPadding | undefined {
  const more = [...next.axes];
  const axes = first.axes.map((axis) => {
    const at = more.findIndex(({ product, from }) => product === axis.product && from === axis.to);
    const [further] = at < 0 ? [] : more.splice(at, 1);
    return further === undefined ? axis : { ...axis, to: further.to };
  });
  if (more.length === next.axes.length) return undefined;
  return {
    axes: [...axes, ...more],
    products: new Set([...first.products, ...next.products]),
    added: {
      slices: first.added.slices + next.added.slices,
      pads: first.added.pads + next.added.pads,
      areInside: first.added.areInside || next.added.areInside,
    },
  };
}
