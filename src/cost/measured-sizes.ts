/**
 * @file Recurrent layers between the sizes that were measured. The fit saw few sizes of the state and of the input, of which one is off the multiple of 8
 * and the others are powers of two: what it makes of any other is where its thresholds happen to lie, and cuDNN's cliffs are elsewhere.
 */
import { invariant } from "../ir/errors.ts";
import type { RecurrentWork } from "../ops/work.ts";

/** Of bench/measurements/h200-pytorch-2026-11-21-seed2.jsonl, in ascending order. */
const measured = { hiddenSize: [64, 100, 128, 256, 512], inputSize: [64, 100, 256, 512] } as const;

type Axis = keyof typeof measured;

export interface Weighted<T> {
  readonly of: T;
  /** Of all, which add up to 1. */
  readonly weight: number;
}

/** Layers of measured sizes around one, by how near they are on a logarithmic scale. */
export function measuredAround(work: RecurrentWork<number>): readonly Weighted<RecurrentWork<number>>[] {
  return around("hiddenSize", work.hiddenSize).flatMap(({ of: hiddenSize, weight }) =>
    around("inputSize", work.inputSize).map((input) => ({
      of: { ...work, hiddenSize, inputSize: input.of },
      weight: weight * input.weight,
    })),
  );
}

function around(axis: Axis, size: number): readonly Weighted<number>[] {
  const above = measured[axis].find((each) => each >= size);
  const below = measured[axis].findLast((each) => each <= size);
  const nearest = above ?? below;
  invariant(nearest !== undefined, "some sizes were measured");
  if (above === undefined || below === undefined || above === below) return [{ of: nearest, weight: 1 }];
  const part = Math.log(size / below) / Math.log(above / below);
  return [
    { of: below, weight: 1 - part },
    { of: above, weight: part },
  ];
}

/** Where a size is outside of all that were measured: `at` with it, whose time its terms tell of; undefined where none is. */
export function outside(
  work: RecurrentWork<number>,
  at: RecurrentWork<number>,
): RecurrentWork<number> | undefined {
  const hiddenSize = outsideOf("hiddenSize", work.hiddenSize);
  const inputSize = outsideOf("inputSize", work.inputSize);
  if (hiddenSize === undefined && inputSize === undefined) return undefined;
  return { ...at, hiddenSize: hiddenSize ?? at.hiddenSize, inputSize: inputSize ?? at.inputSize };
}

/** Of what alignment is worth there nothing was measured: the next multiple takes as long. */
function outsideOf(axis: Axis, size: number): number | undefined {
  const sizes = measured[axis];
  const isOutside = size < sizes[0] || size > (sizes.at(-1) ?? size);
  return isOutside ? Math.ceil(size / multiple) * multiple : undefined;
}

/** Halves in the 16 bytes of one load. */
const multiple = 8;
