/** @file What measuring kernels against each other made of a plan: plain data. */
import type { Difference } from "../../fix/measured.ts";

/** A way to compute a step, with its copies and the sum of its splits. */
export interface TunedWay {
  /** Tile and variant, as the printed plan has them. */
  readonly what: string;
  readonly predictedMicroseconds: number;
  readonly measuredMicroseconds: number;
}

/** Steps of one kind, all of which take another kernel than the predicted one. */
export interface TunedStep {
  readonly operator: string;
  /** Nodes; the first of them. */
  readonly places: number;
  readonly label: string;
  readonly predicted: TunedWay;
  readonly chosen: TunedWay;
}

export interface AutotuneReport {
  /** Kinds of steps that have a choice; equal ones count once. */
  readonly kinds: number;
  /** Of these: measured now, known from before, and left to prediction when time was up. Others have one candidate. */
  readonly measured: number;
  readonly known: number;
  readonly left: number;
  readonly seconds: number;
  /** What gains most in a run first. */
  readonly changed: readonly TunedStep[];
  /** Of whole runs, each from a cold L2, as predicted and as measured in turns; null where nothing changed. */
  readonly microseconds: Difference | null;
  /** Whether the changed plan is the one that ran: where the whole gains nothing beyond noise, it is not. */
  readonly kept: boolean;
  /** Why nothing was tuned, if so. */
  readonly refused: string | null;
}
