/**
 * @file Attention that stores codes on the GPU: of FP32, to the bit those that QuantizeLinear makes of the kernel's own floats; of halves, a
 * code between those of the least and the largest number that rounds to the half that the same kernel stores.
 */
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { expanded, type View } from "../../../cuda-runtime/ir/view.ts";
import {
  type AttentionRequest,
  emitAttention,
  unlimited,
} from "../../../cuda-runtime/kernels/attention/attention.ts";
import { type TensorTile, tensorTiles } from "../../../cuda-runtime/kernels/attention/tiles.ts";
import type { CodeNumbers } from "../../../cuda-runtime/kernels/gemm-int8/codes.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { codeOf } from "./norm-codes.ts";

const { fround } = Math;
/** Half of the last place of a number of 1, and a little more: sums of splits may differ in FP32's last places. */
const roundings: Readonly<Record<FloatStorage, number>> = {
  ...{ float32: 0, float16: 1.01 * 2 ** -11, bfloat16: 1.01 * 2 ** -8 },
};

interface CodeCase {
  readonly type: FloatStorage;
  readonly queries: number;
  readonly keys: number;
  readonly dim: number;
  readonly isMasked: boolean;
  readonly numbers: CodeNumbers;
  readonly tile?: TensorTile;
}

function codeCase({ type, queries, keys, dim, isMasked, numbers, tile }: CodeCase): KernelCase {
  const [batch, heads] = [2, 3];
  const entry = tile && `d${tile.headDim} ${tile.isApart === true ? "w4" : `m${tile.rowTiles}`}`;
  const flags = [entry, isMasked && "masked"].filter(Boolean).join(" ");
  return {
    name: `${type} to ${numbers.type} ${numbers.scale} ${numbers.zero} ${queries}x${keys}x${dim} ${flags}`,
    run(harness) {
      const operand = (length: number, seed: number) =>
        harness.tensor(type, [batch, heads, length, dim], { seed, scale: seed === 3 ? 1 : 2 });
      const mask = isMasked ? harness.tensor("float32", [batch, 1, 1, 1, keys], { seed: 4 }) : undefined;
      const bias = mask && expanded(mask, [batch, 1, heads, queries, keys]);
      const request = { q: operand(queries, 1), k: operand(keys, 2), v: operand(keys, 3), bias };
      const rules = {
        scale: 1 / Math.sqrt(dim),
        softcap: 0,
        position: 0,
        left: unlimited,
        right: unlimited,
      } as const;
      const output = (of: View["type"]) => harness.output(of, [batch, heads, queries, dim], [0, 2, 1, 3]);
      const emit = (o: View, codes?: CodeNumbers) => {
        const all: AttentionRequest = { ...request, ...rules, o, codes, emptyRows: "nan" };
        emitAttention(harness.emitter, all, tile);
      };
      const [floats, codes] = [output(type), output(numbers.type)];
      emit(floats);
      emit(codes, numbers);
      harness.execute();
      const [own, found] = [harness.read(floats), harness.read(codes)];
      const seen = new Set<number>();
      for (const [index, value] of own.entries()) {
        const code = found[index] ?? Number.NaN;
        // Below the smallest normal half, last places are as far apart as there.
        const off = roundings[type] * Math.max(Math.abs(value), 2 ** -14);
        const [low, high] = [codeOf(value - off, numbers), codeOf(value + off, numbers)];
        if (!(code >= low && code <= high))
          throw new Error(`element ${index}: code ${code} of ${value}, expected ${low} to ${high}`);
        seen.add(code);
      }
      if (seen.size < 20) throw new Error("too few codes to tell apart");
    },
  };
}

const signed: CodeNumbers = { type: "int8", scale: fround(0.0037), zero: 0 };
const shifted: CodeNumbers = { type: "uint8", scale: fround(0.0071), zero: 121 };

const tiles = tensorTiles.filter(({ hopper }) => hopper === undefined);

export const cases: readonly KernelCase[] = [
  ...tiles.flatMap((tile) =>
    [false, true].flatMap((isMasked) => {
      if (!(isMasked ? tile.isMasked : tile.isPlain)) return [];
      const [dim, common] = [tile.headDim, { isMasked, tile }];
      return [
        codeCase({ type: "float16", queries: 64, keys: 64, dim, numbers: signed, ...common }),
        codeCase({ type: "float16", queries: 35, keys: 197, dim: dim - 2, numbers: shifted, ...common }),
        codeCase({ type: "bfloat16", queries: 21, keys: 100, dim, numbers: shifted, ...common }),
      ];
    }),
  ),
  // Splits of long keys.
  codeCase({ type: "float16", queries: 7, keys: 3000, dim: 64, isMasked: true, numbers: signed }),
  ...[32, 64, 128, 256].flatMap((dim) => [
    codeCase({ type: "float32", queries: 64, keys: 64, dim, isMasked: true, numbers: signed }),
    codeCase({ type: "float32", queries: 35, keys: 197, dim: dim - 6, isMasked: false, numbers: shifted }),
  ]),
];
