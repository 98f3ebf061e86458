/** @file The ladders' kernels on the GPU, every element of small results, against what `bench --ladder` samples. */
import { elementCount, type View } from "../../../cuda-runtime/ir/view.ts";
import {
  emitLadderAttentionApart,
  emitLadderAttentionOnline,
} from "../../../cuda-runtime/kernels/ladder/attention.ts";
import {
  emitLadderConv,
  emitLadderWinograd,
  isChannelsLast,
  type LadderConvRung,
  winogradSharedBytes,
} from "../../../cuda-runtime/kernels/ladder/conv.ts";
import {
  emitLadderResample,
  type LadderResampleRung,
} from "../../../cuda-runtime/kernels/ladder/resample.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { attentionElement } from "../../../src/gpu/ladder/attention.ts";
import { type ConvSize, channelsInside, convElement } from "../../../src/gpu/ladder/conv.ts";
import { type ResampleSize, resampleElement, targetTimes } from "../../../src/gpu/ladder/resample.ts";
import type { Reference } from "../../../src/gpu/ladder/work.ts";

const scale = 0.2;

function contentOf(harness: Harness, view: View) {
  const values = harness.values(view);
  return { at: (index: number) => values[index] ?? Number.NaN };
}

function expectAll(harness: Harness, y: View, element: Reference, tolerance: Tolerance): void {
  harness.execute();
  const expected = Float64Array.from({ length: elementCount(y.shape) }, (_, index) => element(index));
  harness.expectClose(y, expected, tolerance, "a rung's result");
}

/** Of sums of many small products, whose largest is about one. */
const convTolerance = { relative: 2e-3, absolute: 2e-3 };

function convCase(rung: LadderConvRung | "winograd", size: ConvSize): KernelCase {
  const { batch, channels, filters, side } = size;
  const isLast = rung === "winograd" || isChannelsLast(rung);
  const order = isLast ? ([0, 2, 3, 1] as const) : ([0, 1, 2, 3] as const);
  const shape = (first: number, depth: number, extent: number) => {
    const axes = [first, depth, extent, extent] as const;
    return order.map((axis) => axes[axis]);
  };
  const run = (harness: Harness) => {
    const { emitter } = harness;
    if (rung === "winograd" && emitter.target.sharedBytesPerBlock < winogradSharedBytes) return;
    const areTapsInside = rung === "winograd" || !isLast;
    const x = harness.tensor("float16", shape(batch, channels, side), { seed: 1, scale });
    const filterShape = areTapsInside ? [filters, channels, 3, 3] : shape(filters, channels, 3);
    const w = harness.tensor("float16", filterShape, { seed: 2, scale });
    const y = harness.output("float16", shape(batch, filters, side));
    if (rung === "winograd") emitLadderWinograd(emitter, { x, w, y });
    else emitLadderConv(emitter, { x, w, y }, rung);
    const content = contentOf(harness, w);
    const taps = areTapsInside ? content : channelsInside(size, content);
    expectAll(harness, y, convElement(size, isLast, contentOf(harness, x), taps), convTolerance);
  };
  return { name: `conv ${rung} ${batch}x${channels}x${side}x${side}, ${filters} filters`, run };
}

function resampleCase(rung: LadderResampleRung, size: ResampleSize): KernelCase {
  const { batch, source, target, features } = size;
  const run = (harness: Harness) => {
    const targets = targetTimes(size);
    const times = Array.from({ length: batch * source }, (_, at) => at % source);
    const x = harness.tensor("bfloat16", [batch, source, features], { seed: 1 });
    const y = harness.output("bfloat16", [batch, target, features]);
    const operands = {
      ...{ x, y },
      times: harness.tensor("float32", [batch, source], { values: times }),
      targets: harness.tensor("float32", [batch, target], { values: targets }),
    };
    emitLadderResample(harness.emitter, operands, rung);
    const element = resampleElement(size, targets, contentOf(harness, x));
    expectAll(harness, y, element, { relative: 5e-3, absolute: 5e-3 });
  };
  return { name: `resample ${rung} ${batch}x${source}->${target}x${features}`, run };
}

function attentionCase(rung: "apart" | "online", batch: number, heads: number, length: number): KernelCase {
  const run = (harness: Harness) => {
    const shape = [batch * heads, length, 64];
    const [q, k, v] = [1, 2, 3].map((seed) => harness.tensor("float16", shape, { seed, scale }));
    if (q === undefined || k === undefined || v === undefined) throw new Error("no operands");
    const o = harness.output("float16", shape);
    const emit = rung === "apart" ? emitLadderAttentionApart : emitLadderAttentionOnline;
    emit(harness.emitter, { q, k, v, o, scale: 8 });
    const contents = { q: contentOf(harness, q), k: contentOf(harness, k), v: contentOf(harness, v) };
    const element = attentionElement({ batch, heads, length, dim: 64 }, 8, contents);
    expectAll(harness, o, element, { relative: 4e-3, absolute: 4e-4 });
  };
  return { name: `attention ${rung} ${batch}x${heads} heads of ${length}`, run };
}

const cudaRungs = ["direct", "shared", "vectors", "outputs", "last"] as const;

export const cases: readonly KernelCase[] = [
  // Rows that leave threads of a block without a pixel, and blocks without all of their rows.
  ...cudaRungs.map((rung) => convCase(rung, { batch: 2, channels: 16, filters: 8, side: 24 })),
  ...(["direct", "shared", "last"] as const).map((rung) =>
    convCase(rung, { batch: 3, channels: 32, filters: 16, side: 7 }),
  ),
  convCase("tensor", { batch: 3, channels: 64, filters: 128, side: 7 }),
  convCase("tensor", { batch: 2, channels: 128, filters: 64, side: 16 }),
  // Tiles beyond the edge, and blocks beyond the last tile.
  convCase("winograd", { batch: 3, channels: 48, filters: 64, side: 7 }),
  convCase("winograd", { batch: 2, channels: 64, filters: 32, side: 18 }),
  ...(["element", "row", "vectors", "lanes"] as const).flatMap((rung) => [
    resampleCase(rung, { batch: 3, source: 70, target: 21, features: 264 }),
    resampleCase(rung, { batch: 2, source: 2, target: 5, features: 8 }),
    resampleCase(rung, { batch: 1, source: 3000, target: 100, features: 64 }),
  ]),
  ...(["apart", "online"] as const).flatMap((rung) => [
    attentionCase(rung, 1, 3, 64),
    attentionCase(rung, 1, 2, 128),
  ]),
];
