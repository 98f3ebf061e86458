/** @file Depthwise convolutions, held to what every form of them was measured to take (an H100, 2026-11-27, bench/gpu/depthwise.ts). */
import { describe, expect, it } from "vitest";
import type { ActivationKind } from "../../../cuda-runtime/ir/epilogue.ts";
import { depthwiseCandidates } from "../../../cuda-runtime/kernels/depthwise/choose.ts";
import { variantOf } from "../../../cuda-runtime/kernels/depthwise/depthwise.ts";
import type { DepthwiseProblem } from "../../../cuda-runtime/kernels/depthwise/problem.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { meanOf, measuredRows } from "./measured-ways.ts";

interface MeasuredForm {
  /** Model, batch, channels x side, taps and stride. */
  readonly layer: string;
  readonly form: string;
  readonly us: number;
}

const h100 = machineNamed("h100");
const rows = measuredRows<MeasuredForm>("h100-depthwise.jsonl").filter(({ layer }) => layer !== undefined);
/** Of the models that the layers are of. */
const activations: Readonly<Record<string, ActivationKind>> = {
  mobilenet_v2: "clip",
  efficientnet_b0: "silu",
};

function problemOf(layer: string): DepthwiseProblem {
  const [, model = "", ...numbers] = /^(\S+) b(\d+) (\d+)x(\d+) k(\d)s(\d)$/.exec(layer) ?? [];
  const [batch = 0, channels = 0, side = 0, taps = 0, stride = 0] = numbers.map(Number);
  const out = Math.floor((side - 1) / stride) + 1;
  return {
    ...{ type: "float16", channels, filters: channels, batch, size: [1, out, out] },
    ...{ kernel: [1, taps, taps], stride: [1, stride, stride], dilation: [1, 1, 1], alignment: 16, width: 8 },
    ...{ isPlain: true, isWalkable: true, activation: activations[model] ?? "none" },
    bytes: 2 * batch * channels * (side ** 2 + out ** 2) + 4 * channels * (taps ** 2 + 1),
  };
}

interface Timed {
  readonly us: number;
  readonly predicted: number;
  readonly form: string;
}

/** Forms that the planner may take, with what they were measured and are predicted to take. */
function timedOf([layer, forms]: readonly [string, readonly MeasuredForm[]]): Timed[] {
  const candidates = new Map(
    depthwiseCandidates(problemOf(layer), h100, () => true).map(({ launch, microseconds }) => [
      variantOf(launch),
      microseconds,
    ]),
  );
  return forms.flatMap(({ form, us }) => {
    const predicted = candidates.get(form);
    return predicted === undefined ? [] : [{ form, us, predicted }];
  });
}

const layers = [...groupBy(rows, ({ layer }) => layer)].map(timedOf);
const offOf = ({ us, predicted }: Timed) => Math.max(us / predicted, predicted / us) - 1;
const shareOf = (all: readonly Timed[], limit: number) =>
  all.filter((each) => offOf(each) <= limit).length / all.length;

describe("forms of depthwise convolutions", () => {
  it("by rings are predicted within 10 % for three in four, within 25 % for nineteen in twenty", () => {
    const rings = layers.flat().filter(({ form }) => form.startsWith("ring_"));
    expect(rings.length).toBeGreaterThan(1300);
    expect(shareOf(rings, 0.1)).toBeGreaterThan(0.75);
    expect(shareOf(rings, 0.25)).toBeGreaterThan(0.95);
  });

  it("by tiles are predicted within 10 % for three in five, within 25 % for seven in eight", () => {
    const tiles = layers.flat().filter(({ form }) => form.startsWith("k"));
    expect(tiles.length).toBeGreaterThan(100);
    expect(shareOf(tiles, 0.1)).toBeGreaterThan(0.6);
    expect(shareOf(tiles, 0.25)).toBeGreaterThan(0.875);
  });

  it("that are taken are 4 % behind the best in the mean, and 15 % at most in 52 of 54", () => {
    const losses = layers.map((timed) => {
      const usable = timed.filter(({ form }) => !form.startsWith("diagonal_"));
      const least = minOf(usable.map(({ predicted }) => predicted));
      const taken = usable.find(({ predicted }) => predicted === least)?.us ?? Number.NaN;
      return taken / minOf(usable.map(({ us }) => us)) - 1;
    });
    expect(losses).toHaveLength(54);
    expect(meanOf(losses)).toBeLessThan(0.04);
    expect(losses.filter((loss) => loss > 0.15).length).toBeLessThanOrEqual(2);
    expect(Math.max(...losses)).toBeLessThan(0.3);
  });

  it("on Tensor Cores in tiles that are copied are behind rings in all layers but one", () => {
    const behind = layers.filter((timed) => {
      const best = (start: string) =>
        minOf(timed.filter(({ form }) => form.startsWith(start)).map(({ us }) => us));
      return best("diagonal_") < best("ring_");
    });
    expect(behind.length).toBeLessThanOrEqual(1);
  });
});
