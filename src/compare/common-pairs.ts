/** @file The longest common subsequence of two lists (Myers, An O(ND) difference algorithm, 1986). */

/** Beyond so many insertions and deletions two lists have little in common, and the search is quadratic in them. */
const mostEdits = 2000;

/** Of places in `a`, those in `b`, in order; undefined where too much differs. */
export function commonPairs(
  a: readonly number[],
  b: readonly number[],
): ReadonlyMap<number, number> | undefined {
  const pairs = new Map<number, number>();
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) pairs.set(start, start++);
  let [endA, endB] = [a.length, b.length];
  const ends: [number, number][] = [];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) ends.push([--endA, --endB]);
  const between = matchedBetween(a.slice(start, endA), b.slice(start, endB));
  if (between === undefined) return undefined;
  for (const [x, y] of between) pairs.set(start + x, start + y);
  for (const [x, y] of ends.reverse()) pairs.set(x, y);
  return pairs;
}

/** How far each diagonal reaches after so many edits: `reach[k + edits]`, for diagonals k = x - y from -edits to edits. */
type Reach = Int32Array;

function matchedBetween(a: readonly number[], b: readonly number[]): [number, number][] | undefined {
  const history: Reach[] = [];
  for (let edits = 0; edits <= Math.min(mostEdits, a.length + b.length); edits++) {
    const reach = reachAfter(edits, history.at(-1), a, b);
    history.push(reach);
    const end = a.length - b.length;
    if (Math.abs(end) <= edits && (reach[end + edits] ?? -1) >= a.length) return walkedBack(history, a, b);
  }
  return undefined;
}

function reachAfter(
  edits: number,
  before: Reach | undefined,
  a: readonly number[],
  b: readonly number[],
): Reach {
  const reach = new Int32Array(2 * edits + 1).fill(-1);
  for (let k = -edits; k <= edits; k += 2) {
    let x = before === undefined ? 0 : firstOn(k, edits, before);
    if (x < 0 || x > a.length || x - k > b.length) continue;
    while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
    reach[k + edits] = x;
  }
  return reach;
}

/** From the neighbour that reaches farther: one more of `b` from above, one more of `a` from below. */
function firstOn(k: number, edits: number, before: Reach): number {
  const at = (diagonal: number) => before[diagonal + edits - 1] ?? -1;
  const [down, right] = [at(k + 1), at(k - 1) < 0 ? -1 : at(k - 1) + 1];
  return Math.max(down, right);
}

function walkedBack(
  history: readonly Reach[],
  a: readonly number[],
  b: readonly number[],
): [number, number][] {
  const pairs: [number, number][] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = history.length - 1; edits >= 0; edits--) {
    const before = history[edits - 1];
    const first = before === undefined ? 0 : firstOn(x - y, edits, before);
    for (; x > first; x--, y--) pairs.push([x - 1, y - 1]);
    if (before === undefined) break;
    const isFromAbove = (before[x - y + edits] ?? -1) === first;
    if (isFromAbove) y -= 1;
    else x -= 1;
  }
  return pairs.reverse();
}
