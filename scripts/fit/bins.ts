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

/** Midpoints between neighbouring values, where there are too many so that bins hold alike many rows; what many rows share is a bin of its own. */
function thresholdsOf(column: readonly number[], bins: number): Float32Array {
  const counts = new Map<number, number>();
  for (const value of column) counts.set(value, (counts.get(value) ?? 0) + 1);
  const values = [...counts.keys()].sort((a, b) => a - b);
  const cuts = new Set<number>();
  let [left, free, held] = [column.length, bins, 0];
  for (const [index, value] of values.entries()) {
    const above = values[index + 1];
    if (above === undefined || free <= 1) break;
    const [own, next] = [counts.get(value) ?? 0, counts.get(above) ?? 0];
    held += own;
    const fill = values.length <= bins ? 0 : left / free;
    // A value that fills more than half a bin begins one.
    if (held < fill && !(next >= fill && held >= fill / 2)) continue;
    cuts.add(Math.fround((value + above) / 2));
    left -= held;
    free--;
    held = 0;
  }
  return Float32Array.from([...cuts].sort((a, b) => a - b));
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
