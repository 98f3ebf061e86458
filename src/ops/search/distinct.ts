/** @file Unique of elements that are known: distinct elements, or slices along an axis, and where they are. */
import { product } from "../../ir/dim.ts";
import { normalizeAxis } from "../shape.ts";

export interface Distinct {
  /** Of the first output: the input's, but along the axis. */
  readonly shape: readonly number[];
  readonly elements: readonly number[];
  /** Where each was first. */
  readonly first: readonly number[];
  /** Which one each element, or slice, of the input is. */
  readonly inverse: readonly number[];
  readonly counts: readonly number[];
}

interface Found {
  readonly slice: readonly number[];
  readonly places: number[];
}

/** Without an axis each element counts for itself. Not sorted: in the order of occurrence. */
export function distinctElements(
  elements: readonly number[],
  sizes: readonly number[],
  { named, isSorted }: { readonly named: number | undefined; readonly isSorted: boolean },
): Distinct {
  const axis = named === undefined ? 0 : normalizeAxis(named, sizes.length);
  const shape = named === undefined ? [elements.length] : sizes;
  const inner = Number(product(shape.slice(axis + 1)));
  const length = shape[axis] ?? 1;
  const slices: number[][] = Array.from({ length }, () => []);
  for (const [at, element] of elements.entries()) slices[Math.floor(at / inner) % length]?.push(element);
  const found = [...groups(slices).values()];
  if (isSorted) found.sort((a, b) => compare(a.slice, b.slice));
  const inverse = new Array<number>(length).fill(0);
  for (const [rank, { places }] of found.entries()) for (const place of places) inverse[place] = rank;
  return {
    shape: shape.with(axis, found.length),
    elements: joined(
      found.map(({ slice }) => slice),
      inner,
    ),
    first: found.map(({ places }) => places[0] ?? 0),
    inverse,
    counts: found.map(({ places }) => places.length),
  };
}

function groups(slices: readonly (readonly number[])[]): Map<string, Found> {
  const found = new Map<string, Found>();
  for (const [place, slice] of slices.entries()) {
    const key = slice.join();
    const known = found.get(key);
    if (known === undefined) found.set(key, { slice, places: [place] });
    else known.places.push(place);
  }
  return found;
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((element, index) => element !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** Row-major elements of slices that lie side by side, `inner` neighbours of each at a time. */
function joined(slices: readonly (readonly number[])[], inner: number): number[] {
  const outer = (slices[0]?.length ?? 0) / inner;
  return Array.from({ length: outer }, (_, row) =>
    slices.flatMap((slice) => slice.slice(row * inner, (row + 1) * inner)),
  ).flat();
}
