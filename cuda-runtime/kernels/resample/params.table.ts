/** @file The parameter of resample.cu and resample-bulk.cu. */
import { f32, flag, i32, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { divisorStruct } from "../common/params.table.ts";

export const sourceIndexStruct = new StructTable(
  "SourceIndex",
  "Of `count` source times that are not behind a target: min(max(count + shift, least), most), from the end where negative.",
  {
    shift: i32(),
    least: i32(),
    most: i32(),
  },
);

export const resampleStruct = new StructTable(
  "ResampleParams",
  "y[b, t] = x[b, low] + weight (x[b, high] - x[b, low]), rows between two source times. Strides are in elements.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    times: pointer("const void", "[batch, source]"),
    targets: pointer("const void", "[batch, target]"),
    batch: i32(),
    source: i32(),
    target: i32(),
    strideXBatch: i32(),
    strideXRow: i32(),
    strideYBatch: i32(),
    strideYRow: i32(),
    strideTimesBatch: i32(),
    strideTimes: i32(),
    strideTargetsBatch: i32(),
    strideTargets: i32(),
    timesType: i32(),
    targetsType: i32(),
    chunks: i32("Accesses of a row."),
    slice: nested(divisorStruct, "Accesses of a row that one block makes."),
    lanes: i32("That look for one target row, a power of two up to 32."),
    isInclusive: flag("A source time that is the target's counts."),
    low: nested(sourceIndexStruct),
    high: nested(sourceIndexStruct),
    spanAdd: f32("To the time between the two rows."),
    spanLeast: f32(),
    zeroSpan: f32("In the place of none."),
    emptyWeight: f32("As `emptyKind` says."),
    emptyKind: i32("0: no such weight; 1: where no time is between the rows; 2: unless a positive one is."),
    weightLeast: f32(),
    weightMost: f32(),
    weightType: i32("The weight is rounded to this type."),
    blend: i32("BlendCode"),
    isStreamed: flag("Rows are asked for once, and not read soon. Of accesses of 16 bytes."),
  },
);
