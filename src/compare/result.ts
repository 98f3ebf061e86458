/** @file What a comparison of two models says, as data: the JSON report's shape (version 1), and what every other format renders. */
import type { NodeChange, TensorChange } from "../fix/diff.ts";
import type { BudgetReport, ErrorReport, Finding, ModelReport, NoticeReport } from "../lint/result.ts";

/** Microseconds, or of `share` a part of the time before; above 0 is slower. The truth lies between `low` and `high` in nine cases of ten. */
export interface Difference {
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
}

/**
 * `same`: every kernel takes the time that it took. `slower`, `faster`: all of the interval is on one side of 0. `unclear`: it
 * holds 0, so that it supports no difference.
 */
export type ChangeVerdict = "same" | "slower" | "faster" | "unclear";

export interface TimeChange extends Difference {
  readonly verdict: ChangeVerdict;
  /** Of the time before, as are its bounds; 0 where that is 0. */
  readonly share: Difference["microseconds"];
  readonly shareLow: number;
  readonly shareHigh: number;
}

/** The same of both files computed in the types that they store. */
export interface StoredChange {
  /** Microseconds of one run. */
  readonly base: number;
  readonly head: number;
  readonly time: TimeChange;
}

/** A kernel that takes another time, one that is new, or one that is gone; named by its first node. */
export interface KernelChange {
  readonly node: string;
  readonly op: string;
  readonly graph: string;
  /** Of all runs; null where there is none. */
  readonly base: number | null;
  readonly head: number | null;
  readonly change: Difference;
}

/** One side of a comparison. */
export interface SideReport {
  readonly path: string;
  /** Of the model's file. */
  readonly fileBytes: number;
  /** Of tensors that it keeps in other files, whether they are there or not. */
  readonly externalBytes: number;
  readonly nodes: number;
  readonly parameters: number;
  readonly predicted: ModelReport["predicted"];
  readonly symbols: ModelReport["symbols"];
  readonly assumed: ModelReport["assumed"];
  /** Nodes without a prediction. */
  readonly skipped: number;
  readonly notices: readonly NoticeReport[];
}

/** Nodes of one kind, those of subgraphs and functions among them. */
export interface OperatorCount {
  readonly op: string;
  readonly base: number;
  readonly head: number;
  /** Converts or reorders elements and computes nothing, as Cast and Transpose do: nobody means to add one. */
  readonly overhead: boolean;
}

export interface GraphChange {
  /** Every operator of either model, by name. */
  readonly operators: readonly OperatorCount[];
  /** Of the main graph: added, removed, changed. */
  readonly nodes: readonly NodeChange[];
  /** Stored tensors of the main graph that are new, gone, or of another type or shape. */
  readonly tensors: readonly TensorChange[];
  /** Inputs and outputs of the model whose type or shape is another. */
  readonly interface: readonly TensorChange[];
}

/** Findings that a rule lists for one side or both, by fingerprint. */
export interface FindingChange {
  /** Listed in head; base has no such finding, be it too small to be listed. */
  readonly new: readonly Finding[];
  /** Listed in head; base has it less severe or not listed, and it costs more now. */
  readonly worse: readonly Finding[];
  /** Listed in base; head has no such finding. */
  readonly fixed: readonly Finding[];
  /** Listed in base; in head it is less severe, or too small to be listed. */
  readonly eased: readonly Finding[];
  /** Listed in both. */
  readonly unchanged: readonly Finding[];
  /** Listed in both, at a node that has another name now, or of a region that begins at another node. */
  readonly renamed: readonly Finding[];
  /** New or worse, and let off by what the change adds to tc-lint-suppressions.json: no reason to fail. */
  readonly suppressed: readonly Finding[];
}

/**
 * `changed`: head has another content than base; `moved`: the same content at another path; `same`: the same content;
 * `added` and `deleted`: one of the two is not there.
 */
export type FileStatus = "changed" | "moved" | "same" | "added" | "deleted";

/** Why a model could not be compared. */
export interface SideError {
  readonly side: "base" | "head";
  /** That side's model, as reports call it. */
  readonly file: string;
  readonly code: string;
  readonly message: string;
}

export interface ModelComparison {
  /** Head's; base's where the model is deleted. */
  readonly path: string;
  /** Which of several targets and sizes this is of; absent where the model was compared once. */
  readonly scenario?: string;
  readonly status: FileStatus;
  readonly target: ModelReport["target"];
  readonly configFiles: readonly string[];
  readonly base: SideReport | null;
  readonly head: SideReport | null;
  /** Null where one of the two is not there or contradicts itself. */
  readonly time: TimeChange | null;
  /**
   * Of both in the types that they store. Null where these are what `time` is of, and where neither says that anything differs.
   */
  readonly stored: StoredChange | null;
  /**
   * By the types that the files store: that is what runs. Where both store the same, and not the half that is asked for, `slower` also where `time` says so.
   * Null where `time` is.
   */
  readonly verdict: ChangeVerdict | null;
  /** The largest change first. */
  readonly kernels: readonly KernelChange[];
  readonly findings: FindingChange;
  /** Null where one of the two is not there. */
  readonly graph: GraphChange | null;
  /** Of head; absent where the configuration has none for it. */
  readonly budgets?: readonly BudgetReport[];
  /** What is worth knowing of the comparison itself. */
  readonly notices: readonly NoticeReport[];
  readonly error: SideError | null;
}

export interface CompareReport {
  readonly version: 1;
  readonly tool: { readonly name: "tc-lint"; readonly version: string };
  /** What `--base` named, and the commit that it is; null where two files were compared. */
  readonly base: { readonly ref: string; readonly commit: string } | null;
  readonly models: readonly ModelComparison[];
  /** Models whose file is the same at base: not compared. */
  readonly unchanged: readonly string[];
  /** Of models that could not be compared, in their order. */
  readonly errors: readonly ErrorReport[];
  readonly summary: CompareSummary;
}

export interface CompareSummary {
  /** New and worse findings, by severity. */
  readonly newErrors: number;
  readonly newWarnings: number;
  readonly newInfos: number;
  readonly fixed: number;
  /** Models and scenarios, by what all of the interval says. */
  readonly slower: number;
  readonly faster: number;
  readonly budgetsExceeded: number;
  readonly failedModels: number;
}
