/** @file Times that are kept are those that are computed, whatever was asked before. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { keptTimes } from "../../../cuda-runtime/cost/kept-times.ts";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { permuted, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { convCandidates } from "../../../cuda-runtime/kernels/conv/choose.ts";
import { gemmCandidates } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { problemOf } from "../../../cuda-runtime/kernels/gemm/problem.ts";
import { findGpu, gpus } from "../../../src/hardware/gpus.ts";
import { machineNamed, machineOf } from "../../../src/hardware/machine.ts";

/** Machines of their own, of which nothing is kept. */
const unknown = <T extends object>(machine: T): T => ({ ...machine });
const machine = fc.constantFrom("h200", "a100", "t4").map(machineNamed);
const size = fc.constantFrom(8, 24, 64, 65, 300, 1024);

const conv = fc.record({
  math: fc.constantFrom("f16" as const, "bf16" as const, "tf32" as const),
  rows: size,
  filters: size,
  channels: size,
  groups: fc.constantFrom(1, 2, 4),
  taps: fc.constantFrom(1, 9),
  inputBytes: fc.constantFrom(1e4, 1e6),
  outputBytes: fc.constantFrom(1e4, 1e6),
  storeWidth: fc.constantFrom(8 as const, 2 as const, 1 as const),
  halo: fc.option(
    fc.record({
      patches: fc.constantFrom(16, 256),
      positions: fc.constantFrom(100, 144),
      formula: fc.constantFrom("none" as const, "silu" as const, "tanh" as const),
    }),
    { nil: undefined },
  ),
});

const source = {
  type: "float16",
  grain: 16,
  canGather: true,
  canWalk: true,
  copyMicroseconds: () => 1,
} as const;

it("convolutions, by any of their ways", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(conv, machine), { minLength: 2, maxLength: 6 }), (asked) => {
      for (const [problem, target] of [...asked, ...asked])
        expect(convCandidates(problem, source, target)).toEqual(
          convCandidates(problem, source, unknown(target)),
        );
    }),
    { numRuns: 40 },
  );
});

function view(shape: readonly number[], type: FloatStorage, offset: number): View {
  const buffer = { id: 0, kind: "input", bytes: 0, name: "" } as const;
  return { buffer, type, shape, strides: stridesOf(shape), offset };
}

const floatStorages = ["float16", "bfloat16", "float32"] as const satisfies readonly FloatStorage[];

const product = fc.record({
  batch: fc.constantFrom(1, 3),
  m: size,
  n: size,
  k: size,
  offset: fc.constantFrom(0, 1, 8),
  type: fc.constantFrom(...floatStorages),
  to: fc.constantFrom(...floatStorages),
  isTurned: fc.boolean(),
  hasResidual: fc.boolean(),
});

it("products, by any of their ways", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(product, machine), { minLength: 2, maxLength: 6 }), (asked) => {
      for (const [{ batch, m, n, k, offset, type, to, isTurned, hasResidual }, target] of [
        ...asked,
        ...asked,
      ]) {
        const b = view([batch, n, k], type, offset);
        const problem = problemOf({
          a: view([batch, m, k], type, offset),
          b: isTurned ? permuted(b, [0, 2, 1]) : view([batch, k, n], type, offset),
          to: view([batch, m, n], to, 0),
          ...(hasResidual ? { residual: view([batch, m, n], to, 0) } : {}),
        });
        const options = { type, tf32: false, isConstant: () => false };
        const timesOn = (on: typeof target) =>
          [...gemmCandidates(problem, { ...options, target: on })].map(({ microseconds }) => microseconds);
        expect(timesOn(target)).toEqual(timesOn(unknown(target)));
      }
    }),
    { numRuns: 40 },
  );
});

it("are computed once, and forgotten where there are too many", () => {
  const timesOf = keptTimes<object>();
  const row = {};
  let computed = 0;
  const ask = (size: string, splits = 1, target = h200) =>
    timesOf(target, size)(row, splits, () => ++computed);
  expect([ask("a"), ask("a"), ask("a", 2), ask("b"), ask("a", 1, unknown(h200)), ask("a")]).toEqual([
    1, 1, 2, 3, 4, 1,
  ]);
  for (let index = 0; index < 1000; index++) ask(`size ${index}`);
  expect(ask("a")).toBe(computed);
});

it("a row of the table of GPUs is one machine", () => {
  for (const gpu of gpus.values()) expect(machineOf(gpu)).toBe(machineOf(gpu));
  const gpu = findGpu("h200");
  expect(gpu && machineOf({ ...gpu })).not.toBe(machineNamed("h200"));
});
