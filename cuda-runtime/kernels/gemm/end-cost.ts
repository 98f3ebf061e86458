/** @file What is done to a product's elements before they are stored, in clocks of a multiprocessor for one. */
import type { ActivationKind } from "../../ir/epilogue.ts";

type Clocks = Readonly<Partial<Record<ActivationKind, number>>>;

type Kind = "tensor" | "staying" | "team" | "thin";

/**
 * By registers, eight warps a multiprocessor, rows of memory-bound products with and without it on an H100: 100352x384x96 (GELU), 401408x96x16
 * (SiLU). Others are not measured. Of blocks that stay the model has its own rates for GELU (hopper-cost.ts): this says what others are to it.
 */
const staying = { silu: 0.21, gelu: 0.18, geluTanh: 0.21, other: 0.2 } as const;
const activationClocks: Readonly<Record<Kind, Clocks & { readonly other: number }>> = {
  // An element at a time, each thread's one behind the other: 204800x64x64 with SiLU and without by two tiles of mma.sync on an H100
  // (bench/measurements/h100-thin.jsonl); the others as they are by registers beside it.
  tensor: { silu: 0.83, gelu: 0.71, geluTanh: 0.83, other: 0.79 },
  staying,
  // A team's ends have a copy of the code for all parts (bench/measurements/h100-gemm-ends.jsonl: 0.55 to 1.03 where each has one tile).
  team: { silu: 1.05, gelu: 0.9, geluTanh: 1.05, other: 1 },
  // Measured: SiLU and GELU (bench/measurements/h100-thin.jsonl); the others by their instructions beside these.
  thin: {
    ...{ leakyRelu: 0.02, hardSwish: 0.04, hardSigmoid: 0.03, sigmoid: 0.075, silu: 0.078 },
    ...{ geluTanh: 0.1, gelu: 0.102 },
    other: 0,
  },
};
/** A limit is an instruction or two, whoever does it. */
const limitClocks: Clocks = { none: 0, relu: 0, clip: 0.035 };

export function activationClocksOf(kind: Kind, first: ActivationKind): number {
  const { other, ...known } = activationClocks[kind];
  return limitClocks[first] ?? known[first] ?? other;
}
