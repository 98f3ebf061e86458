/** @file The parameter of gemm-pair.cu. */
import { flag, i32, nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";

export const pairStruct = new StructTable(
  "PairParams",
  "Two products, the result of the first one the rows of the second one. Maps have an axis of one element for a batch.",
  {
    a: tensorMap("Of the first one: axes k, m: boxes of 64 along k by a tile's rows."),
    b: tensorMap("Axes k, n: boxes of 64 along k by a chunk's columns."),
    d: tensorMap("Axes n, m: boxes of a chunk's columns by a warp's 16 rows."),
    residual: tensorMap("Axes n, m: boxes of a chunk's columns by a tile's rows."),
    weights: tensorMap("Of the second one: axes k, n: boxes of 64 along k by a chunk's columns."),
    to: tensorMap("Axes n, m: boxes of a chunk's columns by a warp's 16 rows. Where blocks are no team."),
    secondResidual: tensorMap("Likewise by a tile's rows."),
    p: nested(gemmStruct),
    q: nested(gemmStruct),
    panels: i32("Along k of the first one: boxes."),
    columns: i32("Of the first one's result that a block computes: whole chunks."),
    chunks: i32("Of the second one's columns that a block computes."),
    parts: i32("Blocks that share the second one's columns, where they are no team."),
    isKept: flag("Whether somebody else reads the first one's result."),
  },
);
