/**
 * @file NonMaxSuppression as ONNX defines it and ONNX Runtime computes it: every operation rounded to float32, of equal
 * scores the box of the lower index first.
 */
import { textOf } from "../../src/ir/message.ts";
import { HostError, type HostInputs, type HostOperator, type HostTensor, inputAt } from "./operator.ts";

const { fround } = Math;

export const nonMaxSuppression: HostOperator = {
  nanosecondsPerElement: 3,
  largest([, scores, most]) {
    const [batches = 0, classes = 0, boxes = 0] = scores?.shape ?? [];
    const each = Math.min(boxes, Math.max(0, most === undefined ? 0 : (most.elements?.[0] ?? boxes)));
    return [[batches * classes * each, 3]];
  },
  run(inputs, attributes) {
    const { boxes, scores, sizes, most, overlap, threshold } = requestOf(inputs);
    const isCentered = attributes.int("center_point_box") === 1;
    const selected: number[] = [];
    for (let batch = 0; batch < sizes.batches && most > 0; batch++) {
      const corners = new Corners(boxes, batch * sizes.boxes, sizes.boxes, isCentered);
      for (let kind = 0; kind < sizes.classes; kind++) {
        const first = (batch * sizes.classes + kind) * sizes.boxes;
        const candidates = candidatesOf(scores, first, sizes.boxes, threshold);
        for (const box of suppressed(candidates, corners, overlap, most)) selected.push(batch, kind, box);
      }
    }
    return [{ type: "int64", shape: [selected.length / 3, 3], values: selected }];
  },
};

interface Request {
  readonly boxes: ArrayLike<number>;
  readonly scores: ArrayLike<number>;
  readonly sizes: { readonly batches: number; readonly classes: number; readonly boxes: number };
  /** Boxes of a class. */
  readonly most: number;
  /** Of intersection over union: more than this suppresses. */
  readonly overlap: number;
  /** Scores have to be greater; undefined: all boxes count. */
  readonly threshold: number | undefined;
}

function requestOf(inputs: HostInputs): Request {
  const [boxes, scores] = [inputAt(inputs, 0), inputAt(inputs, 1)];
  const [batches = 0, classes = 0, count = 0] = scores.shape;
  const isFitting = scores.shape.length === 3 && String(boxes.shape) === String([batches, count, 4]);
  if (!isFitting)
    throw new HostError(
      textOf`boxes are ${boxes.shape} and scores ${scores.shape}, expected [batches, boxes, 4] and [batches, classes, boxes]`,
    );
  const overlap = scalarAt(inputs, 3) ?? 0;
  if (!(overlap >= 0 && overlap <= 1))
    throw new HostError(textOf`iou_threshold is ${overlap}, expected 0 to 1`);
  return {
    boxes: boxes.values,
    scores: scores.values,
    sizes: { batches, classes, boxes: count },
    most: scalarAt(inputs, 2) ?? 0,
    overlap: fround(overlap),
    threshold: scalarAt(inputs, 4),
  };
}

function scalarAt(inputs: HostInputs, index: number): number | undefined {
  const input: HostTensor | undefined = inputs[index];
  return input?.values[0];
}

interface Candidate {
  readonly box: number;
  readonly score: number;
}

/** The best first. A score that is no number is better than none. */
function candidatesOf(
  scores: ArrayLike<number>,
  first: number,
  count: number,
  threshold: number | undefined,
): Candidate[] {
  const candidates: Candidate[] = [];
  for (let box = 0; box < count; box++) {
    const score = scores[first + box] ?? Number.NaN;
    if (threshold === undefined || score > threshold) candidates.push({ box, score });
  }
  return candidates.sort((a, b) => (b.score > a.score ? 1 : b.score < a.score ? -1 : a.box - b.box));
}

/** Boxes kept: each overlaps none that was kept before it by more than `overlap`. */
function suppressed(
  candidates: readonly Candidate[],
  corners: Corners,
  overlap: number,
  most: number,
): number[] {
  const kept: number[] = [];
  for (const { box } of candidates) {
    if (kept.length >= most) break;
    if (!kept.some((other) => corners.overlap(box, other, overlap))) kept.push(box);
  }
  return kept;
}

/** Boxes of a batch by the least and the greatest of their coordinates. */
class Corners {
  /** x and y of one corner, x and y of the other, box by box. */
  readonly #corners: Float32Array;

  constructor(boxes: ArrayLike<number>, first: number, count: number, isCentered: boolean) {
    this.#corners = new Float32Array(4 * count);
    for (let box = 0; box < count; box++) {
      const at = 4 * (first + box);
      const four = [boxes[at] ?? 0, boxes[at + 1] ?? 0, boxes[at + 2] ?? 0, boxes[at + 3] ?? 0] as const;
      this.#corners.set(isCentered ? fromCenter(four) : fromCorners(four), 4 * box);
    }
  }

  overlap(a: number, b: number, threshold: number): boolean {
    const c = this.#corners;
    const at = (box: number, part: number) => c[4 * box + part] ?? 0;
    const left = Math.max(at(a, 0), at(b, 0));
    const right = Math.min(at(a, 2), at(b, 2));
    if (right <= left) return false;
    const top = Math.max(at(a, 1), at(b, 1));
    const bottom = Math.min(at(a, 3), at(b, 3));
    if (bottom <= top) return false;
    const shared = fround(fround(right - left) * fround(bottom - top));
    if (shared <= 0) return false;
    const own = this.#area(a);
    const other = this.#area(b);
    const union = fround(fround(own + other) - shared);
    if (own <= 0 || other <= 0 || union <= 0) return false;
    return fround(shared / union) > threshold;
  }

  #area(box: number): number {
    const c = this.#corners;
    const width = fround((c[4 * box + 2] ?? 0) - (c[4 * box] ?? 0));
    const height = fround((c[4 * box + 3] ?? 0) - (c[4 * box + 1] ?? 0));
    return fround(width * height);
  }
}

type Four = readonly [number, number, number, number];

/** [y, x, y, x] of any two opposite corners. */
function fromCorners([y1, x1, y2, x2]: Four): Four {
  return [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)];
}

/** [x, y, width, height] around a center. */
function fromCenter([x, y, width, height]: Four): Four {
  const [across, down] = [fround(width / 2), fround(height / 2)];
  return [fround(x - across), fround(y - down), fround(x + across), fround(y + down)];
}
