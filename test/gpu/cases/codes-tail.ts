/** @file What kernels of codes do behind their sums on the GPU, and convolutions that TMA walks through, to the bit against loops. */

import { noActivation } from "../../../cuda-runtime/ir/epilogue.ts";
import { roundToEven } from "../../../cuda-runtime/ir/expr-value.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { emitCodeProduct } from "../../../cuda-runtime/kernels/gemm-int8/code-product.ts";
import type { CodeNumbers } from "../../../cuda-runtime/kernels/gemm-int8/codes.ts";
import type { CodeTail } from "../../../cuda-runtime/kernels/gemm-int8/tail.ts";
import type { Tile } from "../../../cuda-runtime/kernels/gemm-int8/tiles.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { hopperTiles, namedBy, onlyBy } from "../codes-by-tile.ts";

type Code = "int8" | "uint8";
type Real = "float16" | "bfloat16" | "float32";

const { fround } = Math;
const most = { int8: 127, uint8: 255 } as const;
const exact = { relative: 0, absolute: 0 };
export const allowed = {
  ...{ int8: exact, uint8: exact, float32: { relative: 3e-7, absolute: 1e-6 } },
  ...{ float16: { relative: 1e-3, absolute: 1e-3 }, bfloat16: { relative: 8e-3, absolute: 1e-3 } },
};

export function bounded(value: number, zero: number, type: Code): number {
  const [low, high] = type === "int8" ? [-128, 127] : [0, 255];
  return roundToEven(Math.min(Math.max(value, low - zero), high - zero)) + zero;
}

export interface Ends {
  /** Codes that are rounded to between, none, or floats. */
  readonly between: Code | undefined;
  readonly residual: Code | Real | undefined;
  readonly to: Code | Real;
  readonly hasRelu: boolean;
}

/** Odd on purpose: quotients near ties, and none that is a power of two. */
const numbers = {
  between: (type: Code): CodeNumbers => ({ type, scale: fround(0.037), zero: type === "int8" ? -7 : 121 }),
  residual: (type: Code): CodeNumbers => ({ type, scale: fround(0.0213), zero: type === "int8" ? 5 : 98 }),
  to: (type: Code): CodeNumbers => ({ type, scale: fround(0.0291), zero: type === "int8" ? -11 : 87 }),
};

function isCode(type: Code | Real): type is Code {
  return type === "int8" || type === "uint8";
}

/** A tail over `shape`, and what it makes of the sum scaled at an element. */
export function tailOf(
  harness: Harness,
  { between, residual, to, hasRelu }: Ends,
  shape: readonly number[],
  strides?: readonly number[],
) {
  const view =
    residual &&
    harness.tensor(residual, [...shape], {
      seed: 9,
      scale: isCode(residual) ? most[residual] : 2,
      ...(strides && { strides }),
    });
  const [ofBetween, ofTo] = [between && numbers.between(between), isCode(to) ? numbers.to(to) : undefined];
  const ofResidual = residual !== undefined && isCode(residual) ? numbers.residual(residual) : undefined;
  const tail: CodeTail = {
    between: ofBetween,
    activation: noActivation,
    residual: view && { view, codes: ofResidual },
    hasRelu,
    to: ofTo,
  };
  const added = view && harness.values(view);
  const result = (real: number, at: number): number => {
    const own =
      ofBetween === undefined
        ? real
        : fround((bounded(real, ofBetween.zero, ofBetween.type) - ofBetween.zero) * ofBetween.scale);
    const value = added?.[at] ?? 0;
    const other = ofResidual === undefined ? value : fround((value - ofResidual.zero) * ofResidual.scale);
    const sum = fround(own + other);
    const last = hasRelu ? Math.max(sum, 0) : sum;
    return ofTo === undefined ? last : bounded(fround(last / ofTo.scale), ofTo.zero, ofTo.type);
  };
  return { tail, result, zeroOut: ofBetween };
}

/** Without Hopper's instructions; for a GPU of fewer multiprocessors. */
export function emitterOf(
  { emitter }: Harness,
  isMma: boolean,
  multiprocessors?: number,
): Harness["emitter"] {
  const { target } = emitter;
  const features = { ...target.features, wgmma: target.features.wgmma && !isMma };
  const count = multiprocessors ?? target.multiprocessors;
  return { ...emitter, target: { ...target, features, multiprocessors: count } };
}

export function nameOf({ between, residual, to, hasRelu }: Ends): string {
  const parts = [between && `by ${between}`, residual && `plus ${residual}`, hasRelu && "relu", `to ${to}`];
  return parts.filter(Boolean).join(" ");
}

/** Sums times this are numbers around 1. */
export function scalesOf(
  harness: Harness,
  n: number,
  k: number,
  { between }: Ends,
): { view: View; values: number[] } {
  const unit = between === undefined ? 1 : 1 / numbers.between(between).scale;
  const values = Array.from({ length: n }, (_, at) =>
    fround((unit * (0.6 + (at % 7) / 9)) / (2500 * Math.sqrt(k))),
  );
  return { view: harness.tensor("float32", [n], { values }), values };
}

export function zeroView(harness: Harness, codes: CodeNumbers | undefined): View | undefined {
  return codes && harness.tensor(codes.type, [1], { values: [codes.zero] });
}

function productCase(
  [m, n, k]: readonly [number, number, number],
  ends: Ends,
  isMma: boolean,
  multiprocessors?: number,
  tile?: Tile,
): KernelCase {
  const few = multiprocessors === undefined ? "" : ` on ${multiprocessors} multiprocessors`;
  return {
    name: `tail ${m}x${n}x${k} ${nameOf(ends)}${isMma ? " mma" : ""}${few}${namedBy(tile)}`,
    run(harness) {
      const a = harness.tensor("uint8", [m, k], { seed: 1, scale: 60 });
      const b = harness.tensor("int8", [k, n], { seed: 2, scale: 127 });
      const scale = scalesOf(harness, n, k, ends);
      const { tail, result, zeroOut } = tailOf(harness, ends, [m, n]);
      const to = harness.output(ends.to, [m, n]);
      const epilogue = { scale: scale.view, zeroOut: zeroView(harness, zeroOut), tail };
      const emitter = emitterOf(harness, isMma, multiprocessors);
      emitCodeProduct(emitter, { a, b, to, epilogue, accepts: onlyBy(tile, emitter.target) });
      harness.execute();
      const [as, bs] = [harness.values(a), harness.values(b)];
      const expected = () =>
        Array.from({ length: m * n }, (_, at) => {
          const [row, column] = [Math.floor(at / n), at % n];
          let sum = 0;
          for (let q = 0; q < k; q++) sum += (as[row * k + q] ?? 0) * (bs[q * n + column] ?? 0);
          return result(fround(fround(sum) * (scale.values[column] ?? 0)), at);
        });
      harness.expectClose(to, expected, allowed[ends.to], "tail");
    },
  };
}

export const everyEnd: readonly Ends[] = [
  { between: "int8", residual: "int8", to: "int8", hasRelu: true },
  { between: "uint8", residual: "uint8", to: "uint8", hasRelu: false },
  { between: "int8", residual: "uint8", to: "int8", hasRelu: false },
  { between: "int8", residual: "int8", to: "float32", hasRelu: true },
  { between: "uint8", residual: "float32", to: "int8", hasRelu: false },
  { between: undefined, residual: "int8", to: "int8", hasRelu: true },
  { between: undefined, residual: "float32", to: "float32", hasRelu: false },
  { between: undefined, residual: "float16", to: "float16", hasRelu: true },
  { between: undefined, residual: undefined, to: "uint8", hasRelu: true },
  { between: undefined, residual: "bfloat16", to: "bfloat16", hasRelu: false },
];
const sizes = [
  [64, 64, 64],
  [130, 70, 200],
  [77, 33, 96],
  [257, 272, 1040],
] as const;

const products: KernelCase[] = sizes.flatMap((size) =>
  everyEnd.flatMap((ends) => [false, true].map((isMma) => productCase(size, ends, isMma))),
);

/** Every tile of Hopper, several of them a block. */
const perBlock: KernelCase[] = (
  [
    [520, 272, 1040, 1],
    [600, 1008, 96, 3],
    [300, 256, 640, 2],
    [700, 304, 144, 8],
    [1000, 64, 2112, 2],
  ] as const
).flatMap(([m, n, k, multiprocessors]) =>
  everyEnd.slice(0, 7).map((ends) => productCase([m, n, k], ends, false, multiprocessors)),
);

/** Teams of two, four and eight that add up; parts of k with fewer steps than others, and with none. */
const teams: KernelCase[] = (
  [
    [64, 64, 4096, undefined],
    [100, 208, 3000, 32],
    [40, 80, 1152, 8],
    [130, 128, 2400, 16],
    [33, 33, 1040, 4],
  ] as const
).flatMap(([m, n, k, multiprocessors]) =>
  everyEnd.slice(0, 8).map((ends) => productCase([m, n, k], ends, false, multiprocessors)),
);

/** Each kernel of Hopper by name, whatever is chosen: ends that it has code of their own for. */
const tiles: KernelCase[] = hopperTiles.flatMap((tile) =>
  [0, 3, 5, 8].flatMap((end) => {
    const ends = everyEnd[end];
    return ends === undefined ? [] : [productCase([300, 272, 656], ends, false, 2, tile)];
  }),
);

export const cases: readonly KernelCase[] = [...products, ...perBlock, ...teams, ...tiles];
