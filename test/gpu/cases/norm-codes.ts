/**
 * @file Normalized rows as codes on the GPU: to the bit those that QuantizeLinear makes of the kernel's own floats. Without these, another
 * form may sum a row in another order, whose last digits are others: a code beside a tie may be the other one.
 */

import { roundToEven } from "../../../cuda-runtime/ir/expr-value.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { type CodeNumbers, codeRange } from "../../../cuda-runtime/kernels/gemm-int8/codes.ts";
import { lowerRows } from "../../../cuda-runtime/lower/normalization-rows.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";

const { fround } = Math;
const exact = { relative: 0, absolute: 0 };

/** As QuantizeLinear rounds a float. */
export function codeOf(value: number, { type, scale, zero }: CodeNumbers): number {
  const [low, high] = codeRange(type);
  return Math.min(Math.max(roundToEven(fround(value / scale)) + zero, low), high);
}

/** Within a few of a float's last digits. */
function isBesideTie(value: number, scale: number): boolean {
  const quotient = Math.abs(value / scale);
  return Math.abs(quotient - Math.floor(quotient) - 0.5) < 1e-4 + 1e-6 * quotient;
}

interface CodeCase {
  readonly type: FloatStorage;
  readonly shape: readonly [number, number];
  readonly numbers: CodeNumbers;
  readonly isRms?: boolean;
  readonly hasSkip?: boolean;
}

function codeCase({ type, shape, numbers, isRms = false, hasSkip = false }: CodeCase): KernelCase {
  const { scale, zero } = numbers;
  const flags = [isRms && "rms", hasSkip && "skip"].filter(Boolean).join(" ");
  return {
    name: `rows ${type} ${shape.join("x")} to ${numbers.type} ${scale} ${zero} ${flags}`,
    run(harness) {
      const [, cols] = shape;
      const x = harness.tensor(type, shape, { seed: 3, scale: 3 });
      const skip = hasSkip ? harness.tensor(type, shape, { seed: 6, scale: 3 }) : undefined;
      const parameter = (seed: number) => harness.tensor("float32", [cols], { seed, scale: 2 });
      const [weight, bias] = [parameter(4), isRms ? undefined : parameter(5)];
      const y = harness.output("float32", shape);
      const request = { x, first: 1, skip, scale: weight, bias, isRms, epsilon: 1e-5, output: () => y };
      const codes = [true, false].map((areFloatsRead): View => {
        const to = harness.output(numbers.type, shape);
        const sum = hasSkip ? () => harness.output(type, shape) : undefined;
        lowerRows(harness.emitter, { ...request, sum, codes: { numbers, areFloatsRead, output: () => to } });
        return to;
      });
      harness.execute();
      const floats = harness.read(y);
      const expected = Array.from(floats, (value) => codeOf(value, numbers));
      if (new Set(expected).size < 5) throw new Error("too few codes to tell apart");
      const [beside, alone] = codes;
      if (beside === undefined || alone === undefined) throw new Error("two results");
      harness.expectClose(beside, expected, exact, "codes beside floats");
      const own = harness.read(alone);
      const nearest = expected.map((code, at) =>
        Math.abs(code - (own[at] ?? 0)) === 1 && isBesideTie(floats[at] ?? 0, scale) ? (own[at] ?? 0) : code,
      );
      harness.expectClose(alone, nearest, exact, "codes alone");
    },
  };
}

/** Most of what is normalized is between the least code and the largest; of the second, much is not. */
const signed: CodeNumbers = { type: "int8", scale: fround(0.037), zero: 0 };
const narrow: CodeNumbers = { type: "uint8", scale: fround(0.0071), zero: 121 };
/** Ties are exact there. */
const binary: CodeNumbers = { type: "int8", scale: 2 ** -5, zero: -7 };

const types = ["float32", "float16", "bfloat16"] as const;

export const cases: readonly KernelCase[] = [
  // Every form of the row kernels and every cut: few rows and many.
  ...types.flatMap((type) =>
    [7, 64, 97, 200, 256, 301, 384, 768, 1001, 1024, 3000, 8200].flatMap((cols) => [
      codeCase({ type, shape: [5, cols], numbers: cols % 2 === 0 ? signed : narrow }),
      ...(cols <= 1024 ? [codeCase({ type, shape: [1103, cols], numbers: narrow })] : []),
    ]),
  ),
  ...types.map((type) => codeCase({ type, shape: [3, 20_001], numbers: signed })),
  ...types.map((type) => codeCase({ type, shape: [3, 20_000], numbers: binary })),
  codeCase({ type: "float32", shape: [128, 768], numbers: signed }),
  codeCase({ type: "float32", shape: [128, 768], numbers: narrow, isRms: true }),
  codeCase({ type: "float16", shape: [128, 1000], numbers: binary, isRms: true }),
  codeCase({ type: "float32", shape: [128, 768], numbers: signed, hasSkip: true }),
  codeCase({ type: "float16", shape: [61, 97], numbers: narrow, hasSkip: true, isRms: true }),
  codeCase({ type: "bfloat16", shape: [4, 9001], numbers: binary, hasSkip: true }),
];
