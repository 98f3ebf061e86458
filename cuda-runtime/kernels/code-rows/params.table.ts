/** @file The parameter of code-rows.cu. */
import { f32, flag, i32, pointer, StructTable } from "../../ir/param-table.ts";

export const codeRowsStruct = new StructTable(
  "CodeRowsParams",
  "Rows of an image of few channels as the windows along them: codes of all taps and channels side by side, at each position.",
  {
    x: pointer("const void", "Codes of a byte, or floats."),
    to: pointer("void", "[image, row, position, bytes], bytes a multiple of 16."),
    type: i32(),
    isSigned: flag("The codes."),
    zero: i32("What lies beside the image."),
    scale: f32("Floats are quantized by it."),
    channels: i32(),
    height: i32(),
    width: i32(),
    positions: i32(),
    stride: i32(),
    pad: i32(),
    chunks: i32("Of 16 bytes a position."),
    xN: i32(),
    xC: i32(),
    xH: i32(),
    xW: i32(),
  },
);
