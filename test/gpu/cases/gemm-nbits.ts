/** @file Products with 4-bit weights on the GPU against loops in double precision. */
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import type { HalfStorage } from "../../../cuda-runtime/ir/storage.ts";
import { emitNBits } from "../../../cuda-runtime/kernels/gemm-nbits/gemm-nbits.ts";
import type { KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

interface NBitsCase {
  readonly type: HalfStorage;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly block: 32 | 64 | 128 | 256;
  readonly zeros?: boolean;
  readonly bias?: boolean;
  readonly residual?: boolean;
}

/** An expanded weight is rounded to the type once, and so is the result; sums are FP32. */
function toleranceOf({ type, k }: NBitsCase): Tolerance {
  const relative = type === "float16" ? 2 ** -10 : 2 ** -7;
  return { relative, absolute: relative * 8 * 0.1 * Math.sqrt(k) };
}

function nbitsCase(each: NBitsCase): KernelCase {
  const { type, m, n, k, block, ...rest } = each;
  const { zeros: hasZeros = false, bias: hasBias = false, residual: hasResidual = false } = rest;
  const flags = Object.keys(rest).join(" ");
  return {
    name: `${type} ${m}x${n}x${k} in ${block} ${flags}`.trim(),
    run(harness) {
      const blocks = Math.ceil(k / block);
      const bytes = (count: number, seed: number) =>
        Array.from({ length: count }, (_, at) => ((at * 2_654_435_761 + seed * 40_503) >>> 11) & 255);
      const a = harness.tensor(type, [m, k], { seed: 1 });
      const codes = harness.tensor("uint8", [n, (blocks * block) / 2], {
        values: bytes((n * blocks * block) / 2, 1),
      });
      const scales = harness.tensor(type, [n, blocks], { seed: 2, scale: 0.1 });
      const width = Math.ceil(blocks / 2);
      const zeros = hasZeros
        ? harness.tensor("uint8", [n, width], { values: bytes(n * width, 2) })
        : undefined;
      const bias = hasBias ? harness.tensor("float32", [n], { seed: 3 }) : undefined;
      const residual = hasResidual ? harness.tensor(type, [m, n], { seed: 4 }) : undefined;
      const to = harness.output(type, [m, n]);
      const weights = { codes, scales, zeros, n, blocks, blockSize: block };
      emitNBits(harness.emitter, { a, weights, to, epilogue: { ...plainEpilogue, bias, residual } });
      harness.execute();
      const [x, c, s] = [a, codes, scales].map((view) => harness.values(view));
      const [z, b, r] = [zeros, bias, residual].map((view) => view && harness.values(view));
      const nibble = (of: ArrayLike<number> | undefined, index: number) =>
        ((of?.[Math.floor(index / 2)] ?? 0) >> (4 * (index % 2))) & 15;
      const expected = Array.from({ length: m * n }, (_, at) => {
        const [i, j] = [Math.floor(at / n), at % n];
        let sum = 0;
        for (let q = 0; q < k; q++) {
          const own = Math.floor(q / block);
          const zero = z === undefined ? 8 : nibble(z, 2 * j * width + own);
          const code = nibble(c, j * blocks * block + q);
          sum += (x?.[i * k + q] ?? 0) * (code - zero) * (s?.[j * blocks + own] ?? 0);
        }
        return sum + (b?.[j] ?? 0) + (r?.[at] ?? 0);
      });
      harness.expectClose(to, expected, toleranceOf(each), "the product");
    },
  };
}

const sizes: readonly Omit<NBitsCase, "type">[] = [
  { m: 1, n: 64, k: 4096, block: 32 },
  { m: 1, n: 37, k: 4096, block: 32, zeros: true, bias: true },
  { m: 1, n: 48, k: 3584, block: 128, zeros: true, residual: true },
  { m: 1, n: 32, k: 14_336, block: 32 },
  { m: 1, n: 16, k: 72, block: 32 },
  { m: 1, n: 16, k: 32, block: 32 },
  { m: 2, n: 64, k: 1024, block: 64, zeros: true },
  // More tiles than blocks that stay, twice over; more rows of k than a row's shared memory.
  { m: 1, n: 13_001, k: 192, block: 32 },
  { m: 2, n: 13_000, k: 256, block: 32, zeros: true, bias: true },
  { m: 1, n: 16, k: 24_576, block: 128 },
  // A row of k that ends within 128 codes; tiles of one box a warp and of two, three rounds of them.
  { m: 1, n: 64, k: 4032, block: 32 },
  { m: 2, n: 50, k: 4032, block: 32, zeros: true },
  { m: 1, n: 9001, k: 1152, block: 32, zeros: true, residual: true },
  { m: 2, n: 40, k: 18_944, block: 32 },
  { m: 7, n: 33, k: 640, block: 32, bias: true },
  { m: 8, n: 16, k: 512, block: 256 },
  { m: 13, n: 50, k: 520, block: 32, residual: true },
  { m: 32, n: 64, k: 1152, block: 128, zeros: true },
];

export const cases: readonly KernelCase[] = (["float16", "bfloat16"] as const).flatMap((type) =>
  sizes.map((each) => nbitsCase({ type, ...each })),
);
