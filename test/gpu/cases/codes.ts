/** @file Products and convolutions of codes on the GPU: integers to the bit, 8-bit floats against sums in double precision. */
import { roundToEven } from "../../../cuda-runtime/ir/expr-value.ts";
import { channelsLastOrder } from "../../../cuda-runtime/ir/view.ts";
import {
  emitCodeConv,
  emitCodeProduct,
  multipliesCodes,
} from "../../../cuda-runtime/kernels/gemm-int8/code-product.ts";
import type { Tile } from "../../../cuda-runtime/kernels/gemm-int8/tiles.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { type SmallFloatType, smallFloatValue } from "../../../src/ir/small-float.ts";
import { hopperTiles, namedBy, onlyBy, storedBy } from "../codes-by-tile.ts";

type Code = "int8" | "uint8";

interface Product {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly a: Code;
  readonly b: Code;
  readonly zeroA: number;
  readonly zeroB: number;
  /** Codes, or the sums themselves. */
  readonly to: Code | Real | "int32";
  readonly isMma?: boolean;
  /** Real numbers, added behind the scale. */
  readonly hasBias?: boolean;
  /** What the plan is for: few of them get large tiles, and compute several a block. */
  readonly multiprocessors?: number;
  readonly tile?: Tile;
}

type Real = "float16" | "bfloat16" | "float32";

/** Without Hopper's instructions; for a GPU of fewer multiprocessors. */
function emitterOf(
  harness: Harness,
  { isMma, multiprocessors }: Pick<Product, "isMma" | "multiprocessors">,
): Harness["emitter"] {
  const { emitter } = harness;
  const { target } = emitter;
  const features = { ...target.features, wgmma: target.features.wgmma && isMma !== true };
  return {
    ...emitter,
    target: { ...target, features, multiprocessors: multiprocessors ?? target.multiprocessors },
  };
}

const most = { int8: 128, uint8: 255 } as const;

/** As ONNX Runtime requantizes. */
function codeOf(sum: number, scale: number, bias: number, zero: number, type: Code): number {
  const [low, high] = type === "int8" ? [-128, 127] : [0, 255];
  const real = Math.fround(Math.fround(Math.fround(sum) * Math.fround(scale)) + bias);
  return roundToEven(Math.min(Math.max(real, low - zero), high - zero)) + zero;
}

const exact = { relative: 0, absolute: 0 };
const allowed = {
  int8: exact,
  uint8: exact,
  int32: exact,
  float16: { relative: 1e-3, absolute: 1e-3 },
  bfloat16: { relative: 8e-3, absolute: 8e-3 },
  float32: { relative: 1e-6, absolute: 1e-6 },
};

function runProduct(harness: Harness, product: Product): void {
  const { batch, m, n, k, a: typeA, b: typeB, to, zeroA, zeroB } = product;
  const emitter = emitterOf(harness, product);
  const a = harness.tensor(typeA, [batch, m, k], { seed: 1, scale: most[typeA] - 1 });
  const b = harness.tensor(typeB, [batch, k, n], { seed: 2, scale: most[typeB] - 1 });
  const [valuesA, valuesB] = [harness.values(a), harness.values(b)];
  const scales = Array.from({ length: n }, (_, column) => Math.fround((0.4 + (column % 7) / 9) / (40 * k)));
  const addends = Array.from({ length: n }, (_, column) => column * 37 - 500);
  const biases = Array.from({ length: n }, (_, column) => ((product.hasBias ? column : 0) % 5) / 4);
  const isSum = to === "int32";
  const out = harness.output(to, [batch, m, n]);
  const zeroOut = to === "uint8" ? 100 : to === "int8" ? -3 : 0;
  const scalar = (type: Code, value: number) => harness.tensor(type, [1], { values: [value] });
  emitCodeProduct(emitter, {
    ...{ a, b, to: out },
    zeroA: zeroA === 0 ? undefined : scalar(typeA, zeroA),
    zeroB: zeroB === 0 ? undefined : scalar(typeB, zeroB),
    accepts: onlyBy(product.tile, emitter.target),
    addend: batch > 1 ? undefined : harness.tensor("int32", [n], { values: addends }),
    epilogue: isSum
      ? {}
      : {
          scale: harness.tensor("float32", [n], { values: scales }),
          bias: product.hasBias ? harness.tensor("float32", [n], { values: biases }) : undefined,
          zeroOut: to === "int8" || to === "uint8" ? scalar(to, zeroOut) : undefined,
        },
  });
  harness.execute();
  const expected = () => {
    const all: number[] = [];
    for (let z = 0; z < batch; z++) {
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = batch > 1 ? 0 : (addends[j] ?? 0);
          for (let q = 0; q < k; q++) {
            const left = (valuesA[(z * m + i) * k + q] ?? 0) - zeroA;
            sum += left * ((valuesB[(z * k + q) * n + j] ?? 0) - zeroB);
          }
          const [scale, bias] = [scales[j] ?? 0, biases[j] ?? 0];
          if (to === "int32") all.push(sum);
          else if (to === "int8" || to === "uint8") all.push(codeOf(sum, scale, bias, zeroOut, to));
          else all.push(sum * scale + bias);
        }
      }
    }
    return all;
  };
  harness.expectClose(out, expected, allowed[to], "product");
}

function productCase(product: Product): KernelCase {
  const { batch, m, n, k, a, b, to, zeroA, zeroB, isMma, hasBias, multiprocessors } = product;
  const few = multiprocessors === undefined ? "" : ` on ${multiprocessors} multiprocessors`;
  const how = `${hasBias ? " bias" : ""}${isMma ? " mma" : ""}${few}${namedBy(product.tile)}`;
  const zeros = zeroA === 0 && zeroB === 0 ? "" : ` zeros ${zeroA} ${zeroB}`;
  return {
    name: `${batch > 1 ? `${batch}x` : ""}${m}x${n}x${k} ${a} ${b} to ${to}${zeros}${how}`,
    run: (harness) => runProduct(harness, product),
  };
}

const sizes = [
  [1, 1, 1],
  [5, 7, 33],
  [64, 64, 64],
  [130, 70, 200],
  [257, 264, 1040],
  [600, 1000, 96],
] as const;
const pairs = [
  ["int8", "int8"],
  ["uint8", "int8"],
  ["int8", "uint8"],
  ["uint8", "uint8"],
] as const;

const products: KernelCase[] = sizes.flatMap(([m, n, k], index) =>
  pairs.flatMap(([a, b], at) =>
    [false, true].map((isMma) => {
      const to = (["int32", "int8", "uint8", "float16"] as const)[(index + at) % 4] ?? "int32";
      return productCase({ batch: 1, m, n, k, a, b, to, zeroA: 0, zeroB: 0, isMma });
    }),
  ),
);

const withZeros: KernelCase[] = [
  productCase({ batch: 1, m: 70, n: 130, k: 100, a: "uint8", b: "int8", zeroA: 113, zeroB: 0, to: "uint8" }),
  productCase({
    batch: 1,
    m: 70,
    n: 130,
    k: 100,
    a: "uint8",
    b: "uint8",
    zeroA: 113,
    zeroB: 127,
    to: "int32",
  }),
  productCase({ batch: 1, m: 70, n: 130, k: 100, a: "int8", b: "int8", zeroA: 0, zeroB: -5, to: "int32" }),
  productCase({ batch: 6, m: 70, n: 130, k: 64, a: "int8", b: "int8", zeroA: 0, zeroB: 0, to: "int32" }),
  productCase({ batch: 3, m: 7, n: 13, k: 50, a: "uint8", b: "int8", zeroA: 0, zeroB: 0, to: "int8" }),
];

const plain = { batch: 1, a: "int8", b: "int8", zeroA: 0, zeroB: 0 } as const;
const outputs = ["int32", "int8", "uint8", "float16", "bfloat16", "float32"] as const;

/** Rows of every width modulo 16 bytes that stores tell apart, below a tile's and beyond it. */
const widths: KernelCase[] = [1, 17, 24, 100, 134, 250, 272].flatMap((n) =>
  outputs.flatMap((to) =>
    [false, true].map((isMma) =>
      productCase({ ...plain, m: 85, n, k: 96, to, isMma, hasBias: to !== "int32" }),
    ),
  ),
);

/** Every tile of Hopper, several of them a block, with more and fewer steps along k than the ring has stages. */
const perBlock: KernelCase[] = (
  [
    [200, 264, 96, 1],
    [520, 264, 1040, 1],
    [600, 1000, 96, 3],
    [300, 260, 640, 2],
    [130, 70, 200, 2],
    [130, 70, 200, 3],
    [700, 300, 130, 8],
    [1000, 130, 2100, 2],
  ] as const
).flatMap(([m, n, k, multiprocessors]) =>
  outputs.map((to) =>
    productCase({ ...plain, m, n, k, to, hasBias: to === "int8" || to === "float16", multiprocessors }),
  ),
);

/** Each kernel of Hopper by name, whatever is chosen. */
const tiles: KernelCase[] = hopperTiles.flatMap((tile) =>
  outputs
    .filter((to) => storedBy(tile).includes(to))
    .map((to) =>
      productCase({ ...plain, m: 300, n: 260, k: 640, to, hasBias: to === "int8", multiprocessors: 2, tile }),
    ),
);

interface Conv {
  readonly shape: readonly [number, number, number, number];
  readonly filters: number;
  readonly taps: number;
  readonly stride: number;
  readonly pad: number;
  readonly dilation: number;
  readonly zero: number;
}

function convCase(conv: Conv): KernelCase {
  const { shape, filters, taps, stride, pad, dilation, zero } = conv;
  return {
    name: `convolution ${shape.join("x")} to ${filters} ${taps}x${taps}/${stride} pad ${pad} dilation ${dilation} zero ${zero}`,
    run(harness) {
      const [images, channels, height, width] = shape;
      const order = channelsLastOrder(4);
      const strides = [channels * height * width, 1, width * channels, channels];
      const x = harness.tensor("uint8", shape, { seed: 3, scale: 255, strides });
      const w = harness.tensor("int8", [filters, channels, taps, taps], { seed: 4, scale: 127 });
      const size = (input: number) => Math.floor((input + 2 * pad - (taps - 1) * dilation - 1) / stride) + 1;
      const [outHeight, outWidth] = [size(height), size(width)];
      const to = harness.output("int32", [images, filters, outHeight, outWidth], order);
      const zeroA = zero === 0 ? undefined : harness.tensor("uint8", [1], { values: [zero] });
      emitCodeConv(
        harness.emitter,
        { x, w, to, strides: [stride, stride], dilations: [dilation, dilation], pads: [pad, pad] },
        { zeroA, epilogue: {} },
      );
      harness.execute();
      const [xs, ws] = [harness.values(x), harness.values(w)];
      const at = (n: number, c: number, i: number, j: number) => {
        if (i < 0 || i >= height || j < 0 || j >= width) return 0;
        return (xs[((n * channels + c) * height + i) * width + j] ?? 0) - zero;
      };
      const expected = () => {
        const all: number[] = [];
        for (let n = 0; n < images; n++)
          for (let f = 0; f < filters; f++)
            for (let p = 0; p < outHeight; p++)
              for (let q = 0; q < outWidth; q++) {
                let sum = 0;
                for (let c = 0; c < channels; c++)
                  for (let r = 0; r < taps; r++)
                    for (let s = 0; s < taps; s++)
                      sum +=
                        at(n, c, p * stride - pad + r * dilation, q * stride - pad + s * dilation) *
                        (ws[((f * channels + c) * taps + r) * taps + s] ?? 0);
                all.push(sum);
              }
        return all;
      };
      harness.expectClose(to, expected, { relative: 0, absolute: 0 }, "convolution");
    },
  };
}

const convolutions: KernelCase[] = [
  convCase({ shape: [2, 16, 9, 7], filters: 24, taps: 3, stride: 1, pad: 1, dilation: 1, zero: 0 }),
  convCase({ shape: [1, 48, 14, 14], filters: 70, taps: 3, stride: 2, pad: 1, dilation: 1, zero: 117 }),
  convCase({ shape: [1, 32, 12, 12], filters: 33, taps: 5, stride: 1, pad: 2, dilation: 2, zero: 9 }),
  convCase({ shape: [3, 64, 30, 30], filters: 130, taps: 1, stride: 2, pad: 0, dilation: 1, zero: 3 }),
];

function floatCase(a: SmallFloatType, b: SmallFloatType, isMma: boolean): KernelCase {
  return {
    name: `130x200x320 ${a} ${b}${isMma ? " mma" : ""}`,
    run(harness) {
      const emitter = emitterOf(harness, { isMma });
      if (a === "float4e2m1" || b === "float4e2m1") return;
      if (!multipliesCodes(a, b, emitter.target)) return console.log("left out: this GPU multiplies no FP8");
      const [m, n, k] = [130, 200, 320];
      // Codes of numbers around 1, of either sign.
      const codes = (seed: number, count: number, type: SmallFloatType) => {
        const one = type === "float8e5m2" ? 0x3c : 0x38;
        return Array.from(
          { length: count },
          (_, i) => one - 6 + ((i * seed) % 11) + ((i * seed) % 3 === 0 ? 128 : 0),
        );
      };
      const [codesA, codesB] = [codes(7, m * k, a), codes(13, k * n, b)];
      const to = harness.output("float32", [m, n]);
      emitCodeProduct(emitter, {
        a: harness.tensor(a, [m, k], { values: codesA }),
        b: harness.tensor(b, [k, n], { values: codesB }),
        to,
        epilogue: { scale: harness.tensor("float32", [1], { values: [0.5] }) },
      });
      harness.execute();
      const [valuesA, valuesB] = [
        codesA.map((code) => smallFloatValue(a, code)),
        codesB.map((code) => smallFloatValue(b, code)),
      ];
      const expected = () => {
        const all: number[] = [];
        for (let i = 0; i < m; i++)
          for (let j = 0; j < n; j++) {
            let sum = 0;
            for (let q = 0; q < k; q++) sum += (valuesA[i * k + q] ?? 0) * (valuesB[q * n + j] ?? 0);
            all.push(0.5 * sum);
          }
        return all;
      };
      // Tensor Cores of Hopper keep fewer bits of sums of 8-bit floats than of halves.
      harness.expectClose(to, expected, { relative: 2e-3, absolute: 0.25 }, "product");
    },
  };
}

const floats: KernelCase[] = (["float8e4m3fn", "float8e5m2"] as const).flatMap((a) =>
  (["float8e4m3fn", "float8e5m2"] as const).flatMap((b) =>
    [false, true].map((isMma) => floatCase(a, b, isMma)),
  ),
);

export const cases: readonly KernelCase[] = [
  ...products,
  ...widths,
  ...perBlock,
  ...tiles,
  ...withZeros,
  ...convolutions,
  ...floats,
];
