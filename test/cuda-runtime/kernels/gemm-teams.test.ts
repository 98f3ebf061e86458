/**
 * @file Products by clusters: that each tile is computed once, that both blocks of a pair go through the same steps and copy a half of b
 * each, and that blocks which add up have a split each.
 */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { h200, type Launch, type PlanTarget } from "../../../cuda-runtime/ir/step.ts";
import { elementCount, permuted } from "../../../cuda-runtime/ir/view.ts";
import { gemmCandidates } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { emitGemm, stayingBlocks } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { gemmStruct } from "../../../cuda-runtime/kernels/gemm/params.table.ts";
import { problemOf } from "../../../cuda-runtime/kernels/gemm/problem.ts";
import { gemmTable, type HopperRow } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { hopperStruct } from "../../../cuda-runtime/kernels/gemm-hopper/params.table.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { attributesOf, Machine, nodeOf } from "../lower/movement-machine.ts";
import { ProductContext, runProduct } from "../lower/product-machine.ts";

const pairs = gemmTable.filter((row): row is HopperRow => row.kind === "hopper" && row.team === "pair");

interface Size {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: readonly number[];
}

/** A [batch, m, k] by b [batch, n, k], by this row; undefined where it does not take them. */
function launchOf(row: HopperRow, { m, n, k, batch }: Size, target: PlanTarget): Launch | undefined {
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, target, false);
  const a = draft.allocate("input", "float16", [...batch, m, k]);
  const b = draft.allocate("input", "float16", [...batch, n, k]);
  const to = draft.allocate("output", "float16", [...batch, m, n]);
  const axes = [...batch.keys(), batch.length + 1, batch.length];
  const request = { a, b: permuted(b, axes), to };
  const options = { type: "float16", tf32: false, target, isConstant: () => false } as const;
  const isTaken = (choice: { row: unknown; isSwapped: boolean }) => choice.row === row && !choice.isSwapped;
  if ([...gemmCandidates(problemOf(request), { ...options, accepts: isTaken })].length === 0)
    return undefined;
  emitGemm(emitter, request, isTaken);
  const [step] = draft.finish().steps;
  return step?.action.kind === "launch" ? step.action.launch : undefined;
}

/** Integers of a launch's GemmParams, by name. */
function numberOf({ params }: Launch, name: string, index = 0): number {
  const place = (layout: typeof hopperStruct | typeof gemmStruct, wanted: string) =>
    layout.members.find((member) => member.name === wanted)?.offset ?? Number.NaN;
  const data = new DataView(params.bytes.buffer, params.bytes.byteOffset);
  return data.getInt32(place(hopperStruct, "p") + place(gemmStruct, name) + 4 * index, true);
}

interface Place {
  readonly tileM: number;
  readonly tileN: number;
  readonly batch: number;
}

/** What blocks of kernels/core/hopper-product.cuh compute, one after another: its forEachTile, placeOf and tileOf. */
function placesOf(launch: Launch, block: number): Place[] {
  const [tilesM, tilesN, group] = ["tilesM", "tilesN", "group"].map((name) => numberOf(launch, name)) as [
    number,
    number,
    number,
  ];
  const products = [0, 1, 2].reduce((count, axis) => count * numberOf(launch, "batch", axis), 1);
  const tiles = tilesM * tilesN;
  const places: Place[] = [];
  for (let index = Math.floor(block / 2); index < tiles * products; index += launch.grid[0] / 2) {
    const tile = index % tiles;
    const perGroup = group * tilesN;
    const first = Math.floor(tile / perGroup) * group;
    const rows = Math.min(tilesM - first, group);
    const pair = first + ((tile % perGroup) % rows);
    const tileN = Math.floor((tile % perGroup) / rows);
    places.push({ tileM: 2 * pair + (block % 2), tileN, batch: Math.floor(index / tiles) });
  }
  return places;
}

const sizes = fc.record({
  m: fc.integer({ min: 1, max: 2500 }),
  n: fc.integer({ min: 1, max: 700 }).map((eights) => 8 * eights),
  k: fc.integer({ min: 1, max: 100 }).map((eights) => 8 * eights),
  batch: fc.constantFrom([], [3], [2, 5]),
});
const targets = ["h200", "h100-pcie"].map(machineNamed);

describe("pairs of blocks", () => {
  test("compute each tile once, one below the other, whatever the size", () => {
    const any = [fc.constantFrom(...pairs), sizes, fc.constantFrom(...targets)] as const;
    fc.assert(
      fc.property(...any, (row, size, target) => {
        const launch = launchOf(row, size, target);
        if (launch === undefined) return;
        const [blocks] = launch.grid;
        expect(blocks % 2).toBe(0);
        expect(blocks).toBeLessThanOrEqual(target.multiprocessors);
        const seen = new Set<string>();
        for (let block = 0; block < blocks; block += 2) {
          const [upper, lower] = [placesOf(launch, block), placesOf(launch, block + 1)];
          expect(upper.length).toBeGreaterThan(0);
          expect(lower).toEqual(upper.map((place) => ({ ...place, tileM: place.tileM + 1 })));
          for (const { tileM, tileN, batch } of [...upper, ...lower]) seen.add(`${batch} ${tileM} ${tileN}`);
          // The lower one may have no rows; the upper one always has.
          const last = Math.max(...upper.map(({ tileM }) => tileM));
          expect(last * row.m).toBeLessThan(numberOf(launch, "m"));
        }
        const rows = Math.ceil(numberOf(launch, "m") / row.m);
        const products = [0, 1, 2].reduce((count, axis) => count * numberOf(launch, "batch", axis), 1);
        const tiles = Math.ceil(rows / 2) * 2 * Math.ceil(size.n / row.n) * products;
        expect(seen.size).toBe(tiles);
      }),
      { numRuns: 60 },
    );
  });

  test("copy half of b each, in rows that are swizzled together", () => {
    for (const row of pairs) {
      const launch = launchOf(row, { m: 4096, n: 4096, k: 512, batch: [] }, h200);
      const [a, b] = launch?.params.tensorMaps ?? [];
      expect([a?.box[1], b?.box[1]]).toEqual([row.m, row.n / 2]);
      expect((row.n / 2) % 8).toBe(0);
      expect(launch?.kernel.entry).toBe(`${row.tile}_f16`);
    }
  });

  test("are for more than one row of tiles, and never split k", () => {
    for (const row of pairs) {
      expect(launchOf(row, { m: row.m, n: 4096, k: 4096, batch: [] }, h200)).toBeUndefined();
      const deep = launchOf(row, { m: row.m + 1, n: 64, k: 65_536, batch: [] }, h200);
      expect(deep && numberOf(deep, "splits")).toBe(1);
    }
  });

  test("fill whole pairs of multiprocessors, of which there is one at least", () => {
    const grid = (tiles: number, multiprocessors: number) =>
      stayingBlocks(tiles, 2, { ...h200, multiprocessors });
    expect([grid(1, 132), grid(66, 132), grid(67, 132), grid(900, 133)]).toEqual([2, 132, 132, 132]);
    expect([stayingBlocks(5, 1, h200), stayingBlocks(500, 1, h200)]).toEqual([5, 132]);
  });

  test("win large products, not small ones", () => {
    const rowOf = (m: number, n: number, k: number) => {
      const problem = problemOf({
        a: { ...view, shape: [m, k], strides: [k, 1] },
        b: { ...view, shape: [k, n], strides: [1, k] },
        to: { ...view, shape: [m, n], strides: [n, 1] },
      });
      const options = { type: "float16", tf32: false, target: h200, isConstant: () => false } as const;
      const all = [...gemmCandidates(problem, options)];
      return all.reduce((best, each) => (each.microseconds < best.microseconds ? each : best)).launch.row;
    };
    expect(rowOf(4096, 4096, 4096)).toMatchObject({ team: "pair" });
    expect(rowOf(8192, 8192, 8192)).toMatchObject({ team: "pair" });
    expect(rowOf(128, 768, 768)).toMatchObject({ m: 64 });
  });
});

const view = {
  buffer: { id: 0, kind: "input", bytes: 0, name: "" },
  type: "float16",
  offset: 0,
} as const;

describe("blocks that add up", () => {
  const sums = gemmTable.filter((row): row is HopperRow => row.kind === "hopper" && row.team === "sum");

  test("have a split each, in one launch that needs no workspace, and give the product", () => {
    for (const row of sums) {
      for (const team of [2, 4, 8]) {
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
