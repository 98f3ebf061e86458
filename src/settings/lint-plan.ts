/** @file One model's lint run as plain data: what a worker thread is sent, and what it answers. */
import type { Precision } from "../hardware/target.ts";
import type { ModelReport } from "../lint/result.ts";
import type { Given } from "./given-flags.ts";
import type { ResolvedSettings } from "./resolve.ts";
import type { Scenario } from "./scenarios.ts";

export interface LintPlan {
  /** As reports show it; opens from where the user stands. */
  readonly path: string;
  readonly settings: ResolvedSettings;
  /** Which of several this is; undefined where the model is linted once. */
  readonly scenario?: Scenario | undefined;
  /** Files of one profile, whose times stand for predictions. */
  readonly profiles?: readonly string[];
  /** Whether somebody named its precision: else a profile that says what it ran in decides. */
  readonly isPrecisionStated?: boolean;
  /** Where a flag names its precision, what it would be without: for that a fix is decided which is given without the flag. */
  readonly unflagged?: Precision | undefined;
  /** What the command line says, for the commands of its report; absent where no command line asked. */
  readonly given?: Given | undefined;
  /** Whether the report lists every layer. */
  readonly layers: boolean;
  /** Whether it has what is drawn: the graph around findings, and what the target could reach. */
  readonly drawings?: boolean;
  /** Whether it lists all findings, also those that save too little, or perhaps nothing. */
  readonly verbose: boolean;
  /** Whether it lists what was switched off. */
  readonly suppressed?: boolean;
  /** Whether metadata that switches off what is not found has a notice. */
  readonly reportUnused?: boolean;
  /** Inputs and dimensions that this model must have; other sizes of the settings are passed over where it lacks them. */
  readonly mustHave: readonly string[];
  /** Why nothing is done with it: its configuration, where others of the run have one of their own. */
  readonly refused?: { readonly code: string; readonly message: string } | undefined;
  /** Where outcomes are kept; undefined: nowhere. */
  readonly cache?: CachePlan | undefined;
}

export const cacheStrategies = ["content", "metadata"] as const;

export interface CachePlan {
  readonly folder: string;
  /** `metadata`: a file of the same size and time is the same file. */
  readonly strategy: (typeof cacheStrategies)[number];
  /** Which tc-lint it is, to the byte. */
  readonly build: string;
}

export interface LintOutcome {
  readonly report: ModelReport;
  /** Inputs and dimensions of the plan that this model has. */
  readonly bound: readonly string[];
  /** Set where the plan's calibration prices nothing that decides a fix: it is of another target. */
  readonly isCalibrationIdle?: true | undefined;
  /** How many samples a run computes, where the model has a batch; undefined where that is not known. */
  readonly samples?: number | undefined;
  /** Files beside the model that hold its weights. */
  readonly weights: readonly string[];
  /** A bug in tc-lint, with its stack; the report's `error` names it. */
  readonly bug?: string;
  /** Whether it was known from a run before; absent where nothing is kept. `problem`: why it could not be. */
  readonly cache?: { readonly isHit: boolean; readonly problem?: string } | undefined;
}
