/** @file The parameters of conv-planes.cu. */
import { f32, flag, i32, i32s, nested, pointer, StructTable, u32s } from "../../ir/param-table.ts";
import { activationStruct, divisorStruct } from "../common/params.table.ts";
import { codeQuotientStruct } from "../norm/params.table.ts";

/** Of a pixel of a plane. */
export const slotsOfPixel = 8;
/** Runs of pixels that a stage is copied in, and steps along k: as many as the struct has room for. */
export const mostCopies = 32;
export const mostSteps = 64;

export const packedCodesStruct = new StructTable(
  "PackedCodes",
  "Codes of an image as halves of what they are above their zero point.",
  { zero: f32(), to: nested(codeQuotientStruct, "What floats are quantized by first.") },
);

export const packPlanesStruct = new StructTable(
  "PackPlanesParams",
  "An image of few channels as planes, one for each phase of the rows' stride. A pixel of a plane has eight slots, neighbouring columns and their channels, and the zeros around the image are in the plane.",
  {
    x: pointer("const void"),
    to: pointer("void", "[plane, pixel, slot]."),
    toType: i32(),
    pixels: i32("Of all images."),
    pitch: i32("Pixels of a plane; behind those of the images they are zeros, which tiles reach."),
    slots: i32("The others are zero."),
    slotAt: i32s(slotsOfPixel, { fill: 0, note: "Elements of x from a pixel's first column." }),
    slotColumn: i32s(slotsOfPixel, { fill: 0 }),
    columns: nested(divisorStruct, "Of a row of a plane."),
    rows: nested(divisorStruct, "Of an image."),
    stride: i32s(2, { note: "Height, width, as those below." }),
    pad: i32s(2),
    size: i32s(2),
    xBatch: i32(),
    xAxes: i32s(2),
    codes: nested(packedCodesStruct),
  },
);

export const planeWeightsStruct = new StructTable(
  "PlaneWeightsParams",
  "Weights in the order of the steps: [tile of filters, eight summed elements, filter, slot].",
  {
    w: pointer("const void"),
    to: pointer("void"),
    taps: pointer("const int2", "Of each eight: the tap's row, and its first column; -1 for nothing."),
    type: i32(),
    toType: i32(),
    count: i32(),
    eights: i32(),
    tileFilters: i32(),
    filters: i32(),
    channels: i32(),
    slots: i32(),
    kernelWidth: i32(),
    wFilter: i32(),
    wChannel: i32(),
    wAxes: i32s(2),
  },
);

export const planeWindowStruct = new StructTable(
  "PlaneWindow",
  "How taps lie in planes, in the order of the weights: plane by plane, row by row, and in a row by whole pixels.",
  {
    isUneven: flag(
      "Whether a row's last pixel has columns that the window does not: a weight of zero, but an infinity of the image.",
    ),
    planes: i32(),
    pitch: i32("Pixels between planes."),
    kernel: i32s(2),
    stride: i32("Of the rows."),
    columnsOfPixel: i32(),
    pixelStep: i32("Between a row's taps, in pixels."),
    channels: i32(),
  },
);

export const planeCodesStruct = new StructTable(
  "PlaneCodes",
  "Of a convolution of codes: what becomes of its sums, as of CodeProductParams.",
  {
    addend: pointer("const int", "Of each filter, added to its sums. Null: nothing."),
    zeroOut: pointer("const void", "One code of y. Null: 0."),
    isSigned: flag("Of y."),
    scaleStep: i32("Between the scales of neighbouring filters: 0 or 1."),
    low: i32("Codes below are this one."),
    high: i32(),
  },
);

export const planesStruct = new StructTable(
  "PlanesParams",
  "A convolution over planes. Rows of the product are positions, numbered through rows of a plane with their padding, so that a tap is a shift.",
  {
    planes: pointer("const void"),
    w: pointer("const void"),
    scale: pointer("const float"),
    bias: pointer("const float"),
    y: pointer("void"),
    positions: i32("With those in the padding, which are not stored."),
    tiles: i32("Of positions."),
    filters: i32(),
    storeWidth: i32("Elements of halves that may be stored at once: 8, 2 or 1."),
    steps: i32("Of sixteen along k."),
    stages: i32(),
    stageBytes: i32("Of a stage: what is copied, and behind it zeros."),
    copiedBytes: i32(),
    copies: i32(),
    copyTo: i32s(mostCopies, { fill: 0, note: "Bytes in a stage." }),
    copyFrom: i32s(mostCopies, { fill: 0, note: "Pixels from a tile's first." }),
    copyBytes: i32s(mostCopies, { fill: 0 }),
    step: u32s(mostSteps, {
      fill: 0,
      note: "Low words of descriptors in units of 16 bytes: where the first eight begin, and how far the other eight are.",
    }),
    window: nested(planeWindowStruct),
    columns: nested(divisorStruct, "Of a row of a plane."),
    rows: nested(divisorStruct, "Of an image."),
    size: i32s(2, { note: "Of the output: height, width." }),
    yBatch: i32(),
    yAxes: i32s(2),
    activation: nested(activationStruct, "Of kind kNone where the limits below say it all."),
    low: f32(),
    high: f32(),
    codes: nested(planeCodesStruct),
  },
);
