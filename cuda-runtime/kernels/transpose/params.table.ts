/** @file The parameter of transpose.cu. */
import { i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";

export const transposeStruct = new StructTable(
  "TransposeParams",
  "Tiles whose rows are `x` of the source (its innermost axis), columns `y` (the target's). Strides are in elements.",
  {
    from: pointer("const void"),
    to: pointer("void"),
    sizeX: i32(),
    sizeY: i32(),
    fromStrideY: i32("In elements: from row to row of the tile, on either side."),
    toStrideX: i32(),
    tilesX: i32(),
    tilesY: i32(),
    fromStrideX: i32(),
    toStrideY: i32(),
    batchSizes: i32s(6, { note: "Outermost first; 1 where there are fewer." }),
    fromBatchStrides: i32s(6),
    toBatchStrides: i32s(6),
  },
);
