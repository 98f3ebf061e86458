/** @file What GPU cases of elementwise chains share. */
import { encodeValues } from "../../cuda-runtime/ir/encode.ts";
import type { Expr } from "../../cuda-runtime/ir/expr.ts";
import * as build from "../../cuda-runtime/ir/expr-build.ts";
import { isFloatStorage, type StorageType, storageTypes } from "../../cuda-runtime/ir/storage.ts";
import { elementCount, expanded, type View } from "../../cuda-runtime/ir/view.ts";
import { compileChain } from "../../cuda-runtime/ptx/compile.ts";
import type { Harness, Tolerance } from "../../cuda-runtime/session/harness.ts";
import { decodeValues } from "../../cuda-runtime/session/numbers.ts";

export const types = Object.keys(storageTypes) as StorageType[];
export const floats = ["float32", "float16", "bfloat16", "float64"] as const;
export const integers = types.filter(
  (type) => storageTypes[type].kind === "int" || storageTypes[type].kind === "uint",
);

export const tolerances = {
  float32: { relative: 1.2e-6, absolute: 1e-37 },
  float16: { relative: 1.1e-3, absolute: 1.3e-7 },
  bfloat16: { relative: 8e-3, absolute: 1e-37 },
  float64: { relative: 1e-13, absolute: 1e-300 },
} as const satisfies Record<(typeof floats)[number], Tolerance>;

export const exact: Tolerance = { relative: 0, absolute: 0 };

export function toleranceOf(type: StorageType): Tolerance {
  return type === "float64" || isFloatStorage(type) ? tolerances[type] : exact;
}

/** As the type stores it. */
export function stored(type: StorageType, values: readonly number[]): Float64Array {
  return decodeValues(type, encodeValues(type, values));
}

export function evaluate(harness: Harness, expr: Expr, to: View): View {
  const launch = compileChain({ shape: to.shape, outputs: [{ expr, to }] }, harness.emitter.target);
  if (launch === undefined) throw new Error("nothing to launch");
  harness.emitter.launch(launch);
  harness.execute();
  return to;
}

/** Evaluates over the shape of the first operand; checks against `f` of what was uploaded. */
export function check(
  harness: Harness,
  what: string,
  operands: readonly View[],
  to: StorageType,
  {
    expr,
    f,
    tolerance = toleranceOf(to),
  }: {
    readonly expr: (args: readonly Expr[]) => Expr;
    readonly f: (...args: number[]) => number;
    readonly tolerance?: Tolerance;
  },
): void {
  const shape = operands[0]?.shape ?? [];
  const values = operands.map((view) => harness.values(expanded(view, shape)));
  const expected = Array.from({ length: elementCount(shape) }, (_, index) =>
    f(...values.map((each) => each[index] ?? Number.NaN)),
  );
  const result = evaluate(harness, expr(operands.map((view) => build.load(view))), harness.output(to, shape));
  harness.expectClose(result, stored(to, expected), tolerance, what);
}
