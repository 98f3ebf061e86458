/** @file Determinants, inverses, and distances between the rows of two matrices. */

import { isFloatStorage } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import { emitDistance } from "../kernels/distance/distance.ts";
import { emitMatrix } from "../kernels/matrix/matrix.ts";
import type { LowerContext, LowerTable } from "./context.ts";

export const matrixLowerings: LowerTable = {
  Det: (context) => lowerMatrix(context, "determinant"),
  "com.microsoft::Inverse": (context) => lowerMatrix(context, "inverse"),
  "com.microsoft::CDist": lowerDistance,
};

function floatInput(context: LowerContext, index: number): View {
  const view = context.input(index);
  if (!isFloatStorage(view.type) && view.type !== "float64")
    context.fail(`input ${index} is ${view.type}, expected a float`);
  return view;
}

function lowerMatrix(context: LowerContext, kind: "determinant" | "inverse"): void {
  emitMatrix(context, {
    kind,
    input: floatInput(context, 0),
    output: context.output(0),
  });
}

function lowerDistance(context: LowerContext): void {
  const metric = context.string("metric") ?? "sqeuclidean";
  if (metric !== "sqeuclidean" && metric !== "euclidean")
    context.fail(`metric is "${metric}", expected sqeuclidean or euclidean`);
  emitDistance(context, {
    a: floatInput(context, 0),
    b: floatInput(context, 1),
    output: context.output(0),
    isSquared: metric === "sqeuclidean",
  });
}
