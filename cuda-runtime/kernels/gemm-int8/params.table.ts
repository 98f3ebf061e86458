/** @file The parameters of the kernels of gemm-int8/. */
import { flag, i32, i64, nested, pointer, StructTable, tensorMap } from "../../ir/param-table.ts";

export const codeProductStruct = new StructTable(
  "CodeProductParams",
  "A product of codes of a byte, or a convolution as one, and what becomes of its sums. Strides are in elements.",
  {
    a: pointer("const void", "[m, k]; of a convolution [N, H, W, C]."),
    b: pointer("const void", "[n, k]; k of a convolution is taps, then channels."),
    d: pointer("void"),
    addend: pointer("const int", "Of each column, added to its integer sums. Null: nothing."),
    zeroB: pointer(
      "const int",
      "Of each column, times the sum of a's row taken off its sums. Null: nothing.",
    ),
    scale: pointer("const float", "Sums times this are what is stored; null: integer sums are."),
    bias: pointer("const float", "Of each column, added behind the scale. Null: nothing."),
    zeroOut: pointer("const void", "One code of d's type. Null: 0."),
    fill: pointer("const void", "One code of a: what lies outside of a convolution's input. Null: 0."),
    aBatch: i64(),
    bBatch: i64(),
    dBatch: i64(),
    m: i32(),
    n: i32(),
    k: i32(),
    tilesM: i32(),
    tilesN: i32(),
    batch: i32(),
    aM: i32(),
    bN: i32(),
    dM: i32(),
    scaleStep: i32("Between the scales of neighbouring columns: 0 or 1."),
    dType: i32(),
    low: i32("Codes below are this one: what a type, or an activation, leaves."),
    high: i32(),
    channels: i32("Of a convolution: a multiple of 16."),
    width: i32(),
    height: i32(),
    outWidth: i32(),
    outPositions: i32("Height times width of the output."),
    tapsX: i32(),
    strideY: i32(),
    strideX: i32(),
    dilationY: i32(),
    dilationX: i32(),
    padY: i32(),
    padX: i32(),
    xN: i32(),
    xH: i32(),
    xW: i32(),
  },
);

export const codeMapsStruct = new StructTable(
  "CodeMapsParams",
  "A product of codes whose operands TMA fetches.",
  {
    a: tensorMap("Axes k, m (or n), batch; boxes of one tile."),
    b: tensorMap(),
    p: nested(codeProductStruct),
  },
);

export const codeSumsStruct = new StructTable("CodeSumsParams", "The sum of each row of codes.", {
  a: pointer("const void", "[rows, k], unit stride along k."),
  sums: pointer("int"),
  rows: i32(),
  k: i32(),
  pitch: i32(),
  isSigned: flag(),
});
