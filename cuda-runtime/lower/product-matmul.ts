/** @file MatMul, Gemm and the forms of com.microsoft that fuse something into them. */
import { activations } from "../../src/ir/activations.ts";

import type { Expr } from "../ir/expr.ts";
import { add, like, multiply } from "../ir/expr-build.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { permuted, type View } from "../ir/view.ts";
import { emitGenericGemm } from "../kernels/gemm/generic.ts";
import { activated } from "./activation.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { fusedActivation } from "./product-activation.ts";
import { alike, ofRank, pendingOf, setAfter, unsqueezed } from "./product-pending.ts";

/** numpy's matmul as a product of stacks of matrices. */
export interface Stacks {
  readonly a: View;
  readonly b: View;
  /** The output as [...batch, m, n]: lists have neither m nor n. */
  readonly place: (view: View) => View;
  readonly hasColumns: boolean;
}

export function stacksOf(a: View, b: View): Stacks {
  const [isListA, isListB] = [a.shape.length === 1, b.shape.length === 1];
  const matrixA = isListA ? unsqueezed(a, 0) : a;
  const matrixB = isListB ? unsqueezed(b, 1) : b;
  const rank = Math.max(matrixA.shape.length, matrixB.shape.length);
  return {
    a: ofRank(matrixA, rank),
    b: ofRank(matrixB, rank),
    place(view) {
      const withRows = isListA ? unsqueezed(view, Math.max(0, rank - 2)) : view;
      return isListB ? unsqueezed(withRows, rank - 1) : withRows;
    },
    hasColumns: !isListB,
  };
}

/** Types that a simple kernel multiplies. */
const wholeTypes: ReadonlySet<StorageType> = new Set(["float64", "int32", "uint32", "int64", "uint64"]);

interface Extra {
  readonly alpha?: number | undefined;
  readonly after?: ((sum: Expr) => Expr) | undefined;
}

/** The output is the product of `a` and `b` times alpha, then what `after` does. */
function setProductOf(context: LowerContext, a: View, b: View, { alpha = 1, after }: Extra = {}): void {
  const shape = context.outputShape(0);
  if (isFloatStorage(a.type) && isFloatStorage(b.type)) {
    const { a: left, b: right, place, hasColumns } = stacksOf(...alike(context, a, b));
    const channelAxis = hasColumns ? shape.length - 1 : undefined;
    const type = context.outputType(0);
    setAfter(
      context,
      pendingOf(context, { a: left, b: right, shape, type, place, channelAxis, alpha }),
      after,
    );
    return;
  }
  if (!wholeTypes.has(a.type) || a.type !== b.type) {
    context.fail(`multiplies ${a.type} by ${b.type}, supported are floats and ${[...wholeTypes].join(", ")}`);
  }
  const scaled = alpha === 1 ? after : (sum: Expr) => (after ?? same)(multiply(sum, like(sum, alpha)));
  const stacks = stacksOf(a, b);
  const sum = context.temporary(a.type, shape);
  emitGenericGemm(context, { a: stacks.a, b: stacks.b, to: stacks.place(sum) });
  if (scaled === undefined) context.setOutput(0, sum);
  else context.setExpr(0, scaled({ kind: "load", type: scalarTypeOf(context, sum), view: sum }));
}

function same(expr: Expr): Expr {
  return expr;
}

const wholeScalars = { float64: "f64", int32: "i32", uint32: "u32", int64: "i64", uint64: "u64" } as const;

function scalarTypeOf(context: LowerContext, { type }: View): Expr["type"] {
  for (const [name, scalar] of Object.entries(wholeScalars)) if (name === type) return scalar;
  return context.fail(`multiplies ${type}`);
}

const matMul: Lower = (context) => setProductOf(context, context.input(0), context.input(1));

function flag(context: LowerContext, name: string): boolean {
  return (context.int(name) ?? 0) !== 0;
}

/** The last two axes turned. */
function transposed(view: View): View {
  const axes = view.shape.map((_, axis) => axis);
  const [row = 0, column = 0] = axes.slice(-2);
  return view.shape.length < 2 ? view : permuted(view, [...axes.slice(0, -2), column, row]);
}

function matrixInput(context: LowerContext, index: number, transpose: string): View {
  const view = context.input(index);
  return flag(context, transpose) ? transposed(view) : view;
}

/** alpha A B + beta C, then an activation. Before opset 7, C broadcasts only where an attribute says so; shapes tell the same. */
function gemm(activation?: (context: LowerContext) => ((x: Expr) => Expr) | undefined): Lower {
  return (context) => {
    const beta = context.float("beta") ?? 1;
    const hasC = context.hasInput(2) && beta !== 0;
    const activate = activation?.(context);
    const sumWithC = (sum: Expr) => {
      if (!hasC) return sum;
      const c = context.expr(2);
      return add(sum, beta === 1 ? c : multiply(c, like(c, beta)));
    };
    const after =
      hasC || activate !== undefined ? (sum: Expr) => (activate ?? same)(sumWithC(sum)) : undefined;
    setProductOf(context, matrixInput(context, 0, "transA"), matrixInput(context, 1, "transB"), {
      alpha: context.float("alpha"),
      after,
    });
  };
}

/** With transBatch the first axis of the matrix is stored in front of the batch axes. */
function batchFirst(view: View, isInFront: boolean): View {
  const axes = view.shape.map((_, axis) => axis);
  const [row, ...rest] = axes;
  const column = rest.at(-1);
  if (!isInFront || row === undefined || column === undefined) return view;
  return permuted(view, [...rest.slice(0, -1), row, column]);
}

/** alpha A' B', then an activation. */
function fusedMatMul(activation?: (context: LowerContext) => ((x: Expr) => Expr) | undefined): Lower {
  return (context) => {
    const operand = (index: number, letter: "A" | "B") => {
      const view = batchFirst(context.input(index), flag(context, `transBatch${letter}`));
      return flag(context, `trans${letter}`) ? transposed(view) : view;
    };
    const options = { alpha: context.float("alpha"), after: activation?.(context) };
    setProductOf(context, operand(0, "A"), operand(1, "B"), options);
  };
}

/** X W, plus a bias, then GELU by tanh. */
const gemmFastGelu: Lower = (context) =>
  setProductOf(context, context.input(0), context.input(1), {
    after: (sum) => activated(activations.GeluTanh, context.hasInput(2) ? add(sum, context.expr(2)) : sum),
  });

export const matMulLowerings: LowerTable = {
  MatMul: matMul,
  Gemm: gemm(),
  "com.microsoft::FusedGemm": gemm((context) => fusedActivation(context, "activation")),
  "com.microsoft::FusedMatMul": fusedMatMul(),
  "com.microsoft::TransposeMatMul": fusedMatMul(),
  "com.microsoft::FusedMatMulActivation": fusedMatMul((context) => fusedActivation(context, "activation")),
  "com.microsoft::GemmFastGelu": gemmFastGelu,
};
