/** @file The parameters of the kernels of conv/. */
import { flag, i32, i32s, list, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { activationStruct, divisorStruct } from "../common/params.table.ts";

export const placementStruct = new StructTable(
  "Placement",
  "Where a tensor of the output's shape lies. Strides are in elements; spatial axes are depth, height, width.",
  {
    batch: i32(),
    axes: i32s(3),
    channel: i32(),
    position: i32("Between neighbouring output positions, where one stride says it all; else 0."),
    type: i32(),
    width: i32("Channels that may be read or written at once: 8, 2 or 1."),
  },
);

export const convStruct = new StructTable(
  "ConvParams",
  "A convolution as a product: rows are output positions (batch, depth, height, width), columns filters of one group, and what is summed over goes tap by tap, in chunks of 16 bytes.",
  {
    x: pointer("const void"),
    w: pointer("const void", "[group, filter, chunk] of 16 bytes."),
    y: pointer("void"),
    residual: pointer("const void"),
    scale: pointer("const float"),
    bias: pointer("const float"),
    partial: pointer(
      "float",
      "Sums of each split, [split, group, row, filters rounded up to 8]; null for one split.",
    ),
    table: pointer(
      "const int2",
      "Gathering kernels: of each summed element, its offset in x and its tap (see gather.cuh).",
    ),
    rows: i32(),
    filters: i32("Of one group."),
    channels: i32("Of one group."),
    groups: i32(),
    chunks: i32(),
    chunksPerTap: i32(),
    splits: i32(),
    chunksPerSplit: i32(),
    tilesN: i32(),
    kernel: i32s(3),
    input: i32s(3),
    stride: i32s(3),
    dilation: i32s(3),
    pad: i32s(3),
    xBatch: i32(),
    xAxes: i32s(3),
    xGroup: i32(),
    output: list(nested(divisorStruct), [3]),
    to: nested(placementStruct, "Of y."),
    from: nested(placementStruct, "Of the residual."),
    activation: nested(activationStruct),
    last: nested(activationStruct),
  },
);

export const packStruct = new StructTable(
  "PackParams",
  "Weights of `merge` groups at a time become those of one group, zero where a filter does not see a channel.",
  {
    w: pointer("const void"),
    to: pointer("void", "[filter of all groups][pitch]."),
    count: i32(),
    type: i32(),
    toType: i32(),
    isTf32: flag(),
    filters: i32("Of one group, before merging."),
    channels: i32("Of one group, before merging."),
    merge: i32(),
    kernel: i32s(3),
    pitch: i32("Elements of a filter."),
    tapPitch: i32("Elements of a tap where channels come last; 0 where they come first."),
    wFilter: i32(),
    wChannel: i32(),
    wAxes: i32s(3),
  },
);

export const widenStruct = new StructTable(
  "WidenParams",
  "Rows of an image with zeros before and behind them, and few channels side by side.",
  {
    x: pointer("const void"),
    to: pointer("void", "[batch, depth, height, columns, pitch]."),
    type: i32(),
    toType: i32(),
    count: i32("Columns of all rows."),
    channels: i32(),
    pitch: i32("Channels with those that are zero."),
    pad: i32(),
    width: i32("Of x."),
    columns: nested(divisorStruct),
    height: nested(divisorStruct),
    depth: nested(divisorStruct),
    xBatch: i32(),
    xAxes: i32s(3),
    xChannel: i32(),
  },
);
