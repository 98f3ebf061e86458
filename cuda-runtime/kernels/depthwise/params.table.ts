/** @file The parameter of depthwise.cu. */
import { i32, i32s, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { activationStruct, divisorStruct } from "../common/params.table.ts";
import { placementStruct } from "../conv/params.table.ts";

export const depthwiseStruct = new StructTable(
  "DepthwiseParams",
  "Strides are in elements; spatial axes are depth, height, width.",
  {
    x: pointer("const void"),
    w: pointer("const float", "[tap, filter]."),
    y: pointer("void"),
    residual: pointer("const void"),
    scale: pointer("const float"),
    bias: pointer("const float"),
    threads: i32(
      "Of tiles: how many tiles one pair of channels has. Of diagonal kernels: tiles of all channels.",
    ),
    filters: i32(),
    outputWidth: i32(),
    outputHeight: i32(),
    kernel: i32s(3),
    input: i32s(3),
    stride: i32s(3),
    dilation: i32s(3),
    pad: i32s(3),
    xBatch: i32(),
    xAxes: i32s(3),
    xChannel: i32(),
    pieces: nested(divisorStruct, "Of the filters that one thread makes."),
    strips: nested(divisorStruct, "Of the positions along the width that one thread makes."),
    height: nested(divisorStruct, "In rows of the output, or in as many as a tile has."),
    depth: nested(divisorStruct),
    filtersPerChannel: nested(divisorStruct),
    to: nested(placementStruct, "Of y."),
    from: nested(placementStruct, "Of the residual."),
    high: i32("Diagonal kernels: rows of the output that a block makes, at most."),
    wide: i32("The same of columns: a multiple of 8."),
    pitch: i32("Bytes between neighbouring positions in shared memory."),
    stage: i32("Bytes from a block's first tile to its second; 0 where it makes one."),
    activation: nested(activationStruct),
    last: nested(activationStruct),
  },
);
