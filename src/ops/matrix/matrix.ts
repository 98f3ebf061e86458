/** @file EyeLike and Det. */
import { textOf } from "../../ir/message.ts";
import { defineOp, maxFoldedElements, type OpDefinition, ShapeError } from "../op.ts";
import { dtypeOr } from "../random/random.ts";
import { numbersOf, tensor, tensorAt, unify } from "../shape.ts";
import { half, losesDigits, noHalf } from "../traits.ts";

/** Ones on a diagonal of a matrix of the input's shape. */
const eyeLike = defineOp({
  domain: "",
  type: "EyeLike",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed", sameSince: 9 },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape !== undefined && shape.length !== 2) {
      throw new ShapeError(textOf`the input has rank ${shape.length}, expected 2`);
    }
    const elements = diagonal(numbersOf(shape), context.int("k") ?? 0);
    return [tensor(dtypeOr(context, "dtype", dtype), shape, elements)];
  },
  traffic: "none",
});

function diagonal(sizes: readonly number[] | undefined, offset: number): readonly number[] | undefined {
  const [rows = 0, columns = 0] = sizes ?? [];
  if (sizes === undefined || rows * columns > maxFoldedElements) return undefined;
  return Array.from({ length: rows * columns }, (_, at) =>
    (at % columns) - Math.floor(at / columns) === offset ? 1 : 0,
  );
}

/** x […, M, M] to […]. */
const determinant = defineOp({
  domain: "",
  type: "Det",
  traits: {
    elements: "computed",
    half: half(11, 22, { risk: losesDigits("a determinant cancels"), isWide: true }),
    layout: "fixed",
    sameSince: 11,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape === undefined) return [tensor(dtype, shape)];
    const [rows, columns] = shape.slice(-2);
    if (rows === undefined || columns === undefined) {
      throw new ShapeError(textOf`the input has rank ${shape.length}, expected at least 2`);
    }
    unify(rows, columns, "rows and columns of a square matrix");
    return [tensor(dtype, shape.slice(0, -2))];
  },
});

export const matrixOps: readonly OpDefinition[] = [eyeLike, determinant];
