/** @file The parameter of depthwise-hopper.cu. */
import { i32, nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { depthwiseStruct } from "../depthwise/params.table.ts";

export const depthwiseRingStruct = new StructTable(
  "DepthwiseRingParams",
  "A depthwise convolution of two axes, whose tiles come and go by TMA.",
  {
    x: tensorMap("Channels, width, height, batch; a box is a tile, or its columns of one parity."),
    y: tensorMap("The same of the result; a box is a row of a tile."),
    p: nested(depthwiseStruct, "Its stage is one of the ring."),
    isWeight: i32("Whether weights and bias need not wait for the launches before."),
    stages: i32(),
    filledBytes: i32("Of a stage, by TMA."),
    row: i32("Bytes from a row of x in shared memory to the next."),
    odd: i32("From the even columns to the odd ones, of stride 2."),
    swizzleShift: i32(
      "16 bytes of a position lie at their number XOR that of the position behind a shift and a mask.",
    ),
    swizzleMask: i32(),
  },
);
