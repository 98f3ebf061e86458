/** @file The parameter of matrix.cu. */
import { i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const matrixStruct = new StructTable(
  "MatrixParams",
  "Square matrices, a block each. Strides are in elements.",
  {
    x: pointer("const void"),
    work: pointer("void", "Packed [outer, size, width]: width is `size`, or twice that for an inverse."),
    y: pointer("void"),
    outerRank: i32(),
    outerSizes: i32s(maxRank, { fill: 1 }),
    outerStridesX: i32s(maxRank, { fill: 0 }),
    outerStridesY: i32s(maxRank, { fill: 0 }),
    size: i32(),
    rowStrideX: i32(),
    columnStrideX: i32(),
    rowStrideY: i32(),
    columnStrideY: i32(),
    xType: i32(),
    yType: i32(),
  },
);
