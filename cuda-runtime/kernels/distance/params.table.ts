/** @file The parameter of distance.cu. */
import { flag, i32, pointer, StructTable } from "../../ir/param-table.ts";

export const distanceStruct = new StructTable(
  "DistanceParams",
  "a [rows, width], b [columns, width], y [rows, columns]. Strides are in elements.",
  {
    a: pointer("const void"),
    b: pointer("const void"),
    y: pointer("void"),
    rows: i32(),
    columns: i32(),
    width: i32(),
    rowStrideA: i32(),
    strideA: i32(),
    rowStrideB: i32(),
    strideB: i32(),
    rowStrideY: i32(),
    columnStrideY: i32(),
    isSquared: flag(),
    aType: i32(),
    bType: i32(),
    yType: i32(),
  },
);
