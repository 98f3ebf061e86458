/** @file What is done to a product's elements before they are stored, in clocks of a multiprocessor for one. */
import type { ActivationKind } from "../../ir/epilogue.ts";

type Clocks = Readonly<Partial<Record<ActivationKind, number>>>;

/**
 * By registers, eight warps a multiprocessor, rows of memory-bound products with and without it on an H100: 100352x384x96 (GELU), 401408x96x16
 * (SiLU). Others are not measured.
 */
const staying = { silu: 0.21, gelu: 0.18, geluTanh: 0.21, other: 0.2 } as const;
const activationClocks: Readonly<Record<"tensor" | "hopper" | "thin", Clocks & { readonly other: number }>> =
  {
    // In the tiles' measured shares, as far as these have it.
    tensor: { other: 0 },
    hopper: staying,
    // Instructions over the rate of their unit, half again for what does not overlap: not measured yet.
    thin: {
      ...{ leakyRelu: 0.02, hardSwish: 0.04, hardSigmoid: 0.03, sigmoid: 0.17, silu: 0.18 },
      ...{ geluTanh: 0.24, gelu: 0.3 },
      other: 0,
    },
  };
/** A limit is two instructions, whoever does it. */
const limitClocks: Clocks = { none: 0, relu: 0.01, clip: 0.02 };

export function activationClocksOf(kind: "tensor" | "hopper" | "thin", first: ActivationKind): number {
  const { other, ...known } = activationClocks[kind];
  return limitClocks[first] ?? known[first] ?? other;
}
