/** @file Operators that belong to no family: matrices, distances, and those that no plan can hold. */

import type { Expr } from "../ir/expr.ts";
import { scalarOf } from "../ir/scalar.ts";
import { isFloatStorage } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import { emitDistance } from "../kernels/misc/distance.ts";
import { emitMatrix } from "../kernels/misc/matrix.ts";
import type { LowerContext, LowerTable } from "./context.ts";
import { fourierLowerings } from "./misc-fourier.ts";
import { lossLowerings } from "./misc-loss.ts";

const random = "draws random numbers, which no two runs share";
const found = "gives as many elements as it finds in the data: sizes have to be known while planning";

export const miscLowerings: LowerTable = {
  ...fourierLowerings,
  ...lossLowerings,
  Det: (context) => lowerMatrix(context, "determinant"),
  EyeLike: lowerEyeLike,
  "com.microsoft::Inverse": (context) => lowerMatrix(context, "inverse"),
  "com.microsoft::CDist": lowerDistance,
  ...failing(random, [
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
  ]),
  ...failing(found, ["NonMaxSuppression", "com.microsoft::Unique"]),
};

function failing(reason: string, operators: readonly string[]): LowerTable {
  return Object.fromEntries(operators.map((operator) => [operator, (context) => context.fail(reason)]));
}

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
    operator: kind === "determinant" ? "Det" : "com.microsoft::Inverse",
  });
}

function lowerDistance(context: LowerContext): void {
  const metric = context.string("metric") ?? "sqeuclidean";
  if (metric !== "sqeuclidean" && metric !== "euclidean") context.fail(`metric "${metric}" is not supported`);
  emitDistance(context, {
    a: floatInput(context, 0),
    b: floatInput(context, 1),
    output: context.output(0),
    isSquared: metric === "sqeuclidean",
  });
}

/** Ones where column - row = k. */
function lowerEyeLike(context: LowerContext): void {
  const [rows = 0, columns = 0] = context.outputShape(0);
  const type = scalarOf(context.outputType(0));
  const number = (value: number): Expr => ({ kind: "constant", type, value });
  const row: Expr = { kind: "index", type: "i32", axisFromRight: 1, size: rows };
  const column: Expr = { kind: "index", type: "i32", axisFromRight: 0, size: columns };
  const offset: Expr = { kind: "constant", type: "i32", value: context.int("k") ?? 0 };
  const diagonal: Expr = { kind: "binary", type: "i32", op: "add", args: [row, offset] };
  const condition: Expr = { kind: "compare", type: "bool", op: "eq", args: [column, diagonal] };
  context.setExpr(0, { kind: "select", type, condition, args: [number(1), number(0)] });
}
