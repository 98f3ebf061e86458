/** @file Outputs of which little or nothing was compared. */
import { InputError } from "../ir/errors.ts";
import type { Judged } from "./judge.ts";
import { isFloatTensor, numbersOf } from "./tensor.ts";

/** Throws InputError `nothing-compared` where every output of every run is empty: that tells nothing. */
export function refuseNothing(original: string, judged: readonly Judged[]): void {
  const tensors = judged.flatMap(({ run }) => [...run.expected.values()]);
  if (tensors.length === 0 || !tensors.every(({ dims }) => dims.includes(0))) return;
  throw new InputError(
    "nothing-compared",
    `${original}: every output is empty at these sizes, so there is nothing to compare; --dim gives others`,
  );
}

/** An output that is nowhere a number was compared by its NaN alone. */
export function emptyNotices(judged: readonly Judged[]): string[] {
  const names = new Set(judged.flatMap(({ outputs }) => outputs.map(({ name }) => name)));
  return [...names].flatMap((name) => {
    const all = judged.flatMap(({ run }) => run.expected.get(name) ?? []).filter(isFloatTensor);
    const isEmpty =
      all.length > 0 && all.every((tensor) => !Array.from(numbersOf(tensor)).some(Number.isFinite));
    return isEmpty ? [`output "${name}" of the original holds no finite number in any run`] : [];
  });
}
