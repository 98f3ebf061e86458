/** @file What a verification found: data only, ready for JSON. */
import type { Allowance, Budget } from "./budget.ts";
import type { Difference } from "./compare.ts";

/** One set of inputs that both models were run on. */
export interface DrawReport {
  /** `normal, seed 1`, or `given` for inputs of the user. */
  readonly name: string;
  /** Sizes of symbolic axes. */
  readonly sizes: Readonly<Record<string, number>>;
}

/** The comparison of one output in the run where it came nearest to its limit. */
export interface OutputReport {
  readonly name: string;
  readonly dtype: string;
  readonly dims: readonly number[];
  readonly same: boolean;
  /** Where types or shapes differ, there is nothing to measure. */
  readonly problem: string | undefined;
  readonly draw: string;
  readonly difference: Difference | undefined;
  readonly allowed: Allowance | undefined;
  /** Of decisions that rounding turns, where values are known that decide them. */
  readonly ties?: TieReport | undefined;
  /** It is within what is allowed, and that is so much that keeping to it proves nothing: not `same`. */
  readonly unproven?: true;
}

/** `allowed.mismatches` counts the ties: decisions between values that may be moved past each other. */
export interface TieReport {
  /** The values that decide, by name. */
  readonly of: string;
  /** By how much they may be apart to be a tie: as far as the budget of half precision lets them move. */
  readonly within: number;
  /** The largest of them. */
  readonly largest: number;
  /** Elements that differ, and are no tie. */
  readonly unexplained: number;
}

/** The value where the models part: everything it is computed from agrees. */
export interface DivergenceReport {
  readonly value: string;
  /** In the original. */
  readonly node: string;
  readonly operator: string;
  readonly draw: string;
  /** Undefined where its shape differs. */
  readonly difference: Difference | undefined;
  /** `has shape [8], expected [4]`, where it is no number that differs. */
  readonly problem: string | undefined;
  /** Under a half budget: what decides it agrees, and it is decided otherwise (an index, a comparison). */
  readonly isDecision: boolean;
}

export interface VerifyReport {
  readonly original: string;
  readonly candidate: string;
  readonly same: boolean;
  /** Why the models cannot be the same, before any number is compared: other inputs or outputs, or one that does not run. */
  readonly problems: readonly string[];
  readonly budget: Budget;
  /** Name and version of what ran the models. */
  readonly runtime: string;
  readonly draws: readonly DrawReport[];
  readonly outputs: readonly OutputReport[];
  readonly firstDivergence: DivergenceReport | undefined;
  /** What was not checked, and why. */
  readonly notices: readonly string[];
  readonly seconds: number;
}
