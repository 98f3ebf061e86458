/**
 * @file What padding may make of infinite inputs: a fix assumes that products read finite numbers (docs/fixing.md). A
 * padded lane is infinity · 0 there, NaN, and NaN is what sums over it become.
 *
 * Left to that assumption is a NaN where the original gives an infinity, or where it gives a number that an infinity of
 * the other sign does not leave one (Relu, Exp). Where it gives numbers for both signs (Tanh, Clip), padding keeps off,
 * and NaN refutes it. Whatever is no NaN is compared as ever.
 */
import type { DrawKind } from "./inputs.ts";
import type { Judged } from "./judge.ts";
import { drawText, type Run } from "./plan.ts";
import { isFloatTensor, numbersOf, type Tensor, type Tensors, tensorOf } from "./tensor.ts";

export interface Forgiven {
  /** With what is expected in place of each such NaN. */
  readonly tensor: Tensor;
  readonly count: number;
}

/** @param mirrored What the original gives with each infinity of the inputs negated; the shape of both. */
export function forgive(expected: Tensor, actual: Tensor, mirrored: Tensor | undefined): Forgiven {
  if (!isFloatTensor(expected) || actual.dtype === "string" || expected.dims.join() !== actual.dims.join())
    return { tensor: actual, count: 0 };
  const [wanted, found] = [numbersOf(expected), numbersOf(actual)];
  const other = mirrored !== undefined && isFloatTensor(mirrored) ? numbersOf(mirrored) : undefined;
  let count = 0;
  const numbers = Float64Array.from(found, (value, i) => {
    const want = wanted[i] ?? Number.NaN;
    if (!Number.isNaN(value) || Number.isNaN(want)) return value;
    const isOpen = !Number.isFinite(want) || (other !== undefined && !Number.isFinite(other[i]));
    count += isOpen ? 1 : 0;
    return isOpen ? want : value;
  });
  return count === 0
    ? { tensor: actual, count }
    : { tensor: tensorOf(actual.dtype, actual.dims, numbers), count };
}

/** Of the inputs of a run; undefined where none is infinite. */
export function mirrored({ inputs }: Run): Tensors | undefined {
  let found = false;
  const flipped = [...inputs].map(([name, tensor]) => {
    const { dtype, dims } = tensor;
    if (dtype === "string" || !isFloatTensor(tensor)) return [name, tensor] as const;
    const numbers = Float64Array.from(numbersOf(tensor));
    found ||= numbers.some(isInfinite);
    const negated = numbers.map((value) => (isInfinite(value) ? -value : value));
    return [name, tensorOf(dtype, dims, negated)] as const;
  });
  return found ? new Map(flipped) : undefined;
}

/** Draws that hold infinities, or numbers of which sums make them. */
export const mayBeInfinite: ReadonlySet<DrawKind> = new Set(["infinity", "huge"]);

/** What was not compared for that reason. */
export function beyondNotices(judged: readonly Judged[]): string[] {
  return judged.flatMap(({ run, beyond }) => {
    const [first, ...more] = beyond;
    if (first === undefined) return [];
    const others = more.length > 0 ? ` and ${more.length} more` : "";
    const where = `output "${first[0]}"${others} may be NaN where a product reads infinity`;
    return [`${where} (${drawText(run.draw)}): a fix assumes that none does`];
  });
}

function isInfinite(value: number): boolean {
  return Math.abs(value) === Number.POSITIVE_INFINITY;
}
