/** @file The parameters of the kernels of softmax/. */
import { i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";

export const rowSoftmaxStruct = new StructTable(
  "RowSoftmaxParams",
  "Contiguous rows. Strides are in elements, between rows.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    rows: i32(),
    cols: i32(),
    xStride: i32(),
    yStride: i32(),
    yType: i32(),
    mode: i32(),
  },
);

export const axisSoftmaxStruct = new StructTable(
  "AxisSoftmaxParams",
  "One axis of any stride. Strides are in elements.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    kept: i32("Softmaxes."),
    length: i32("Elements of each."),
    xStride: i32("Along the axis."),
    yStride: i32(),
    xType: i32(),
    yType: i32(),
    mode: i32(),
    size: i32s(8, { note: "Sizes and strides of the other axes, the last one fastest." }),
    keptX: i32s(8),
    keptY: i32s(8),
  },
);
