/** @file What stands otherwise in a candidate that is the same within its budget: decisions that rounding turns. */
import { counted, significant } from "./format.ts";

/** What a comparison of one output found, as far as it is told here. */
interface Compared {
  readonly name: string;
  readonly difference: { readonly mismatches: number; readonly elements: number } | undefined;
  readonly allowed: { readonly mismatches: number } | undefined;
  readonly ties?: { readonly of: string; readonly within: number } | undefined;
}

/** Elements of one output, in the run where it came nearest to its limit. */
export interface Otherwise {
  readonly output: string;
  /** Of integers, truth and strings, those that are not equal; of floats, those that are no number in one of the models alone. */
  readonly differing: number;
  readonly elements: number;
  /** How many may: decisions that are ties where it is known what decides, else a share of what rounding weights and inputs turns. */
  readonly allowed: number;
  /** What decides, and by how much it may be apart to be a tie. */
  readonly ties?: Compared["ties"];
}

export function otherwiseIn(outputs: readonly Compared[]): Otherwise[] {
  return outputs.flatMap(({ name, difference, allowed, ties }) =>
    difference === undefined || allowed === undefined || difference.mismatches === 0
      ? []
      : {
          output: name,
          differing: difference.mismatches,
          elements: difference.elements,
          allowed: allowed.mismatches,
          ...(ties && { ties: { of: ties.of, within: ties.within } }),
        },
  );
}

/** `6 of 16384 elements stand otherwise, allowed 56: ties of "l", within 0.012`. */
export function otherwiseText({ differing, elements, allowed, ties }: Omit<Otherwise, "output">): string {
  const stand = differing === 1 ? "stands" : "stand";
  const which = ties === undefined ? "" : `: ties of ${ties.of}, within ${significant(ties.within)}`;
  return `${differing} of ${counted(elements, "element")} ${stand} otherwise, allowed ${allowed}${which}`;
}

/** ` but for 6 of 16384 elements of "m"`, behind a verdict; nothing where all are as they were. */
export function butFor(outputs: readonly Compared[]): string {
  const all = otherwiseIn(outputs).map(
    ({ output, differing, elements }) => `${differing} of ${counted(elements, "element")} of "${output}"`,
  );
  return all.length === 0 ? "" : ` but for ${all.join(", ")}`;
}
