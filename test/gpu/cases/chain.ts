/** @file Operations of elementwise chains on the GPU against JavaScript's numbers. */

import type { BinaryOp, CompareOp, Expr, UnaryOp } from "../../../cuda-runtime/ir/expr.ts";
import * as build from "../../../cuda-runtime/ir/expr-build.ts";
import { binaryValue, compareValue, narrowValue, unaryValue } from "../../../cuda-runtime/ir/expr-value.ts";
import {
  isFloatStorage,
  isHalfStorage,
  type StorageType,
  storageTypes,
} from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { check, exact, floats, integers, stored, toleranceOf, types } from "../chain-checks.ts";

const unaryRanges: Readonly<Record<Exclude<UnaryOp, "not">, readonly [number, number]>> = {
  neg: [-1e4, 1e4],
  abs: [-1e4, 1e4],
  sign: [-1, 1],
  sqrt: [0, 6e4],
  rsqrt: [1e-3, 6e4],
  reciprocal: [1e-3, 1e3],
  exp: [-20, 10],
  log: [1e-3, 6e4],
  sin: [-1e3, 1e3],
  cos: [-1e3, 1e3],
  tan: [-1.5, 1.5],
  asin: [-1, 1],
  acos: [-1, 0.99],
  atan: [-100, 100],
  sinh: [-10, 10],
  cosh: [-10, 10],
  tanh: [-8, 8],
  asinh: [-1e4, 1e4],
  acosh: [1, 1e4],
  atanh: [-0.99, 0.99],
  erf: [-5, 5],
  sigmoid: [-20, 20],
  floor: [-1e3, 1e3],
  ceil: [-1e3, 1e3],
  round: [-1e3, 1e3],
};

const specials = [
  0,
  -0,
  1,
  -1,
  0.5,
  1.5,
  -2.5,
  2 ** -24,
  -(2 ** -24),
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
];
/** No halves. */
const extremes = [1e-40, -1e-40, 1e-45, 3e38, -3e38, 1e30, 88.5, -104, 1e10, 123_456_789];

/** Near zeros of the function that are no zeros of x. */
const absoluteErrors: Readonly<Partial<Record<UnaryOp, number>>> = {
  sin: 4e-7,
  cos: 4e-7,
  tan: 4e-7,
  acos: 4e-7,
  log: 4e-7,
  acosh: 4e-7,
};

/** The special function unit's logarithm and exponential are off by 1e-6 or so where halves are stored. */
function unaryTolerance(op: UnaryOp, from: StorageType, to: StorageType): Tolerance {
  const { relative, absolute } = toleranceOf(to);
  const factor = to === "float64" ? 1e-8 : 1;
  const extra = (absoluteErrors[op] ?? 0) * factor;
  return { relative, absolute: absolute + extra + (isHalfStorage(from) ? 0 : 1e-45) };
}

function unaryCase(
  op: Exclude<UnaryOp, "not">,
  from: (typeof floats)[number],
  to: (typeof floats)[number],
): KernelCase {
  return {
    name: `${op} ${from} to ${to}`,
    run(harness) {
      const [low, high] = unaryRanges[op];
      const isWide = from === "float32" || from === "float64";
      const even = Array.from({ length: 2000 }, (_, i) => low + ((high - low) * i) / 1999);
      // Angles of doubles beyond 2^52 are reduced by a table: good to 1e-7 only.
      const isReduced = from === "float64" && (op === "sin" || op === "cos" || op === "tan");
      const far = extremes.filter((x) => !isReduced || Math.abs(x) < 2 ** 52);
      const values = [...even, ...specials, ...(isWide && to === from ? far : [])];
      const operand = harness.tensor(from, [values.length], { values });
      check(harness, op, [operand], to, {
        expr: ([x]) => build.unary(op, x ?? build.constant("f32", 0)),
        f: (x) => unaryValue(op, "f64", x),
        tolerance: unaryTolerance(op, from, to),
      });
    },
  };
}

/** Of a type: values of both signs where it has them, small enough for products. */
function samples(harness: Harness, type: StorageType, shape: readonly number[], seed: number): View {
  return harness.tensor(type, shape, { seed, scale: isFloatStorage(type) || type === "float64" ? 8 : 11 });
}

function binaryCase(op: BinaryOp, type: StorageType): KernelCase {
  return {
    name: `${op} ${type}`,
    run(harness) {
      const shape = [33, 40];
      const isInteger = integers.includes(type);
      const divides = op === "div" || op === "mod" || op === "fmod";
      const a = samples(harness, type, shape, 3);
      const drawn = harness.values(samples(harness, type, shape, 4));
      const usable = (x: number) =>
        isInteger && op === "pow" ? Math.abs(x) % 4 : divides && x === 0 ? 3 : x;
      const isShift = op === "shl" || op === "shr";
      const b = harness.tensor(type, shape, {
        values: drawn.map((x) => (isShift ? Math.abs(x) : usable(x))),
      });
      check(harness, op, [a, b], type, {
        expr: ([x, y]) => build.binary(op, x ?? build.constant("f32", 0), y ?? build.constant("f32", 0)),
        f: (x, y) => binaryValue(op, isInteger ? "i64" : "f64", x, y),
        ...(isInteger ? {} : { tolerance: { ...toleranceOf(type), absolute: divides ? 1e-2 : 1e-37 } }),
      });
    },
  };
}

const specialPairs = [...specials, 2, -2, 3, -3, 0.25].flatMap((a) =>
  [...specials, 2, 3, -3, 10, -0.5].map((b) => [a, b] as const),
);

function specialBinaryCase(op: BinaryOp, type: "float32" | "float64" | "float16"): KernelCase {
  return {
    name: `${op} ${type} of special values`,
    run(harness) {
      const shape = [specialPairs.length];
      const a = harness.tensor(type, shape, { values: specialPairs.map(([x]) => x) });
      const b = harness.tensor(type, shape, { values: specialPairs.map(([, y]) => y) });
      const { relative } = toleranceOf(type);
      check(harness, op, [a, b], type, {
        expr: ([x, y]) => build.binary(op, x ?? build.constant("f32", 0), y ?? build.constant("f32", 0)),
        f: (x, y) => binaryValue(op, "f64", x, y),
        tolerance: { relative, absolute: type === "float16" ? 1e-6 : 1e-30 },
      });
    },
  };
}

function comparisonCase(type: StorageType): KernelCase {
  return {
    name: `comparisons ${type}`,
    run(harness) {
      const isFloat = (floats as readonly StorageType[]).includes(type);
      const pairs = isFloat
        ? specialPairs
        : [
            [0, 0],
            [1, 0],
            [0, 1],
            [1, 1],
          ].map(([a = 0, b = 0]) => [a, b] as const);
      const a = harness.tensor(type, [pairs.length], { values: pairs.map(([x]) => x) });
      const b = harness.tensor(type, [pairs.length], { values: pairs.map(([, y]) => y) });
      for (const op of ["eq", "ne", "lt", "le", "gt", "ge"] as readonly CompareOp[]) {
        const compared = ([x, y]: readonly Expr[]) =>
          build.compare(op, x ?? build.constant("f32", 0), y ?? build.constant("f32", 0));
        check(harness, op, [a, b], "bool", { expr: compared, f: (x, y) => compareValue(op, x, y) });
        check(harness, `${op}, selected`, [a, b], type, {
          expr: (args) => build.select(compared(args), ...(args as [Expr, Expr])),
          f: (x, y) => (compareValue(op, x, y) === 1 ? x : y),
        });
      }
    },
  };
}

const conversionValues = [0, 1, 2, 3, 7, 100, 127, 90.75, 0.5, 1.999, 64.25, 12.5];

function conversionCase(from: StorageType): KernelCase {
  const { kind } = storageTypes[from];
  return {
    name: `conversions from ${from}`,
    run(harness) {
      const signed = kind === "float" || kind === "int";
      const values = [...conversionValues, ...(signed ? conversionValues.map((x) => -x) : [])];
      const operand = harness.tensor(from, [values.length], {
        values: stored(
          from,
          values.map((x) => (kind === "float" ? x : Math.trunc(x))),
        ),
      });
      for (const to of types) {
        const isWhole = storageTypes[to].kind !== "float" && to !== "bool";
        check(harness, `${from} to ${to}`, [operand], to, {
          expr: ([x]) => x ?? build.constant("f32", 0),
          f: (x) => (isWhole ? Math.trunc(x) : x),
          tolerance: exact,
        });
      }
    },
  };
}

function narrowCase(): KernelCase {
  return {
    name: "narrow",
    run(harness) {
      const values = Array.from({ length: 2000 }, (_, i) => (i - 1000) * 1.2345 * 2 ** ((i % 40) - 20));
      const wide = harness.tensor("float32", [values.length], {
        values: [...values.slice(0, -3), Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
      });
      for (const to of ["float16", "bfloat16"] as const) {
        check(harness, to, [wide], "float32", {
          expr: ([x]) => build.narrow(to, x ?? build.constant("f32", 0)),
          f: (x) => narrowValue(to, x),
          tolerance: exact,
        });
      }
      const whole = harness.tensor("int32", [1000], { seed: 5, scale: 100_000 });
      for (const to of ["int8", "uint8", "int16", "uint16"] as const) {
        check(harness, to, [whole], "int32", {
          expr: ([x]) => build.narrow(to, x ?? build.constant("i32", 0)),
          f: (x) => narrowValue(to, x),
        });
      }
    },
  };
}

const unaryOps = Object.keys(unaryRanges) as (keyof typeof unaryRanges)[];
const floatOps: readonly BinaryOp[] = ["add", "sub", "mul", "div", "mod", "fmod", "pow", "min", "max"];
const wholeOps: readonly BinaryOp[] = [...floatOps, "and", "or", "xor", "shl", "shr"];

export const cases: readonly KernelCase[] = [
  ...unaryOps.flatMap((op) => [
    ...floats.map((type) => unaryCase(op, type, type)),
    unaryCase(op, "float16", "float32"),
    unaryCase(op, "float32", "bfloat16"),
  ]),
  ...floats.flatMap((type) => floatOps.filter((op) => op !== "pow").map((op) => binaryCase(op, type))),
  ...integers.flatMap((type) => wholeOps.map((op) => binaryCase(op, type))),
  ...floatOps.flatMap((op) =>
    (["float32", "float64", "float16"] as const).map((type) => specialBinaryCase(op, type)),
  ),
  ...types.map(comparisonCase),
  ...types.map(conversionCase),
  narrowCase(),
];
