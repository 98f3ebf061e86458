/** @file Convolutions of codes on the GPU, that TMA walks through, of windows side by side, and over planes, to the bit against loops. */
import { channelsLastOrder } from "../../../cuda-runtime/ir/view.ts";
import { windowOfRows } from "../../../cuda-runtime/kernels/code-rows/code-rows.ts";
import { emitCodePlanes } from "../../../cuda-runtime/kernels/conv/code-planes.ts";
import { type PlaneTile, planeTiles } from "../../../cuda-runtime/kernels/conv/planes-table.ts";
import { type CodeWindow, emitCodeConv } from "../../../cuda-runtime/kernels/gemm-int8/code-product.ts";
import type { CodeNumbers } from "../../../cuda-runtime/kernels/gemm-int8/codes.ts";
import { nameOfTile, type Tile, walkParts } from "../../../cuda-runtime/kernels/gemm-int8/tiles.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { hopperTiles, namedBy, onlyBy } from "../codes-by-tile.ts";
import {
  allowed,
  bounded,
  type Ends,
  emitterOf,
  everyEnd,
  nameOf,
  scalesOf,
  tailOf,
  zeroView,
} from "./codes-tail.ts";

const { fround } = Math;

interface Conv {
  readonly x: readonly [images: number, channels: number, height: number, width: number];
  readonly filters: number;
  readonly taps: number;
  readonly stride?: number;
  readonly pad?: number;
  readonly dilation?: number;
  readonly ends?: Ends | undefined;
  /** Windows of rows side by side, of codes or of floats that are quantized. */
  readonly rows?: "codes" | "floats";
  /** Over planes, by this kernel; a number is added to sums, one that no float holds for some filters. */
  readonly planes?: PlaneTile;
  readonly zero?: number;
  readonly multiprocessors?: number;
  readonly tile?: Tile;
  readonly parts?: number;
}

function convCase(conv: Conv): KernelCase {
  const {
    x: shape,
    filters,
    taps,
    stride = 1,
    pad = 0,
    dilation = 1,
    rows,
    zero = 0,
    multiprocessors,
    planes,
  } = conv;
  const plain: Ends = { between: "int8", residual: undefined, to: "int8", hasRelu: false };
  const ends = conv.ends ?? plain;
  const by = planes === undefined ? "" : ` by ${planes.entry}`;
  const what = `${by}${conv.ends === undefined ? "" : ` ${nameOf(ends)}`}${rows === undefined ? "" : ` rows of ${rows}`}`;
  const few = multiprocessors === undefined ? "" : ` on ${multiprocessors} multiprocessors`;
  const byTile = conv.parts === undefined ? "" : `${namedBy(conv.tile)} in ${conv.parts}`;
  return {
    name: `convolution ${shape.join("x")} to ${filters} ${taps}x${taps}/${stride} pad ${pad} dilation ${dilation} zero ${zero}${what}${few}${byTile}`,
    run(harness) {
      const [images, channels, height, width] = shape;
      const order = channelsLastOrder(4);
      const strides = [channels * height * width, 1, width * channels, channels];
      const size = (input: number) => Math.floor((input + 2 * pad - (taps - 1) * dilation - 1) / stride) + 1;
      const [outHeight, outWidth] = [size(height), size(width)];
      const emitter = emitterOf(harness, false, multiprocessors);
      const quantizer: CodeNumbers = { type: "uint8", scale: fround(0.017), zero };
      const x =
        rows === "floats"
          ? harness.tensor("float32", shape, { seed: 3, scale: 2 })
          : harness.tensor("uint8", shape, { seed: 3, scale: 90, ...(rows === undefined && { strides }) });
      const w = harness.tensor("int8", [filters, channels, taps, taps], { seed: 4, scale: 127 });
      const out = [images, filters, outHeight, outWidth] as const;
      const to = harness.output(ends.to, out, order);
      const scale = scalesOf(harness, filters, channels * taps * taps, ends);
      const steps = [filters * outHeight * outWidth, 1, outWidth * filters, filters];
      const { tail, result, zeroOut } = tailOf(harness, ends, out, steps);
      const given: CodeWindow = {
        ...{ x, w, to, strides: [stride, stride], dilations: [dilation, dilation], pads: [pad, pad] },
      };
      const own = rows === "floats" ? quantizer : undefined;
      const addends = planes === undefined ? undefined : addendsOf(filters);
      if (planes === undefined) {
        const window = rows === undefined ? given : windowOfRows(emitter, given, "uint8", zero, own);
        emitCodeConv(emitter, window, {
          zeroA: zero === 0 ? undefined : harness.tensor("uint8", [1], { values: [zero] }),
          epilogue: { scale: scale.view, zeroOut: zeroView(harness, zeroOut), tail: conv.ends && tail },
          accepts: onlyBy(conv.tile, emitter.target, conv.parts),
        });
      } else {
        const addend = harness.tensor("int32", [filters], { values: addendsOf(filters) });
        const ends = { scale: scale.view, addend, zeroOut: zeroView(harness, zeroOut), low: -128, high: 127 };
        const isTaken = emitCodePlanes(
          emitter,
          given,
          { zero, quantizer: own, ...ends },
          (tile) => tile === planes,
        );
        if (!isTaken) throw new Error(`${planes.entry} does not take it`);
      }
      harness.execute();
      const code = (value: number) =>
        rows === "floats" ? bounded(fround(value / quantizer.scale), zero, "uint8") : value;
      const [xs, ws] = [harness.values(x), harness.values(w)];
      const expected = () =>
        sumsOf(conv, Array.from(xs, code), ws, [outHeight, outWidth]).map((sum, at) => {
          const filter = Math.floor(at / (outHeight * outWidth)) % filters;
          const whole = fround(sum + (addends?.[filter] ?? 0));
          const real = fround(whole * (scale.values[filter] ?? 0));
          return conv.ends === undefined ? bounded(real, zeroOut?.zero ?? 0, "int8") : result(real, at);
        });
      harness.expectClose(to, expected, allowed[ends.to], "convolution");
    },
  };
}

/** Small, and beyond what a float holds. */
function addendsOf(filters: number): number[] {
  return Array.from({ length: filters }, (_, at) => (at % 5 === 4 ? 2 ** 25 + 2 * at + 1 : 37 * at - 900));
}

/** [N, K, Y, X]. */
function sumsOf(
  { x: [images, channels, height, width], filters, taps, stride = 1, pad = 0, dilation = 1, zero = 0 }: Conv,
  xs: ArrayLike<number>,
  ws: ArrayLike<number>,
  [outHeight, outWidth]: readonly [number, number],
): number[] {
  const sums: number[] = [];
  for (let n = 0; n < images; n++)
    for (let f = 0; f < filters; f++)
      for (let p = 0; p < outHeight; p++)
        for (let q = 0; q < outWidth; q++) {
          let sum = 0;
          for (let c = 0; c < channels; c++)
            for (let tap = 0; tap < taps * taps; tap++) {
              const i = p * stride - pad + Math.floor(tap / taps) * dilation;
              const j = q * stride - pad + (tap % taps) * dilation;
              if (i < 0 || i >= height || j < 0 || j >= width) continue;
              const code = (xs[((n * channels + c) * height + i) * width + j] ?? 0) - zero;
              sum += code * (ws[(f * channels + c) * taps * taps + tap] ?? 0);
            }
          sums.push(sum);
        }
  return sums;
}

const [residualBlock] = everyEnd;
/** Boxes of 128, 64 and 32 channels, few and many tiles, strides, dilation, images whose positions share a tile. */
const images: readonly Conv[] = [
  { x: [2, 64, 15, 13], filters: 64, taps: 3, pad: 1 },
  // Teams that add up.
  { x: [1, 512, 7, 7], filters: 128, taps: 3, pad: 1 },
  { x: [1, 256, 14, 14], filters: 96, taps: 3, pad: 1, stride: 2, ends: everyEnd[0] },
  { x: [1, 192, 9, 9], filters: 64, taps: 5, pad: 2 },
  { x: [3, 128, 14, 14], filters: 128, taps: 3, pad: 1, stride: 2 },
  { x: [1, 32, 12, 12], filters: 33, taps: 5, pad: 4, dilation: 2 },
  { x: [3, 256, 15, 15], filters: 130, taps: 1, stride: 2 },
  { x: [5, 48, 7, 7], filters: 48, taps: 3, pad: 1 },
  { x: [2, 16, 20, 20], filters: 96, taps: 3, pad: 1 },
  { x: [4, 192, 7, 7], filters: 136, taps: 3, pad: 1 },
  { x: [2, 64, 15, 13], filters: 64, taps: 3, pad: 1, ends: residualBlock },
  { x: [2, 144, 9, 11], filters: 72, taps: 3, pad: 1, ends: everyEnd[3] },
  { x: [2, 64, 15, 13], filters: 64, taps: 3, pad: 1, zero: 117, ends: residualBlock },
];
const walks: KernelCase[] = images.flatMap((conv) =>
  [undefined, 1, 4].map((multiprocessors) =>
    convCase(multiprocessors === undefined ? conv : { ...conv, multiprocessors }),
  ),
);

/** Each kernel by name, whatever is chosen: boxes of as many channels as its stages have parts for. */
const tiles: KernelCase[] = hopperTiles.flatMap((tile) =>
  (walkParts[nameOfTile(tile)] ?? []).flatMap((parts) =>
    [undefined, residualBlock].map((ends) =>
      convCase({
        ...{ x: [3, 128 / parts, 14, 14], filters: 136, taps: 3, pad: 1, ends },
        ...{ multiprocessors: 2, tile, parts },
      }),
    ),
  ),
);

const stems: KernelCase[] = (["codes", "floats"] as const).flatMap((rows) => [
  convCase({ x: [2, 3, 30, 33], filters: 64, taps: 7, stride: 2, pad: 3, rows }),
  convCase({ x: [2, 3, 30, 33], filters: 64, taps: 7, stride: 2, pad: 3, rows, zero: 117 }),
  convCase({ x: [1, 4, 16, 16], filters: 24, taps: 3, pad: 1, rows, zero: 9 }),
  convCase({ x: [3, 1, 17, 9], filters: 40, taps: 5, pad: 2, rows }),
]);

const overPlanes: KernelCase[] = planeTiles
  .filter(({ math }) => math === "codes")
  .flatMap((planes) =>
    (["codes", "floats"] as const).flatMap((rows) => [
      convCase({ x: [2, 3, 61, 58], filters: planes.filters, taps: 7, stride: 2, pad: 3, rows, planes }),
      convCase({
        x: [2, 3, 30, 33],
        filters: planes.filters + 16,
        taps: 3,
        stride: 2,
        pad: 1,
        rows,
        zero: 117,
        planes,
      }),
      convCase({ x: [3, 4, 17, 19], filters: 16, taps: 5, pad: 2, rows, zero: 9, planes }),
      convCase({ x: [70, 1, 66, 66], filters: 16, taps: 3, pad: 1, rows, zero: 3, planes }),
    ]),
  );

export const cases: readonly KernelCase[] = [...walks, ...tiles, ...stems, ...overPlanes];
