/**
 * @file Elementwise arithmetic as a graph of scalar operations over loads. One such graph becomes one kernel.
 *
 * An expression has no shape of its own: it is evaluated for every element of an output shape, and its loads are
 * broadcast to that shape as ONNX does, axes aligned from the right.
 */
import type { PendingProduct } from "./epilogue.ts";
import type { HalfStorage, SmallInteger } from "./storage.ts";
import type { View } from "./view.ts";

/** Registers that arithmetic runs in. Halves and bfloat16 are computed in f32, small integers in i32 or u32. */
export type ScalarType = "f32" | "f64" | "i32" | "u32" | "i64" | "u64" | "bool";

/** Of one argument, same type as the argument. Float only, except neg, abs, sign, not. */
export type UnaryOp =
  | "neg"
  | "abs"
  | "sign"
  | "sqrt"
  | "rsqrt"
  | "reciprocal"
  | "exp"
  | "log"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "sinh"
  | "cosh"
  | "tanh"
  | "asinh"
  | "acosh"
  | "atanh"
  | "erf"
  | "sigmoid"
  | "floor"
  | "ceil"
  /** To nearest, ties to even. */
  | "round"
  /** Bits of an integer, or a boolean. */
  | "not";

/** Of two arguments of one type, result of the same type. */
export type BinaryOp =
  | "add"
  | "sub"
  | "mul"
  /** Integers: truncated. */
  | "div"
  /** Sign of the divisor (Python's, for integers). */
  | "mod"
  /** Sign of the dividend (C's). */
  | "fmod"
  | "pow"
  /** NaN where either is NaN. */
  | "min"
  | "max"
  | "and"
  | "or"
  | "xor"
  | "shl"
  | "shr";

/** Of two arguments of one type, result bool; false for NaN except "ne". */
export type CompareOp = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

/** Of one float, result bool. */
export type TestOp = "isnan" | "isposinf" | "isneginf";

export type Expr =
  /** An element of a view in memory, converted to `type`. */
  | { readonly kind: "load"; readonly type: ScalarType; readonly view: View }
  /** An element of a product not yet launched. The planner makes a load of it, or takes the expression as its epilogue. */
  | { readonly kind: "product"; readonly type: ScalarType; readonly product: PendingProduct }
  | {
      readonly kind: "constant";
      readonly type: ScalarType;
      readonly value: number;
      /** Set where the model stores it so: √2 is another number there. */
      readonly storedAs?: HalfStorage;
    }
  /** The coordinate along an axis counted from the right (0: the last one) of an axis of `size`; 0 where size is 1. */
  | { readonly kind: "index"; readonly type: "i32"; readonly axisFromRight: number; readonly size: number }
  | { readonly kind: "unary"; readonly type: ScalarType; readonly op: UnaryOp; readonly arg: Expr }
  | {
      readonly kind: "binary";
      readonly type: ScalarType;
      readonly op: BinaryOp;
      readonly args: readonly [Expr, Expr];
    }
  | {
      readonly kind: "compare";
      readonly type: "bool";
      readonly op: CompareOp;
      readonly args: readonly [Expr, Expr];
    }
  | { readonly kind: "test"; readonly type: "bool"; readonly op: TestOp; readonly arg: Expr }
  | {
      readonly kind: "select";
      readonly type: ScalarType;
      readonly condition: Expr;
      readonly args: readonly [Expr, Expr];
    }
  /** To another register type as ONNX's Cast does: floats to integers truncate, anything to bool is `!= 0`. */
  | { readonly kind: "convert"; readonly type: ScalarType; readonly arg: Expr }
  /** Rounded to a narrower storage type and back: what a Cast to half in the model means; integers wrap. */
  | {
      readonly kind: "narrow";
      readonly type: ScalarType;
      readonly to: "float16" | "bfloat16" | SmallInteger;
      readonly arg: Expr;
    }
  /** The register's bits read as another type of the same width. */
  | { readonly kind: "bits"; readonly type: "f32" | "u32"; readonly arg: Expr };
