/** @file The parameters of the kernels of gemm-int8/. */
import { f32, flag, i32, i64, nested, pointer, StructTable, tensorMap, u32 } from "../../ir/param-table.ts";
import { activationStruct, divisorStruct } from "../common/params.table.ts";

export const codeRealsStruct = new StructTable("CodeReals", "What real numbers codes of a byte stand for.", {
  scale: f32(),
  base: f32("2^23, the zero point, and 128 of signed codes: what a code's float is above the difference."),
  flip: u32("0x80808080 of signed codes, which are compared as unsigned ones then."),
});

export const codeSumStruct = new StructTable(
  "CodeSum",
  "How codes and a residual's become codes without what they stand for: own times one plus other times one, bounded, and `whole` added.",
  {
    isKnown: flag("Every pair of codes was tried (code-sum.ts)."),
    own: f32(),
    other: f32(),
    low: f32("Bounds of the sum: codes less their zero point."),
    high: f32(),
    whole: f32("3 * 2^22, where floats have no fraction, and d's zero point."),
  },
);

export const codeTailStruct = new StructTable(
  "CodeTail",
  "What is done to results behind their scale and bias, before they are stored.",
  {
    kind: i32("A TailKind."),
    activation: nested(activationStruct, "Of floats, before the residual; none of codes."),
    between: nested(codeRealsStruct, "What they were rounded to."),
    residual: pointer("const void", "[m, n], added. Null: nothing."),
    rBatch: i64(),
    rM: i32(),
    rType: i32(),
    added: nested(codeRealsStruct, "A residual of codes."),
    least: f32(
      "What results are raised to behind the residual: 0 for Relu, else -inf. Of codes it is in `low`.",
    ),
    scale: f32("Of d's codes."),
    inverse: f32("1 / scale, rounded, and what is left of it."),
    rest: f32(),
    low: f32("Numbers below are this one, which is that of the least code."),
    high: f32(),
    zeros: u32("d's zero point, four times."),
    sum: nested(codeSumStruct, "Of codes between, a residual of codes, and codes behind it."),
  },
);

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
    zeroOut: pointer("const void", "One code of `codeType`. Null: 0."),
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
    codeType: i32("What sums are rounded to: d's type, or that of codes between."),
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
    tail: nested(codeTailStruct),
  },
);

export const codeMapsStruct = new StructTable(
  "CodeMapsParams",
  "A product of codes whose operands TMA fetches.",
  {
    a: tensorMap(
      "Axes k, m, batch; boxes of one tile. Of an image: channels, width, height, batch; columns of positions.",
    ),
    b: tensorMap("Axes k, n, batch; or channels, taps, filters."),
    p: nested(codeProductStruct),
    ofBatch: nested(divisorStruct, "Tiles of each product of a batch."),
    ofGroup: nested(divisorStruct, "Tiles of eight rows of them."),
    taps: i32("Of a convolution."),
    boxesOfTap: i32("Of channels."),
    stepsOfBlock: i32("Along k, of a block of a team that adds up."),
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
