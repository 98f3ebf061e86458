/** @file Products of many rows by few along k: what is taken, how shared memory is cut, and that launches compute the product. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Activation,
  type ActivationKind,
  type Epilogue,
  plainEpilogue,
} from "../../../cuda-runtime/ir/epilogue.ts";
import { tensorMapBytes } from "../../../cuda-runtime/ir/params.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import { elementCount, permuted, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { chooseGemm } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { emitGemm } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { problemOf } from "../../../cuda-runtime/kernels/gemm/problem.ts";
import { type ThinRow, thinRows, thinThreads } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { takesThin, thinBlocks, thinShapeOf } from "../../../cuda-runtime/kernels/gemm/thin.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { attributesOf, Machine, nodeOf } from "../lower/movement-machine.ts";
import { ProductContext, runProduct } from "../lower/product-machine.ts";

const h100 = machineNamed("h100");

function view(shape: readonly number[], pitch = shape.at(-1) ?? 1): View {
  const buffer = { id: 0, kind: "input", bytes: 0, name: "" } as const;
  const strides = stridesOf([...shape.slice(0, -1), pitch]);
  return { buffer, type: "float16", shape, strides, offset: 0 };
}

function linear(m: number, n: number, k: number, epilogue: Partial<Epilogue> = {}, pitch = n) {
  return problemOf({
    a: view([m, k]),
    b: permuted(view([n, k]), [1, 0]),
    to: view([m, n], pitch),
    epilogue: { ...plainEpilogue, ...epilogue },
  });
}

function rowOf(m: number, n: number, k: number, epilogue: Partial<Epilogue> = {}) {
  const isConstant = () => false;
  const options = { type: "float16", tf32: false, target: h100, isConstant } as const;
  return chooseGemm(linear(m, n, k, epilogue), options).launch.row;
}

interface MeasuredRow {
  readonly size: string;
  readonly first: ActivationKind;
  readonly residual: boolean;
  readonly kernel: string;
  readonly us: number;
}

const missing: MeasuredRow = { size: "", first: "none", residual: false, kernel: "", us: 0 };

function measuredRows(): readonly MeasuredRow[] {
  const file = new URL("../../../bench/measurements/h100-thin.jsonl", import.meta.url);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as MeasuredRow);
}

const silu: Activation = { kind: "silu", a: 1, b: 0 };

describe("choice", () => {
  test("many rows by few columns and little along k", () => {
    for (const [m, n, k] of [
      [204_800, 64, 64],
      [204_800, 32, 64],
      [401_408, 96, 16],
      [100_352, 144, 24],
      [25_088, 240, 40],
    ] as const)
      expect(rowOf(m, n, k, { activation: silu }), `${m}x${n}x${k}`).toMatchObject({ kind: "thin" });
  });

  test("not what the Tensor Cores bound, and not what has few rows", () => {
    for (const [m, n, k] of [
      [4096, 4096, 4096],
      [128, 768, 768],
      [6272, 384, 1536],
      [1, 1000, 192],
    ] as const)
      expect(rowOf(m, n, k), `${m}x${n}x${k}`).not.toMatchObject({ kind: "thin" });
  });

  /** Each of 34 products by two of the other kernels and four of these, bench/gpu/thin.ts on an H100. */
  test("is within a tenth of the best that was measured, but for two of small work", () => {
    const timed = groupBy(measuredRows(), ({ size, first, residual }) => `${size} ${first} ${residual}`);
    const ratios = [...timed].flatMap(([what, rows]) => {
      const [{ size, first, residual } = missing] = rows;
      const [m = 0, n = 0, k = 0] = size.split("x").map(Number);
      const added = residual ? { residual: view([m, n]) } : {};
      const row = rowOf(m, n, k, {
        activation: { kind: first, a: first === "silu" ? 1 : 0, b: 6 },
        ...added,
      });
      const chosen = rows.find(({ kernel }) => "tile" in row && kernel === row.tile);
      const best = minOf(rows.map(({ us }) => us));
      return chosen === undefined ? [] : [{ what, ratio: chosen.us / best }];
    });
    expect(timed.size).toBe(34);
    expect(ratios.length).toBeGreaterThanOrEqual(28);
    expect(ratios.filter(({ ratio }) => ratio > 1.11).length).toBeLessThanOrEqual(2);
    expect(ratios.filter(({ ratio }) => ratio > 1.25)).toEqual([]);
  });

  /** SiLU takes these kernels longer than all else: 204800x64x64 82 µs, without 36 and 33. */
  test("kernels of mma.sync are priced with their activations: 16 times within a quarter", () => {
    const timed = measuredRows().filter(({ kernel }) => kernel.startsWith("t"));
    const off = timed.map(({ size, first, kernel, us }) => {
      const [m = 0, n = 0, k = 0] = size.split("x").map(Number);
      const activation = { kind: first, a: first === "silu" ? 1 : 0, b: 6 };
      const { microseconds } = chooseGemm(linear(m, n, k, { activation }), {
        ...{ type: "float16", tf32: false, target: h100, isConstant: () => true },
        accepts: ({ row, isSwapped, splits }) =>
          !isSwapped && splits === 1 && "tile" in row && row.tile === kernel,
      });
      return Math.abs(Math.log(microseconds / us));
    });
    expect(off.length).toBe(16);
    expect(off.filter((each) => each > 0.25)).toEqual([]);
  });

  test("only what the kernels do", () => {
    const bias = { ...view([64]), type: "float32" } as const;
    expect(takesThin(linear(64, 64, 64, { bias, activation: silu }))).toBe(true);
    expect(takesThin(linear(64, 63, 64, { bias }))).toBe(true);
    expect(takesThin(linear(64, 64, 64, { residual: view([64, 64]) }))).toBe(true);
    expect(takesThin(linear(64, 63, 64, { residual: view([64, 63]) }))).toBe(false);
    expect(takesThin(linear(64, 64, 64, { scale: bias }))).toBe(false);
    expect(takesThin(linear(64, 64, 64, { activation: { kind: "tanh", a: 0, b: 0 } }))).toBe(false);
    expect(takesThin(linear(64, 64, 64, { last: silu }))).toBe(false);
    expect(takesThin(linear(64, 64, 512))).toBe(false);
    expect(takesThin({ ...linear(64, 64, 64), alpha: 0.5 })).toBe(false);
    expect(takesThin({ ...linear(64, 64, 64), batch: [2] })).toBe(false);
  });
});

describe("shared memory", () => {
  const rows = fc.constantFrom(...thinRows);

  test("holds all, in boxes that TMA takes, for as many blocks as stay", () => {
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 4096 }), fc.boolean(), (row, k, hasResidual) => {
        const shape = thinShapeOf(row, { k, hasResidual }, h100);
        if (shape === undefined) return;
        const { panel, panels, stages, sharedBytes, resident } = shape;
        expect([16, 32, 64]).toContain(panel);
        expect(panel * panels - k).toBeGreaterThanOrEqual(0);
        expect(panel * panels - k).toBeLessThan(panel);
        expect(Math.max(row.m, row.width)).toBeLessThanOrEqual(256);
        const operands = 2 * panel * panels * (row.n + stages * row.m);
        const ends = 2 * row.m * row.n * (hasResidual ? 1 + stages : 1);
        expect(sharedBytes).toBeGreaterThanOrEqual(operands + ends + 4 * row.n + 8 * (1 + 2 * stages));
        expect(sharedBytes).toBeLessThanOrEqual(h100.sharedBytesPerBlock);
        const each = sharedBytes + h100.reservedSharedBytes;
        expect(resident * each).toBeLessThanOrEqual(h100.sharedBytes);
        expect(resident * thinThreads(row)).toBeLessThanOrEqual(h100.threads);
      }),
    );
  });

  /** Of a block with one stage: both operands, whole along k, what is added and the result; parts begin at a swizzle's period. */
  function leastBytes({ m, n }: ThinRow, k: number, hasResidual: boolean): number {
    const whole = (bytes: number) => Math.ceil(bytes / 1024) * 1024;
    const rowBytes = 2 * (k <= 16 ? 16 : Math.ceil(k / 32) * 32);
    const tileBytes = 2 * m * n;
    const stage = whole(rowBytes * m + (hasResidual ? tileBytes : 0));
    return whole(rowBytes * n) + tileBytes + 4 * n + stage + 8 * (1 + 2);
  }

  test("is too little only where a block with one stage does not fit, at no k up to 128", () => {
    const wrong: string[] = [];
    const ends: number[] = [];
    for (const row of thinRows)
      for (const hasResidual of [false, true]) {
        const isThere = (k: number) => thinShapeOf(row, { k, hasResidual }, h100) !== undefined;
        const all = Array.from({ length: 4096 }, (_, index) => index + 1);
        const fits = (k: number) => leastBytes(row, k, hasResidual) <= h100.sharedBytesPerBlock;
        const off = all.find((k) => isThere(k) !== fits(k));
        if (off !== undefined) wrong.push(`${row.tile}, k ${off}, residual ${hasResidual}`);
        ends.push(all.find((k) => !isThere(k)) ?? Number.POSITIVE_INFINITY);
      }
    expect(wrong).toEqual([]);
    expect(minOf(ends)).toBe(129);
  });

  test("blocks of every column of tiles are as many, and none is without a tile", () => {
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 900 }), (row, m, n) => {
        const shape = thinShapeOf(row, { k: 32, hasResidual: false }, h100);
        if (shape === undefined) throw new Error("no shape");
        const blocks = thinBlocks(m, n, shape, h100);
        expect(blocks % n).toBe(0);
        expect(blocks / n).toBeGreaterThan(0);
        expect(blocks / n).toBeLessThanOrEqual(m);
      }),
    );
  });
});

function contextOf(machine: Machine): ProductContext {
  return new ProductContext(machine, {
    opset: 21,
    attributes: attributesOf({}),
    inputs: [],
    outputs: [],
    node: nodeOf("MatMul"),
  });
}

describe("launches compute the product", () => {
  test.each(thinRows)("$tile", (row) => {
    for (const [m, n, k, hasResidual] of [
      [5, 8, 8, false],
      [row.m + 1, 16, 24, true],
      [3, row.n + 8, 40, true],
      [7, row.n - 1, 16, false],
    ] as const)
      check(row, m, n, k, hasResidual);
  });
});

function check(row: ThinRow, m: number, n: number, k: number, hasResidual: boolean): void {
  const launches: Launch[] = [];
  const machine = new Machine({
    run: (launch, memory) => {
      launches.push(launch);
      runProduct(launch, memory);
    },
  });
  const at = (index: number) => ((index * 7) % 5) - 2;
  const tensor = (shape: readonly number[], type: "float16" | "float32" = "float16") =>
    machine.tensor(
      type,
      shape,
      Float64Array.from({ length: elementCount(shape) }, (_, i) => at(i)),
    );
  const to = machine.allocate("float16", [m, n]);
  const b = permuted(tensor([n, k]), [1, 0]);
  const bias = tensor([n], "float32");
  const residual = hasResidual ? tensor([m, n]) : undefined;
  const last: Activation = { kind: "clip", a: -20, b: 30 };
  emitGemm(
    contextOf(machine),
    { a: tensor([m, k]), b, to, epilogue: { ...plainEpilogue, bias, residual, last } },
    (choice) => choice.row === row && !choice.isSwapped,
  );
  const [launch] = launches;
  expect(launches).toHaveLength(1);
  expect(launch?.kernel).toMatchObject({ family: "gemm-thin", entry: `${row.tile}_f16` });
  expect(launch?.block).toEqual([thinThreads(row), 1, 1]);
  // Rows that are not at multiples of 16 bytes go out without a map.
  const maps = launch?.params.tensorMaps?.map((map) => map.at / tensorMapBytes);
  expect(maps).toEqual([0, 1, ...(n % 8 === 0 ? [2] : []), ...(hasResidual ? [3] : [])]);
  const expected = Array.from({ length: m * n }, (_, index) => {
    const [i, j] = [Math.floor(index / n), index % n];
    let sum = at(j) + (hasResidual ? at(index) : 0);
    for (let q = 0; q < k; q++) sum += at(i * k + q) * at(j * k + q);
    return Math.min(Math.max(sum, -20), 30);
  });
  expect(Array.from(machine.read(to))).toEqual(expected);
}
