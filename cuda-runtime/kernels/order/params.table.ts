/** @file The parameter of order.cu. */
import { flag, i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const orderStruct = new StructTable(
  "OrderParams",
  "ArgMax, ArgMin and TopK along one axis. Strides are in elements.",
  {
    x: pointer("const void"),
    values: pointer("void", "TopK: elements; ArgMax: unused."),
    indices: pointer("int64_t"),
    outerRank: i32(),
    outerSizes: i32s(maxRank, { fill: 1 }),
    outerStridesX: i32s(maxRank, { fill: 0 }),
    outerStridesValues: i32s(maxRank, { fill: 0 }),
    outerStridesIndices: i32s(maxRank, { fill: 0 }),
    outer: i32(),
    length: i32("Elements along the axis, and their strides."),
    strideX: i32(),
    strideValues: i32(),
    strideIndices: i32(),
    count: i32(
      "TopK: how many are kept, and how many pairs the block's shared memory holds, a power of two.",
    ),
    capacity: i32(),
    lanes: i32(),
    isLargest: flag("Whether the largest come first."),
    isLastIndex: flag(),
    xType: i32(),
  },
);
