/** @file Lists as long as a file says: a call has arguments for some ten thousands of elements, and ends in a RangeError beyond. */

/** `target.push(...items)` for any number of items. */
export function pushAll<Item>(target: Item[], items: Iterable<Item>): void {
  for (const item of items) target.push(item);
}

/** `Math.max(...numbers)` likewise: -Infinity for none, NaN where one is. */
export function maxOf(numbers: Iterable<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const number of numbers) most = Math.max(most, number);
  return most;
}

/** `Math.min(...numbers)` likewise: Infinity for none, NaN where one is. */
export function minOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const number of numbers) least = Math.min(least, number);
  return least;
}

/**
 * The most negative and the most positive finite one; 0 where there is none. By index: iterating over as many elements as weights have takes three times as
 * long until it is compiled, which a function of little else is soon.
 */
export function finiteRange(numbers: ArrayLike<number>): {
  readonly lowest: number;
  readonly highest: number;
} {
  let [lowest, highest] = [0, 0];
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index] ?? 0;
    if (number < lowest && number !== -Infinity) lowest = number;
    if (number > highest && number !== Infinity) highest = number;
  }
  return { lowest, highest };
}
