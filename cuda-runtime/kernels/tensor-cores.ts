/**
 * @file Which kernels multiply on Tensor Cores, known without their machine code: plans and predictions say it where nothing is built, too. A test
 * holds it to what the build finds in each entry.
 */
import type { KernelRef } from "../ir/step.ts";

const every = () => true;
const allBut = (others: RegExp) => (entry: string) => !others.test(entry);

/** Families that have such entries, by which; what packs, adds up or prepares beside them has none. */
const families: ReadonlyMap<string, (entry: string) => boolean> = new Map([
  ["attention", allBut(/^attention_(?:scores|combine|plain_)/)],
  ["attention-hopper", every],
  ["conv", allBut(/^conv_(?:f32|sum|widen|pack)/)],
  ["conv-halo", every],
  ["conv-hopper", every],
  ["conv-int8-hopper", every],
  ["conv-planes", allBut(/^conv_planes_(?:weights|pack)/)],
  ["conv-tma", every],
  ["depthwise", (entry) => entry.includes("_diagonal_")],
  ["depthwise-hopper", every],
  ["gemm", every],
  ["gemm-bf16", every],
  ["gemm-hopper", every],
  ["gemm-int8", allBut(/^code_sums$/)],
  ["gemm-int8-codes", every],
  ["gemm-int8-hopper", every],
  ["gemm-nbits", every],
  ["gemm-nbits-hopper", every],
  ["gemm-pair", every],
  ["gemm-tf32", every],
  ["gemm-thin", every],
  ["recurrent", (entry) => entry.includes("_tensor_")],
]);

/** Compiled text has no Tensor Core instructions. */
export function multipliesOnTensorCores(kernel: KernelRef): boolean {
  return kernel.kind === "built" && families.get(kernel.family)?.(kernel.entry) === true;
}
