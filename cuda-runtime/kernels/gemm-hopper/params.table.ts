/** @file The parameter of gemm-hopper.cu. */
import { nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";

export const hopperStruct = new StructTable("HopperParams", "A product whose operands TMA fetches.", {
  a: tensorMap(
    "Of a and b: axes k, m (or n), then those of the batch, the innermost first; boxes of one tile.",
  ),
  b: tensorMap(),
  p: nested(gemmStruct),
});
