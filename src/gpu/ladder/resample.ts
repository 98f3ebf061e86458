/** @file The ladder of resampling: rows between two source times, by linear interpolation. */
import { bytesOfType, type FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import {
  emitLadderResample,
  type LadderResampleRung,
} from "../../../cuda-runtime/kernels/ladder/resample.ts";
import { emitResample, plainWeight } from "../../../cuda-runtime/kernels/resample/resample.ts";
import type { Content } from "../../../cuda-runtime/session/kernel-timer.ts";
import type { LadderRung, LadderWork, Operands, Reference } from "./work.ts";

export interface ResampleSize {
  readonly batch: number;
  readonly source: number;
  readonly target: number;
  readonly features: number;
}

/** Bandwidth alone, and what a launch and a search cost beside it. */
const sizes: readonly ResampleSize[] = [
  { batch: 64, source: 4096, target: 1024, features: 1024 },
  { batch: 32, source: 500, target: 250, features: 256 },
];
const type = "bfloat16" satisfies FloatStorage;

export const resampleWorks: readonly LadderWork[] = sizes.map(workOf);

function workOf(size: ResampleSize): LadderWork {
  const { batch, source, target, features } = size;
  const targets = targetTimes(size);
  const bytes = leastBytes(size, targets);
  const own = (rung: LadderResampleRung, name: string, change: string): LadderRung => ({
    ...{ name, change },
    emit: (set) => {
      const operands = operandsOf(set, size, targets);
      emitLadderResample(set.emitter, operands, rung);
      return operands.y;
    },
    reference: (contents) => resampleElement(size, targets, contents(type, 1)),
  });
  const elements = own(
    "element",
    "a thread an element",
    "A thread computes one element: it looks for its time among all source times by itself.",
  );
  return {
    title: `BF16 ${batch} × ${source} → ${target} × ${features}`,
    product: undefined,
    flops: 3 * batch * target * features,
    leastBytes: bytes,
    dramBytes: bytes,
    // Of half of the last place.
    tolerance: 5e-3,
    rungs: [
      elements,
      own(
        "row",
        "a warp a row",
        "A warp has a target row: one search and one weight serve all of its elements, which lie next to each other.",
      ),
      own(
        "vectors",
        "16-byte vectors",
        "A lane loads and stores eight elements at once: a warp moves 512 bytes an instruction.",
      ),
      own(
        "lanes",
        "search by all lanes",
        "The lanes of a warp ask 32 source times at once: a search waits for memory three times instead of twelve.",
      ),
      {
        name: "planner's kernel",
        change:
          "Blocks that stay search in shared memory for many rows at once, and have the loads of several under way: the kernel that plans launch.",
        emit: (set) => emitPlanned(set, size, targets),
        reference: elements.reference,
      },
    ],
    bounds: () => [],
    peer: {
      name: "PyTorch's gather and lerp",
      operation: { op: "resample", batch, source, target, features, dtype: "bf16" },
    },
  };
}

interface ResampleOperands {
  readonly x: View;
  readonly y: View;
  readonly times: View;
  readonly targets: View;
}

function operandsOf(
  set: Operands,
  { batch, source, target, features }: ResampleSize,
  targets: Float32Array,
): ResampleOperands {
  const times = Array.from({ length: batch * source }, (_, at) => at % source);
  return {
    x: set.tensor("input", type, [batch, source, features], 1),
    y: set.output(type, [batch, target, features]),
    times: set.emitter.constant("float32", [batch, source], times),
    targets: set.emitter.constant("float32", [batch, target], [...targets]),
  };
}

function emitPlanned(set: Operands, size: ResampleSize, targets: Float32Array): View {
  const operands = operandsOf(set, size, targets);
  emitResample(set.emitter, {
    ...operands,
    isInclusive: true,
    low: { shift: -1, least: 0, most: size.source - 2 },
    high: { shift: 0, least: 1, most: size.source - 1 },
    weight: { ...plainWeight, least: 0, most: 1 },
    blend: "oneProduct",
  });
  return operands.y;
}

/** Sorted, over the whole range of source times 0, 1, 2 …; a batch's own. */
export function targetTimes({ batch, source, target }: ResampleSize): Float32Array {
  const all = new Float32Array(batch * target);
  let state = 1;
  for (let b = 0; b < batch; b++) {
    const own = Float32Array.from({ length: target }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return ((state >>> 8) / 2 ** 24) * (source - 1);
    });
    all.set(own.sort(), b * target);
  }
  return all;
}

/** Source rows, each once. */
export function rowsAskedFor({ batch, target }: ResampleSize, targets: Float32Array): number {
  let count = 0;
  for (let b = 0; b < batch; b++) {
    const own = targets.subarray(b * target, (b + 1) * target);
    count += new Set([...own].flatMap((time) => [Math.floor(time), Math.floor(time) + 1])).size;
  }
  return count;
}

function leastBytes(size: ResampleSize, targets: Float32Array): number {
  const { batch, source, target, features } = size;
  const rows = rowsAskedFor(size, targets) + batch * target;
  return rows * features * bytesOfType(type) + 4 * batch * (source + target);
}

/** Of a packed result; source times are 0, 1, 2 … */
export function resampleElement(
  { source, target, features }: ResampleSize,
  targets: Float32Array,
  x: Content,
): Reference {
  return (index) => {
    const row = Math.floor(index / features);
    const time = targets[row] ?? Number.NaN;
    const low = Math.min(Math.floor(time), source - 2);
    const from = (Math.floor(row / target) * source + low) * features + (index % features);
    return x.at(from) + (time - low) * (x.at(from + features) - x.at(from));
  };
}
