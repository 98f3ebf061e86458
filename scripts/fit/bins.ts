/** @file Feature columns as small integers: a value's bin is the number of thresholds below it. */

export interface Binned {
  readonly rows: number;
  readonly features: number;
  /** Column-major. */
  readonly bins: Uint8Array;
  readonly thresholds: readonly Float32Array[];
}

export function binned(rows: readonly (readonly number[])[], bins: number): Binned {
  const features = rows[0]?.length ?? 0;
  const table = new Uint8Array(rows.length * features);
  const thresholds: Float32Array[] = [];
  for (let feature = 0; feature < features; feature++) {
    const column = rows.map((row) => at(row, feature));
    const cuts = thresholdsOf(column, bins);
    thresholds.push(cuts);
    for (const [row, value] of column.entries()) table[feature * rows.length + row] = binOf(cuts, value);
  }
  return { rows: rows.length, features, bins: table, thresholds };
}

/** Midpoints between neighbouring values, at quantiles where there are too many. */
function thresholdsOf(column: readonly number[], bins: number): Float32Array {
  const sorted = [...column].sort((a, b) => a - b);
  const cuts = new Set<number>();
  const distinct = new Set(sorted).size;
  const steps = distinct <= bins ? sorted.length : bins;
  for (let step = 1; step < steps; step++) {
    const index = Math.floor((step * sorted.length) / steps);
    const [below, above] = [sorted[index - 1], sorted[index]];
    if (below !== undefined && above !== undefined && below < above)
      cuts.add(Math.fround((below + above) / 2));
  }
  return Float32Array.from([...cuts].sort((a, b) => a - b).slice(0, bins - 1));
}

export function binOf(thresholds: Float32Array, value: number): number {
  let [low, high] = [0, thresholds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(thresholds, middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** An index that a loop keeps inside. */
export function at<T>(list: ArrayLike<T>, index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`index ${index} of ${list.length}`);
  return value;
}
