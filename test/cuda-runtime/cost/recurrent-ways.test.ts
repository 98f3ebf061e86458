/** @file Recurrences, held to what every way of them was measured to take (an H100, 2026-11-28, bench/gpu/recurrent.ts). */
import { describe, expect, it } from "vitest";
import type { CellKind, GateFunction } from "../../../cuda-runtime/kernels/recurrent/cells.ts";
import {
  chooseRecurrent,
  type RecurrentSizes,
  recurrentWays,
} from "../../../cuda-runtime/kernels/recurrent/choose.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { measuredRows } from "./measured-ways.ts";

interface MeasuredWay {
  readonly cell: Exclude<CellKind, "gruReset">;
  readonly steps: number;
  readonly batch: number;
  readonly hidden: number;
  readonly directions: number;
  readonly kind: "tensor" | "sequence" | "step";
  readonly kept?: number;
  readonly blocks?: number;
  readonly us: number;
}

const h100 = machineNamed("h100");
const plain = (kind: GateFunction["kind"]): GateFunction => ({ kind, alpha: 0, beta: 0 });
const functions = {
  lstm: [plain("Sigmoid"), plain("Tanh"), plain("Tanh")],
  gru: [plain("Sigmoid"), plain("Tanh")],
  rnn: [plain("Tanh")],
} as const;

function sizesOf({ cell, steps, batch, hidden, directions }: MeasuredWay): RecurrentSizes {
  const ofAll = Array.from({ length: directions }, () => functions[cell]);
  return { cell, type: "float16", steps, batch, hidden, directions, functions: ofAll };
}

const nameOf = (way: { kind: string; kept?: number; blocks?: number }) =>
  [way.kind, way.kept ?? "", way.blocks ?? ""].join(" ");

interface Timed extends MeasuredWay {
  readonly predicted: number;
}

const rows = measuredRows<MeasuredWay>("h100-recurrent.jsonl").filter(({ cell }) => cell !== undefined);
const sizes = [...groupBy(rows, (row) => JSON.stringify(sizesOf(row))).values()].map((ways): Timed[] => {
  const [first] = ways;
  if (first === undefined) return [];
  const predicted = new Map(
    [...recurrentWays(sizesOf(first), h100)].map(({ launch, microseconds }) => [
      nameOf(launch),
      microseconds,
    ]),
  );
  return ways.map((way) => ({ ...way, predicted: predicted.get(nameOf(way)) ?? Number.NaN }));
});
const offOf = ({ us, predicted }: Timed) => Math.max(us / predicted, predicted / us) - 1;
const shareOf = (all: readonly Timed[], limit: number) =>
  all.filter((each) => offOf(each) <= limit).length / all.length;

describe("ways of recurrences", () => {
  it("on Tensor Cores are predicted within 10 % for four in five, within 25 % for nineteen in twenty", () => {
    const tensor = sizes.flat().filter(({ kind }) => kind === "tensor");
    expect(tensor.length).toBeGreaterThan(300);
    expect(shareOf(tensor, 0.1)).toBeGreaterThan(0.8);
    expect(shareOf(tensor, 0.25)).toBeGreaterThan(0.95);
  });

  it("a launch a step are predicted within 25 % for four in five", () => {
    const steps = sizes.flat().filter(({ kind }) => kind === "step");
    expect(steps.length).toBeGreaterThan(40);
    expect(shareOf(steps, 0.25)).toBeGreaterThan(0.8);
  });

  it("what is taken is never more than 30 % behind the best, and 3 % on the whole", () => {
    const lost = sizes.map((ways) => {
      const [first] = ways;
      const taken = first && nameOf(chooseRecurrent(sizesOf(first), h100).launch);
      const us = ways.find((way) => nameOf(way) === taken)?.us ?? Number.NaN;
      return us / minOf(ways.map((way) => way.us));
    });
    expect(Math.max(...lost)).toBeLessThan(1.3);
    expect(lost.reduce((sum, ratio) => sum + ratio, 0) / lost.length).toBeLessThan(1.03);
  });
});
