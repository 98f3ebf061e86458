/** @file The parameter of gemm-thin.cu. */
import { i32, nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";

export const thinStruct = new StructTable(
  "ThinParams",
  "A product of many rows by few along k, whose columns' operand stays in shared memory. Its maps have an axis of one element for a batch.",
  {
    a: tensorMap("Axes k, m: boxes of `panel` along k by the rows of a tile."),
    b: tensorMap("Axes k, n: boxes of `panel` along k by the columns of a group."),
    d: tensorMap("Axes n, m: boxes of a warp's 16 rows. Where rows are at multiples of 16 bytes."),
    residual: tensorMap("Axes n, m: boxes of a group's 64 rows."),
    p: nested(gemmStruct),
    panel: i32("Elements along k of one box: 16, 32 or 64."),
    panels: i32(),
    stages: i32(),
  },
);
