/** @file The parameters of the kernels of resize/. */
import { f32, flag, i32, i32s, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";
import { walkStruct } from "../common/params.table.ts";

export const tapsStruct = new StructTable("TapsParams", "Weighted taps along up to three axes, by tables.", {
  from: pointer("const void"),
  to: pointer("void"),
  indices: pointer("const int"),
  weights: pointer("const float"),
  walk: nested(walkStruct),
  fromStrides: i32s(maxRank, { fill: 0 }),
  toStrides: i32s(maxRank, { fill: 0 }),
  slots: i32s(maxRank, { fill: -1, note: "Which resized axis it is; -1 for the others." }),
  tableAt: i32s(3, { note: "An unused slot has one tap: element 0, weight 1." }),
  taps: i32s(3),
  slotStrides: i32s(3),
  extrapolation: f32(),
});

export const gridSampleStruct = new StructTable(
  "GridSampleParams",
  "Spatial axes are outermost first; two of them have a first one of size 1.",
  {
    x: pointer("const void"),
    grid: pointer("const void"),
    y: pointer("void"),
    walk: nested(walkStruct, "Over y, its axes in memory order."),
    axisOf: i32s(maxRank, { fill: 0, note: "Of y: 0 batch, 1 channel, 2… spatial." }),
    xStrides: i32s(5),
    gridStrides: i32s(5, { note: "Batch, spatial, coordinate." }),
    yStrides: i32s(5),
    sizes: i32s(3),
    spatial: i32("2 or 3."),
    xType: i32(),
    gridType: i32(),
    yType: i32(),
    mode: i32(),
    padding: i32(),
    alignCorners: flag(),
  },
);

export const col2ImStruct = new StructTable(
  "Col2ImParams",
  "Columns [N, C × block, L] added up to an image [N, C, …].",
  {
    columns: pointer("const void"),
    image: pointer("void"),
    count: i32(),
    rank: i32(),
    channels: i32(),
    area: i32("Elements of a block."),
    columnStrides: i32s(3),
    imageSizes: i32s(4),
    blockSizes: i32s(4),
    windows: i32s(4, { note: "Along each axis; L is their product." }),
    dilations: i32s(4),
    begins: i32s(4),
    strides: i32s(4),
    columnsType: i32(),
    imageType: i32(),
  },
);
