/** @file The parameter of scan.cu. */
import { flag, i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const scanStruct = new StructTable(
  "ScanParams",
  "Running sums or products along one axis. Strides are in elements.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    outerRank: i32(),
    outerSizes: i32s(maxRank, { fill: 1 }),
    outerStridesX: i32s(maxRank, { fill: 0 }),
    outerStridesY: i32s(maxRank, { fill: 0 }),
    outer: i32(),
    length: i32(),
    strideX: i32(),
    strideY: i32(),
    isExclusive: flag(),
    isProduct: flag(),
    lanes: i32("1: a thread to a row; kThreads: a block to a row."),
    xType: i32(),
    yType: i32(),
  },
);
