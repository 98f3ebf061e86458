/** @file The parameters of the kernels of pool/. */
import { f32, flag, i32, i32s, list, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { divisorStruct } from "../common/params.table.ts";

export const poolStruct = new StructTable(
  "PoolParams",
  "Windows. Strides are in elements; spatial axes are depth, height, width.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    indices: pointer("int64_t", "Of the maxima in the input as a whole, or null."),
    threads: i32(),
    kind: i32(),
    type: i32(),
    channels: i32("Of the input."),
    kernel: i32s(3),
    input: i32s(3),
    stride: i32s(3),
    dilation: i32s(3),
    pad: i32s(3),
    padEnd: i32s(3),
    xBatch: i32(),
    xAxes: i32s(3),
    xChannel: i32(),
    yBatch: i32(),
    yAxes: i32s(3),
    yChannel: i32(),
    iBatch: i32(),
    iAxes: i32s(3),
    iChannel: i32(),
    pieces: nested(divisorStruct, "Of neighbouring channels."),
    output: list(nested(divisorStruct), [3]),
    channelsLast: flag("Which neighbours consecutive threads take: channels, or positions along the width."),
    countPads: flag("Whether an average divides by the positions in the padding, too."),
    columnMajor: flag("Of the indices."),
    power: f32(),
  },
);

export const unpoolStruct = new StructTable("UnpoolParams", "All packed, row-major.", {
  x: pointer("const void"),
  indices: pointer("const int64_t"),
  y: pointer("void", "Zeros so far."),
  count: i32(),
  width: i32("Bytes of an element."),
  size: i32s(5, {
    note: "Of y: batch, channels, three axes.",
  }),
  from: i32s(5, { note: "Sizes of the tensor that the indices count through." }),
});

export const regionStruct = new StructTable(
  "RegionParams",
  "Regions of interest. Strides are in elements: batch, channels, height, width.",
  {
    x: pointer("const void"),
    regions: pointer("const float", "[regions, columns], packed."),
    batches: pointer("const int64_t", "Null: the first column says it."),
    y: pointer("void"),
    threads: i32(),
    xType: i32(),
    yType: i32(),
    channels: i32("Of the input."),
    height: i32(),
    width: i32(),
    batch: i32(),
    outHeight: i32(),
    outWidth: i32(),
    xStrides: i32s(4),
    yStrides: i32s(4),
    isMax: flag(),
    sampling: i32("Points a bin and axis; 0: as many as fit."),
    scale: f32(),
    shift: f32(),
    minOne: flag("Regions are at least one element wide."),
  },
);
