/** @file The parameter of conv-halo.cu. */
import { i32, nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";

export const convHaloStruct = new StructTable(
  "ConvHaloParams",
  "A convolution of two axes and stride 1, whose taps are read from one patch of the image. Patches: 8 by 8 outputs and their halo.",
  {
    x: tensorMap("Channels, width, height, batch; a box is a patch."),
    w: tensorMap("Channels, taps, filters."),
    p: nested(gemmStruct, "m counts patches, k whole steps: taps times boxes of channels."),
    boxes: i32("Of channels."),
    taps: i32(),
    kernelX: i32(),
    width: i32("Of the output."),
    height: i32(),
    patchesX: i32("Of an image."),
    patchesY: i32(),
    dilationX: i32(),
    dilationY: i32(),
    padX: i32(),
    padY: i32(),
    patchWidth: i32("In positions of the input."),
    filledBytes: i32("Of a patch."),
    patchBytes: i32("From one patch in shared memory to the next."),
  },
);
