/** @file The parameter of gemm-hopper.cu. */
import { nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";

/** What a tile's end moves by TMA, for structs that have a GemmParams `p` as well. */
export const endMaps = {
  d: tensorMap("Axes n, m, then those of the batch: 16 rows of a tile's end. Where it has a residual."),
  residual: tensorMap("Likewise 64 rows."),
};

export const hopperStruct = new StructTable("HopperParams", "A product whose operands TMA fetches.", {
  a: tensorMap(
    "Of a and b: axes k, m (or n), then those of the batch, the innermost first; boxes of one tile.",
  ),
  b: tensorMap(),
  ...endMaps,
  p: nested(gemmStruct),
});
