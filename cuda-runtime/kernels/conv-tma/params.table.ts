/** @file The parameter of conv-tma.cu. */
import { flag, i32, i32s, nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";
import { endMaps } from "../gemm-hopper/params.table.ts";

export const convTmaStruct = new StructTable(
  "ConvTmaParams",
  "A convolution whose operands TMA fetches: as a product, with its end. Axes: depth, height, width.",
  {
    x: tensorMap(
      "Of an image: channels, its axes from the innermost on, batch; a box is a column of positions.",
    ),
    w: tensorMap("Channels, taps, filters."),
    ...endMaps,
    p: nested(gemmStruct, "k counts whole steps of 64: taps times boxes of channels."),
    channels: i32("Of all groups."),
    channelsOfGroup: i32(),
    filtersOfGroup: i32("A multiple of a tile's, where there are several groups."),
    taps: i32(),
    boxesOfTap: i32("Of channels of a group."),
    kernel: i32s(3),
    output: i32s(3),
    stride: i32s(3),
    dilation: i32s(3),
    pad: i32s(3),
    isVolume: flag("Whether the map of x has a depth."),
  },
);
