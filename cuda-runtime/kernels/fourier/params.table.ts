/** @file The parameter of fourier.cu. */
import { flag, i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const fourierStruct = new StructTable(
  "FourierParams",
  "`outer` signals, one after the other along the outer axes. Strides are in elements.",
  {
    x: pointer("const void"),
    window: pointer("const void", "One factor a sample; null for none."),
    y: pointer("void"),
    outerRank: i32(),
    outerSizes: i32s(maxRank, { fill: 1 }),
    outerStridesX: i32s(maxRank, { fill: 0 }),
    outerStridesY: i32s(maxRank, { fill: 0 }),
    outer: i32(),
    given: i32("Samples that are there; others are 0."),
    length: i32("Points of the transform."),
    bins: i32("That are wanted."),
    strideX: i32(),
    strideY: i32(),
    strideWindow: i32(),
    partStrideX: i32("To the imaginary part, where there is one."),
    partStrideY: i32(),
    isComplexX: flag(),
    isComplexY: flag(),
    isInverse: flag(),
    isMirrored: flag("The samples beyond the middle are the conjugates of those before it."),
    xType: i32(),
    yType: i32(),
    windowType: i32(),
  },
);
