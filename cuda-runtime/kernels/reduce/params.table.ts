/** @file The parameter of reduce.cu. */
import { flag, i32, i32s, i64, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const reduceStruct = new StructTable(
  "ReduceParams",
  "`outer` results of `inner` elements each. Strides are in elements.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    outerRank: i32(),
    innerRank: i32(),
    outerSizes: i32s(maxRank, { fill: 1, note: "Kept axes: sizes, and strides of x and y." }),
    outerStridesX: i32s(maxRank, { fill: 0 }),
    outerStridesY: i32s(maxRank, { fill: 0 }),
    innerSizes: i32s(maxRank, { fill: 1, note: "Reduced axes." }),
    innerStrides: i32s(maxRank, { fill: 0 }),
    outer: i32(),
    inner: i32(),
    chunk: i32("Reduced elements to a block row (blockIdx.y); each writes its own partial result."),
    chunkStrideY: i32(),
    lanes: i32("Threads that share one result."),
    isSideBySide: flag(
      "Neighbouring threads have neighbouring results, not the same one (only `reduce_any`).",
    ),
    combine: i32(),
    pre: i32(),
    post: i32(),
    divisor: i32(),
    xType: i32(),
    yType: i32(),
  },
);

export const slabReduceStruct = new StructTable(
  "SlabReduceParams",
  "Rows of columns that lie next to each other, in each of a batch: blockIdx.y. Strides are in elements.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    xBatch: i64(),
    yBatch: i64(),
    xRow: i64(),
    yColumn: i32(),
    columns: i32(),
    rows: i32(),
    lanes: i32("Threads side by side, a power of two up to 32."),
    pre: i32(),
    post: i32(),
    divisor: i32(),
    yType: i32(),
  },
);
