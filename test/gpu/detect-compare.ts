/** @file Two lists of detections of one image: what is the same, what rounding may have decided, what is wrong. */

export interface Detection {
  readonly score: number;
  readonly kind: number;
  /** Left, top, right, bottom. */
  readonly box: readonly number[];
}

export interface DetectionOptions {
  readonly threshold: number;
  /** Scores this near to each other may come in either order; of coordinates, times the image's size. */
  readonly tie: number;
}

export interface DetectionResult {
  readonly expected: number;
  readonly found: number;
  /** Detections that both have, in the same place of the list or of scores that tie. */
  readonly same: number;
  /** Of one list alone: at the threshold, at the end of the list, or beside one of the other list that is as good. */
  readonly excused: number;
  readonly wrong: number;
  readonly maximumScoreError: number;
  readonly maximumBoxError: number;
}

/** Pixels that the tolerance of coordinates is relative to. */
const imagePixels = 320;

export function compareDetections(
  expected: readonly Detection[],
  found: readonly Detection[],
  { threshold, tie }: DetectionOptions,
): DetectionResult {
  const rest = new Set(found);
  const missing: Detection[] = [];
  let [same, scoreError, boxError] = [0, 0, 0];
  for (const one of expected) {
    const twin = [...rest].find((other) => isSame(one, other, tie));
    if (twin === undefined) {
      missing.push(one);
      continue;
    }
    rest.delete(twin);
    same++;
    scoreError = Math.max(scoreError, Math.abs(one.score - twin.score));
    boxError = Math.max(boxError, ...one.box.map((side, index) => Math.abs(side - (twin.box[index] ?? 0))));
  }
  const ends = [expected, found].flatMap((list) => list.at(-1)?.score ?? []);
  const isExcused = (one: Detection, others: readonly Detection[]) =>
    Math.abs(one.score - threshold) <= tie ||
    ends.some((end) => Math.abs(one.score - end) <= tie) ||
    others.some((other) => other.kind === one.kind && Math.abs(other.score - one.score) <= tie);
  const extra = [...rest];
  const excused = [
    ...missing.filter((one) => isExcused(one, found)),
    ...extra.filter((one) => isExcused(one, expected)),
  ].length;
  return {
    expected: expected.length,
    found: found.length,
    same,
    excused,
    wrong: missing.length + extra.length - excused + outOfOrder(found, tie),
    maximumScoreError: scoreError,
    maximumBoxError: boxError,
  };
}

function isSame(a: Detection, b: Detection, tie: number): boolean {
  return (
    a.kind === b.kind &&
    Math.abs(a.score - b.score) <= tie &&
    a.box.every((side, index) => Math.abs(side - (b.box[index] ?? Number.NaN)) <= tie * imagePixels)
  );
}

/** The best come first. */
function outOfOrder(found: readonly Detection[], tie: number): number {
  return found.filter(({ score }, index) => index > 0 && score > (found[index - 1]?.score ?? 0) + tie).length;
}
