/** @file What zero points add to the sums of products of codes, and the sums of rows that it takes. */
import type { Emitter } from "../../ir/emitter.ts";
import { constant, load, multiply, subtract } from "../../ir/expr-build.ts";
import { writeParams } from "../../ir/param-table.ts";
import { elementCount, type View } from "../../ir/view.ts";
import type { ProductSize } from "./cost.ts";
import { codeSumsStruct } from "./params.table.ts";

/** [n] of int32. */
export function wideZeros(emitter: Emitter, zero: View, n: number): View {
  return emitter.evaluate(load(asList(zero), "i32"), [n], "int32");
}

function asList(view: View): View {
  const count = elementCount(view.shape);
  const axis = view.shape.findIndex((size) => size !== 1);
  return { ...view, shape: [count], strides: [axis < 0 ? 1 : (view.strides[axis] ?? 1)] };
}

/**
 * Σ (a - zeroA) (b - zeroB) is Σ a b - zeroB Σ a - zeroA Σ b + k zeroA zeroB: all but the first two of each column, with what
 * is added to it; once, at load, where b and the zero points are constants.
 */
export function addendOf(
  emitter: Emitter,
  { zeroA, addend }: { readonly zeroA?: View | undefined; readonly addend?: View | undefined },
  { b, size }: { readonly b: View; readonly size: ProductSize },
  zeroB: View | undefined,
): View | undefined {
  if (zeroA === undefined) return addend;
  const { n, k } = size;
  const sums = codeSums(emitter, b);
  const zero = load(asList(zeroA), "i32");
  const taken = multiply(zero, load(sums));
  const term =
    zeroB === undefined ? taken : subtract(taken, multiply(multiply(zero, load(zeroB)), constant("i32", k)));
  const own = addend === undefined ? constant("i32", 0) : load(addend);
  return emitter.evaluate(subtract(own, term), [n], "int32");
}

/** [n] of int32: the sum of each of b's rows. One batch has as many. */
function codeSums(emitter: Emitter, b: View): View {
  const [, rows = 1, k = 1] = b.shape;
  const sums = emitter.temporary("int32", [rows]);
  emitter.launch({
    kernel: { kind: "built", family: "gemm-int8", entry: "code_sums" },
    grid: [Math.ceil(rows / 8), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: writeParams(codeSumsStruct, {
      ...{ a: b, sums, rows, k },
      pitch: b.strides[1] ?? 0,
      isSigned: b.type === "int8",
    }),
    reads: [b],
    writes: [sums],
  });
  return sums;
}
