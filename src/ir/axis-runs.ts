/** @file Where the true elements of a padded axis are, as runs: as many as its structure asks for, however long it is. */
import { type Axis, type PaddedSizes, paddedSize, resolveAxis, sizeOfAxis } from "./axis.ts";

/** Consecutive positions of a padded axis. */
export interface IndexRun {
  /** True index of the first, the others following; -1 in padded lanes. */
  readonly from: number;
  readonly length: number;
}

/** The padded axis from its start, in as few runs as there can be. */
export function indexRuns(axis: Axis, sizes: PaddedSizes): readonly IndexRun[] {
  const runs: IndexRun[] = [];
  place(axis, sizes, 0, runs);
  return runs;
}

/** Appends the runs of an axis whose true index 0 is `base`. */
function place(axis: Axis, sizes: PaddedSizes, base: number, into: IndexRun[]): void {
  const whole = resolveAxis(axis);
  const [size, padded] = [sizeOfAxis(whole), paddedSize(whole, sizes)];
  if (size === padded) return append(into, base, size);
  if (size === 0) return append(into, -1, padded);
  if (whole.kind === "atom") {
    append(into, base, size);
    return append(into, -1, padded - size);
  }
  if (whole.kind === "product") return placeProduct(whole.factors, sizes, base, into);
  let before = base;
  for (const part of whole.parts) {
    place(part, sizes, before, into);
    before += sizeOfAxis(part);
  }
}

function placeProduct(
  [outer, ...inner]: readonly Axis[],
  sizes: PaddedSizes,
  base: number,
  into: IndexRun[],
): void {
  if (outer === undefined) return append(into, base, 1);
  const rest: Axis = { kind: "product", factors: inner };
  const [step, padded] = [sizeOfAxis(rest), paddedSize(rest, sizes)];
  for (const { from, length } of indexRuns(outer, sizes)) {
    if (from < 0) append(into, -1, length * padded);
    else if (step === padded) append(into, base + from * step, length * step);
    else for (let at = 0; at < length; at++) place(rest, sizes, base + (from + at) * step, into);
  }
}

function append(into: IndexRun[], from: number, length: number): void {
  if (length === 0) return;
  const last = into.at(-1);
  const joins =
    last !== undefined && (from < 0 ? last.from < 0 : last.from >= 0 && last.from + last.length === from);
  if (joins) into[into.length - 1] = { from: last.from, length: last.length + length };
  else into.push({ from, length });
}

/** Whether all padded lanes follow all true ones. Takes no runs: an axis may have more of them than can be listed. */
export function isPaddedAtEnd(axis: Axis, sizes: PaddedSizes): boolean {
  const whole = resolveAxis(axis);
  const size = sizeOfAxis(whole);
  if (whole.kind === "atom" || size === 0 || paddedSize(whole, sizes) === size) return true;
  if (whole.kind === "sum") {
    const last = whole.parts.findLastIndex((part) => sizeOfAxis(part) > 0);
    return whole.parts.every((part, at) =>
      at < last ? paddedSize(part, sizes) === sizeOfAxis(part) : at > last || isPaddedAtEnd(part, sizes),
    );
  }
  const [outer, ...inner] = whole.factors;
  if (outer === undefined) return true;
  const rest: Axis = { kind: "product", factors: inner };
  if (paddedSize(rest, sizes) === sizeOfAxis(rest)) return isPaddedAtEnd(outer, sizes);
  return sizeOfAxis(outer) === 1 && isPaddedAtEnd(outer, sizes) && isPaddedAtEnd(rest, sizes);
}

/** For every padded index the true index, or -1 in a padded lane: for axes that are listed anyway. */
export function indexMap(axis: Axis, sizes: PaddedSizes): Int32Array {
  const map = new Int32Array(paddedSize(axis, sizes)).fill(-1);
  let at = 0;
  for (const { from, length } of indexRuns(axis, sizes)) {
    if (from >= 0) for (let offset = 0; offset < length; offset++) map[at + offset] = from + offset;
    at += length;
  }
  return map;
}
