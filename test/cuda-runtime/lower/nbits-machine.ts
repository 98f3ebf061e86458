/** @file Products with 4-bit weights run on the CPU by the meaning of their parameter struct. */
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { gemmStruct } from "../../../cuda-runtime/kernels/gemm/params.table.ts";
import { nbitsStruct } from "../../../cuda-runtime/kernels/gemm-nbits/params.table.ts";
import { nbitsHopperStruct } from "../../../cuda-runtime/kernels/gemm-nbits-hopper/params.table.ts";
import type { ElementMemory } from "./struct-reader.ts";
import { fieldsOf } from "./struct-reader.ts";

/** What gemm-nbits.cu and gemm-nbits-hopper.cu compute, without their tiles. */
export function runNBits(launch: Launch, machine: ElementMemory): void {
  const { kernel } = launch;
  const isHopper = kernel.kind === "built" && kernel.family === "gemm-nbits-hopper";
  const fields = isHopper
    ? fieldsOf(launch, nbitsHopperStruct).within("q", nbitsStruct)
    : fieldsOf(launch, nbitsStruct);
  const product = fields.within("p", gemmStruct);
  const read = (view: View | undefined) => view && machine.read(view);
  const [m, n, k, blocks] = [product.int("m"), product.int("n"), product.int("k"), fields.int("blocks")];
  const block = 2 ** fields.int("blockShift");
  const [codes, scales, zeros] = ["codes", "scales", "zeros"].map((name) => read(fields.view(name)));
  const [a, bias, to] = [read(product.view("a")), read(product.view("bias")), product.view("d")];
  if (to === undefined || codes === undefined || scales === undefined)
    throw new Error("an operand is missing");
  const nibble = (bytes: ArrayLike<number>, row: number, width: number, at: number) =>
    ((bytes[row * width + Math.floor(at / 2)] ?? 0) >> (4 * (at % 2))) & 15;
  const added = product.view("residual");
  const residual =
    added && machine.read({ ...added, shape: [m, n], strides: [product.int("rM"), product.int("rN")] });
  const result = Array.from({ length: m * n }, (_, index) => {
    const [i, j] = [Math.floor(index / n), index % n];
    let sum = 0;
    for (let q = 0; q < k; q++) {
      const own = Math.floor(q / block);
      const zero = zeros === undefined ? 8 : nibble(zeros, j, Math.ceil(blocks / 2), own);
      const code = nibble(codes, j, (blocks * block) / 2, q);
      sum += (a?.[i * product.int("aM") + q] ?? 0) * (code - zero) * (scales[j * blocks + own] ?? 0);
    }
    return sum + (bias?.[j] ?? 0) + (residual?.[index] ?? 0);
  });
  machine.write({ ...to, shape: [m, n], strides: [product.int("dM"), product.int("dN")] }, result);
}
