/** @file Products by clusters that add up: what each block computes, and which products they are taken for. */
import { describe, expect, test } from "vitest";
import { emitProduct } from "../../../bench/gpu/operations.ts";
import type { Candidate } from "../../../cuda-runtime/cost/candidate.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { elementCount, permuted } from "../../../cuda-runtime/ir/view.ts";
import type { Choice } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { emitGemm } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { gemmTable, type HopperRow, sumsInTeam } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { attributesOf, Machine, nodeOf } from "../lower/movement-machine.ts";
import { ProductContext, runProduct } from "../lower/product-machine.ts";

const sums = gemmTable.filter((row): row is HopperRow => row.kind === "hopper" && row.team === "sum");

function candidatesOf([M = 0, N = 0, K = 0]: readonly number[]): Candidate<Choice>[] {
  const found: Candidate<Choice>[] = [];
  emitProduct(new DraftOperands(machineNamed("h100")), { M, N, K }, "float16", (launch, microseconds) => {
    found.push({ launch, microseconds });
    return true;
  });
  return found.toSorted((a, b) => a.microseconds - b.microseconds);
}

describe("blocks that add up", () => {
  test("have a split each, in one launch that needs no workspace, and give the product", () => {
    for (const row of sums) {
      for (const team of [2, 4]) {
        const launches: Launch[] = [];
        const machine = new Machine({
          run: (launch, memory) => {
            launches.push(launch);
            runProduct(launch, memory);
          },
        });
        const [m, n, k] = [5, 24, 64 * team - 24];
        const at = (index: number) => ((index * 7) % 11) - 5;
        const tensor = (shape: readonly number[]) =>
          machine.tensor(
            "float16",
            shape,
            Float64Array.from({ length: elementCount(shape) }, (_, i) => at(i)),
          );
        const to = machine.allocate("float32", [m, n]);
        const [a, b] = [tensor([m, k]), permuted(tensor([n, k]), [1, 0])];
        emitGemm(
          contextOf(machine),
          { a, b, to },
          (choice) => choice.row === row && choice.splits === team && !choice.isSwapped,
        );
        const grid = [Math.ceil(n / row.n) * team, 1, 1];
        expect(launches).toEqual([expect.objectContaining({ cluster: [team, 1, 1], grid })]);
        const product = Array.from({ length: m * n }, (_, index) => {
          const [i, j] = [Math.floor(index / n), index % n];
          return Array.from({ length: k }, (_, q) => at(i * k + q) * at(j * k + q)).reduce(
            (x, y) => x + y,
            0,
          );
        });
        expect(Array.from(machine.read(to))).toEqual(product);
      }
    }
  });

  test("are taken for long k and few results, and not where k is short", () => {
    const kindOf = (size: readonly number[]) => {
      const [chosen] = candidatesOf(size);
      return chosen !== undefined && sumsInTeam(chosen.launch.row);
    };
    expect(
      [
        [128, 768, 3072],
        [32, 1000, 2048],
        [16, 4096, 4096],
      ].map(kindOf),
    ).toEqual([true, true, true]);
    expect(
      [
        [128, 768, 768],
        [4096, 4096, 4096],
      ].map(kindOf),
    ).toEqual([false, false]);
  });
});

function contextOf(machine: Machine): ProductContext {
  const node = nodeOf("MatMul");
  return new ProductContext(machine, {
    opset: 21,
    attributes: attributesOf({}),
    inputs: [],
    outputs: [],
    node,
  });
}
