/** @file What chooses a kernel is what predicts it: nothing else that a family could launch has a smaller time in the plan. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emitHeads, emitLayer, emitProduct, type Operands } from "../../../bench/gpu/operations.ts";
import { type Candidate, cheapest } from "../../../cuda-runtime/cost/candidate.ts";
import { aloneMicroseconds } from "../../../cuda-runtime/cost/predict.ts";
import { OperandError } from "../../../cuda-runtime/ir/operand-error.ts";
import type { PlanTarget } from "../../../cuda-runtime/ir/step.ts";
import { fittingTiles } from "../../../cuda-runtime/kernels/attention/choose.ts";
import { convTiles } from "../../../cuda-runtime/kernels/conv/table.ts";
import { gemmTable } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

const targets = ["h200", "a100", "t4", "rtx4090", "b200"].map(machineNamed);
const anyTarget = fc.constantFrom(...targets);
/** Multiples of 8, even sizes and odd ones, small and large. */
const anySize = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((n) => 8 * n),
  fc.integer({ min: 1, max: 700 }),
  fc.constantFrom(1024, 2048, 4096),
);
const runs = { numRuns: 40 };

/** What the plan prints for all steps of a run. */
function planned(target: PlanTarget, emit: (set: Operands) => void): number {
  const set = new DraftOperands(target);
  emit(set);
  return set.actions().reduce((sum, action) => sum + aloneMicroseconds(action, target), 0);
}

/** The same where some rows of the table do not take the operands: infinity. */
function plannedOnly(target: PlanTarget, emit: (set: Operands) => void): number {
  try {
    return planned(target, emit);
  } catch (error) {
    const isRefusal =
      error instanceof OperandError || (error instanceof Error && /no kernel/.test(error.message));
    if (isRefusal) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** Sums of floats, in other orders. */
const rounding = 1 - 1e-9;

describe("the cheapest of candidates", () => {
  it("is the first of those that take least, and there may be none", () => {
    const candidates: Candidate<string>[] = [
      { launch: "slow", microseconds: 3 },
      { launch: "first", microseconds: 2 },
      { launch: "second", microseconds: 2 },
    ];
    expect(cheapest(candidates)?.launch).toBe("first");
    expect(cheapest([])).toBeUndefined();
  });
});

describe("no other kernel is predicted to take less", () => {
  it("for a product", () => {
    fc.assert(
      fc.property(anySize, anySize, anySize, anyTarget, (M, N, K, target) => {
        const own = planned(target, (set) => void emitProduct(set, { M, N, K }, "float16"));
        for (const row of gemmTable) {
          const only = plannedOnly(
            target,
            (set) => void emitProduct(set, { M, N, K }, "float16", (choice) => choice.row === row),
          );
          expect(only).toBeGreaterThanOrEqual(own * rounding);
        }
      }),
      runs,
    );
  });

  it("for a convolution", () => {
    const layer = fc.record({
      channels: fc.oneof(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 40 }).map((n) => 8 * n),
      ),
      filters: anySize,
      size: fc.constantFrom([7, 7], [56, 57], [112, 112]),
      taps: fc.constantFrom(2, 3, 5),
      stride: fc.constantFrom(1, 2),
      batch: fc.constantFrom(1, 8),
      groups: fc.constantFrom(1, 1, 4),
    });
    fc.assert(
      fc.property(layer, anyTarget, ({ batch, groups, channels, filters, ...rest }, target) => {
        const shape = { ...rest, groups, channels: groups * channels, filters: groups * filters, pad: 1 };
        // What one channel a group would take are kernels of their own.
        if (groups > 1 && channels === 1) return;
        const own = planned(target, (set) => void emitLayer(set, shape, batch, "float16"));
        for (const tile of convTiles) {
          const only = plannedOnly(
            target,
            (set) => void emitLayer(set, shape, batch, "float16", (choice) => choice.tile === tile),
          );
          expect(only).toBeGreaterThanOrEqual(own * rounding);
        }
      }),
      runs,
    );
  });

  it("for attention", () => {
    const length = fc.constantFrom(1, 17, 49, 196, 512, 2048, 8192);
    const heads = fc.record({
      batch: fc.constantFrom(1, 4),
      count: fc.constantFrom(1, 8, 12),
      dim: fc.constantFrom(24, 40, 64, 80, 128, 200),
      isCausal: fc.boolean(),
    });
    fc.assert(
      fc.property(
        heads,
        length,
        length,
        anyTarget,
        ({ batch, count, dim, isCausal }, queries, keys, target) => {
          const shape = [batch, count, queries, keys, dim, isCausal] as const;
          const own = planned(target, (set) => void emitHeads(set, shape, "float16"));
          for (const tile of fittingTiles({ dim, isMasked: false }, target)) {
            const only = planned(target, (set) => void emitHeads(set, shape, "float16", tile));
            expect(only).toBeGreaterThanOrEqual(own * rounding);
          }
        },
      ),
      runs,
    );
  });
});
