/** @file Elements picked by one table of positions an axis: padding, nearest-neighbour resizing, fixed index lists. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { walkFields, walkLaunch } from "./launch.ts";
import { selectStruct } from "./params.table.ts";
import { stridesAlong, type WalkAxis, walkOver } from "./walk.ts";

/** Position in `from` for each position of the output along an axis; outside for none. */
export const outside = -1;

export interface SelectRequest {
  readonly from: View;
  readonly to: View;
  /** By axis; undefined where output and input agree. */
  readonly tables: readonly (readonly number[] | undefined)[];
  /** One element, for positions that are `outside`; undefined for zeros. Of the type of `from`. */
  readonly fill: View | undefined;
}

/** to[i, j, …] = from[tables[0][i], tables[1][j], …]. Both are of types of one size. */
export function emitSelect(emitter: Emitter, { from, to, tables, fill }: SelectRequest): void {
  if (elementCount(to.shape) === 0) return;
  const axes = to.shape.map((size, axis): WalkAxis & { readonly axis: number } => ({
    size,
    strides: [from.strides[axis] ?? 0, to.strides[axis] ?? 0],
    isFixed: tables[axis] !== undefined,
    axis,
  }));
  const walk = walkOver(axes, 1, [
    { view: from, operand: 0, more: [] },
    { view: to, operand: 1, more: [] },
  ]);
  const listed = walk.axes.map((axis) => (hasAxis(axis) ? tables[axis.axis] : undefined));
  const all = listed.flatMap((table) => table ?? []);
  const tableView = all.length === 0 ? undefined : emitter.constant("int32", [all.length], all);
  const params = writeParams(selectStruct, {
    from,
    to,
    tables: tableView,
    fill,
    walk: walkFields(walk),
    fromStrides: stridesAlong(walk, 0),
    toStrides: stridesAlong(walk, 1),
    tableAt: startsOf(listed),
    fillBytes: fill === undefined ? 1 : bytesOfType(fill.type),
  });
  emitter.launch(
    walkLaunch({
      entry: `select_w${walk.width}`,
      count: walk.count,
      params,
      reads: [from, tableView, fill].filter((view) => view !== undefined),
      writes: [to],
    }),
  );
}

/** Axes with a table are never merged, so they come back as they were given. */
function hasAxis(axis: WalkAxis): axis is WalkAxis & { readonly axis: number } {
  return axis.isFixed === true && "axis" in axis && typeof axis.axis === "number";
}

/** Where each table starts in all of them together; -1 for an axis without one. */
function startsOf(tables: readonly (readonly number[] | undefined)[]): number[] {
  let end = 0;
  return tables.map((table) => {
    if (table === undefined) return -1;
    const start = end;
    end += table.length;
    return start;
  });
}
