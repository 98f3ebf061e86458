/** @file Depthwise kernels on Tensor Cores: what they take, how they are cut, and that a block's results do not overwrite what it still reads. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import { elementCount, permuted, type View } from "../../../cuda-runtime/ir/view.ts";
import type { Window } from "../../../cuda-runtime/kernels/conv/params.ts";
import { depthwiseCandidates } from "../../../cuda-runtime/kernels/depthwise/choose.ts";
import { emitDepthwise } from "../../../cuda-runtime/kernels/depthwise/depthwise.ts";
import { diagonalRows } from "../../../cuda-runtime/kernels/depthwise/diagonal.ts";
import { depthwiseStruct } from "../../../cuda-runtime/kernels/depthwise/params.table.ts";
import type { DepthwiseChoice, DepthwiseProblem } from "../../../cuda-runtime/kernels/depthwise/problem.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { convolved } from "../../gpu/conv-reference.ts";
import { emulate } from "./depthwise-emulated.ts";

const problem: DepthwiseProblem = {
  ...{ type: "float16", channels: 48, filters: 48, batch: 2, size: [1, 30, 21] },
  ...{ kernel: [1, 7, 7], stride: [1, 1, 1], dilation: [1, 1, 1] },
  ...{ alignment: 16, width: 8, isPlain: true, isWalkable: true, activation: "none", bytes: 1e6 },
};

function diagonals(changes: Partial<DepthwiseProblem> = {}, target = h200): DepthwiseChoice[] {
  const isDiagonal = ({ diagonal }: DepthwiseChoice) => diagonal !== undefined && diagonal.ring === undefined;
  return depthwiseCandidates({ ...problem, ...changes }, target, isDiagonal)
    .map(({ launch }) => launch)
    .filter(isDiagonal);
}

interface Layer {
  readonly x: readonly [number, number, number, number];
  readonly taps: number;
  readonly stride: number;
  readonly pads: readonly [number, number, number, number];
}

/** The launch that `accepts` takes, with the views that it reads and writes. */
function launchOf({ x, taps, stride, pads }: Layer, accepts: (choice: DepthwiseChoice) => boolean) {
  const [batch, channels, height, width] = x;
  const positions = [height + pads[0] + pads[2], width + pads[1] + pads[3]];
  const output = positions.map((size) => Math.floor((size - taps) / stride) + 1);
  const draft = new PlanDraft();
  const nhwc = (kind: "input" | "output", [h = 1, w = 1]: readonly number[]) =>
    permuted(draft.allocate(kind, "float16", [batch, h, w, channels]), [0, 3, 1, 2]);
  const request = {
    ...{ x: nhwc("input", [height, width]), to: nhwc("output", output), groups: channels },
    w: draft.allocate("input", "float16", [channels, 1, taps, taps]),
    ...{ strides: [stride, stride], dilations: [1, 1], pads: [pads[0], pads[1]], epilogue: plainEpilogue },
  };
  const window: Window = {
    kernel: [1, taps, taps],
    stride: [1, stride, stride],
    dilation: [1, 1, 1],
    pad: [0, pads[0], pads[1]],
  };
  // So few multiprocessors that blocks stay.
  emitDepthwise(new PlanEmitter(draft, { ...h200, multiprocessors: 1 }, false), request, window, accepts);
  const launches = draft
    .finish()
    .steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch] : []));
  const launch = launches.find(({ kernel }) => kernel.kind === "built" && kernel.family === "depthwise");
  if (launch === undefined) throw new Error("nothing was launched");
  return { launch, output: [batch, channels, ...output] };
}

function random(count: number, seed: number): Float64Array {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state / 2 ** 31;
  });
}

/** The largest difference from plain loops. */
function errorOf(layer: Layer, launch: Launch, shape: readonly number[]): number {
  const [, channels, height, width] = layer.x;
  const x = random(elementCount(layer.x), 1);
  const w = random(channels * layer.taps ** 2, 2);
  const y = new Float64Array(elementCount(shape)).fill(Number.NaN);
  const memory = ({ type, shape: own, buffer }: View) => {
    if (buffer.kind === "output") return y;
    return type === "float32" && own.length > 0 ? w : x;
  };
  emulate(launch, memory);
  // Weights lie as [tap, filter], positions as [batch, height, width, channel].
  const rows = (from: Float64Array, count: number, per: number) =>
    Float64Array.from(from, (_, i) => from[(i % per) * count + Math.floor(i / per)] ?? Number.NaN);
  const planes = (from: Float64Array, area: number) =>
    Float64Array.from(from, (_, i) => {
      const plane = Math.floor(i / area);
      const [sample, channel] = [Math.floor(plane / channels), plane % channels];
      return from[(sample * area + (i % area)) * channels + channel] ?? Number.NaN;
    });
  const { taps, stride, pads } = layer;
  const expected = convolved(
    { shape: layer.x, values: planes(x, height * width) },
    { shape: [channels, 1, taps, taps], values: rows(w, channels, taps ** 2) },
    channels,
    {
      ...{ strides: [stride, stride], dilations: [1, 1] },
      ...{ padsBegin: [pads[0], pads[1]], padsEnd: [pads[2], pads[3]] },
    },
  );
  const got = planes(y, (shape[2] ?? 1) * (shape[3] ?? 1));
  return got.reduce((worst, value, i) => {
    const error = Math.abs(value - (expected.values[i] ?? Number.NaN));
    return error <= worst ? worst : error;
  }, 0);
}

describe("depthwise kernels on Tensor Cores", () => {
  it("are those of the source", () => {
    const source = readFileSync(
      new URL("../../../cuda-runtime/kernels/depthwise/depthwise.cu", import.meta.url),
      "utf8",
    );
    const entries = [...source.matchAll(/^ {2}DIAGONAL\(NAME, E, ([\d, ]+)\)/gm)].map(
      ([, numbers]) => numbers,
    );
    expect(entries).toEqual(
      diagonalRows.map(({ taps, stride, high, blocks }) => [taps, stride, high, blocks].join(", ")),
    );
  });

  it("take whole runs of 8 channels of one type, square windows without dilation, nothing behind the activation", () => {
    expect(diagonals().length).toBeGreaterThan(0);
    const refused: Partial<DepthwiseProblem>[] = [
      { type: "float32" },
      { isPlain: false },
      { channels: 44, filters: 44 },
      { filters: 96 },
      { kernel: [1, 7, 5] },
      { kernel: [2, 7, 7] },
      { size: [3, 30, 21] },
      { stride: [1, 2, 1] },
      { dilation: [1, 2, 2] },
      { alignment: 8 },
      { width: 2 },
    ];
    for (const changes of refused) expect(diagonals(changes)).toEqual([]);
    expect(diagonals({}, machineNamed("t4"))).toEqual([]);
  });

  it("have blocks that divide the channels, and that a multiprocessor has room for", () => {
    const all = diagonals({ channels: 144, filters: 144, size: [1, 224, 224] });
    for (const { vector, diagonal, sharedBytes } of all) {
      expect(144 % vector).toBe(0);
      expect(vector).toBeLessThanOrEqual(64);
      expect((diagonal?.pitch ?? 0) % 32).toBe(16);
      expect(sharedBytes).toBeLessThanOrEqual(h200.sharedBytesPerBlock);
      if (diagonal?.stage !== 0) expect(sharedBytes).toBe(2 * (diagonal?.stage ?? 0));
    }
  });

  it.each(diagonalRows)("compute what they should, taps $taps, stride $stride, $high rows", (row) => {
    const { taps, stride } = row;
    const layer: Layer = {
      x: [stride === 1 ? 3 : 12, 16, 13, 19],
      taps,
      stride,
      pads: [taps - 1, 1, 0, taps - 2],
    };
    const seen = new Set<string>();
    let staying = 0;
    const nameOf = ({ wide, high, vector, diagonal }: DepthwiseChoice) =>
      `${wide}x${high}x${vector} ${diagonal?.blocks}`;
    const isNew = (choice: DepthwiseChoice) => choice.row === row && !seen.has(nameOf(choice));
    for (;;) {
      let taken: DepthwiseChoice | undefined;
      const { launch, output } = launchOf(layer, (choice) => {
        if (taken === undefined && isNew(choice)) taken = choice;
        return choice === taken;
      });
      if (taken === undefined) break;
      seen.add(nameOf(taken));
      if (taken.diagonal?.stage !== 0) staying++;
      expect(launch.params.bytes.length).toBe(depthwiseStruct.bytes);
      expect(errorOf(layer, launch, output), nameOf(taken)).toBeLessThan(1e-9);
    }
    expect(seen.size).toBeGreaterThan(3);
    expect(staying).toBeGreaterThan(0);
  });
});
