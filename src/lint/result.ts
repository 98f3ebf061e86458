/** @file What a lint run says, as data: the JSON report's shape (version 1), and what every other format renders. */

import type { LayoutSetting } from "../hardware/stacks.ts";
import type { ErrorReport } from "../ir/error-report.ts";
import type { AccountStep, AccountStepName } from "../workload/account.ts";
import type { HalfBeside } from "./half-beside.ts";

export type { ErrorReport } from "../ir/error-report.ts";
export type { AccountStep, AccountStepName, WrittenSaving } from "../workload/account.ts";
export type { HalfBeside } from "./half-beside.ts";

export type Severity = "error" | "warn" | "info";
export type Fixability = "safe" | "unsafe" | "none";
export type Datum = string | number | boolean | readonly number[] | readonly string[];

export interface SavingReport {
  /** Predicted microseconds a run of the model saves on the target; `low` to `high` is a 90 % interval. */
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
  /** `microseconds` of the model's predicted time; of the time in the types that it stores where another precision saves it. */
  readonly share: number;
  /** What the kernels it is about take now, in microseconds: no saving is more. */
  readonly of: number;
  /**
   * Of what its author saves of a file in half that no command is sure to gain by storing: what it saves of the file as it is stored, all 0 where that is
   * nothing that would be claimed.
   */
  readonly asStored?: StoredSaving;
}

/** Microseconds; `low` to `high` is a 90 % interval. */
export interface StoredSaving {
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
}

export interface Finding {
  readonly code: string;
  readonly rule: string;
  readonly severity: Severity;
  /** Name of the node, or `Op(first output)` where it has none. */
  readonly node: string;
  readonly op: string;
  /** Path of the graph: `graph`, `graph/loop_1:body`. */
  readonly graph: string;
  readonly message: string;
  readonly data: Readonly<Record<string, Datum>>;
  readonly saves: SavingReport | null;
  readonly fix: Fixability;
  /** Flags of the command that makes it, which is sure to gain: `--fix --unsafe-fixes`; null where none does. */
  readonly fixCommand: string | null;
  /** What makes it where no file does: a setting of the stack, and the stack with it. */
  readonly setting?: LayoutSetting;
  readonly source: { readonly file: string; readonly line: number } | null;
  readonly module: string | null;
  readonly fingerprint: string;
}

/** A finding that somebody switched off. */
export interface SuppressedFinding extends Finding {
  /**
   * `model`: by the metadata of the model or of the node; `configuration`: by overrides at nodes or operators; `suppressions`: by
   * tc-lint-suppressions.json.
   */
  readonly by: "model" | "configuration" | "suppressions";
  /** What the model's metadata or the override says of it; null where nothing does. */
  readonly reason: string | null;
}

/** One cause, at one node, at every repeat of a block, or wherever one size wants the same padding. */
export interface FindingGroup {
  readonly code: string;
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Of all its findings together; for what a later step of the account saves, what earlier ones leave of it. */
  readonly saves: SavingReport | null;
  readonly fix: Fixability;
  /** Flags of the command that makes it, which is sure to gain; null where none does. */
  readonly fixCommand: string | null;
  /** What makes it where no file does: a setting of the stack, and the stack with it. */
  readonly setting?: LayoutSetting;
  /** The step of the account that it is a part of; null where time is not the point, and where what is counted only is a part of none. */
  readonly step: AccountStepName | null;
  /** Why `--fix` leaves what it could change; null where it does not, or where nothing could. */
  readonly left: string | null;
  /** Fingerprints, in graph order. */
  readonly findings: readonly string[];
}

/** Findings that are counted, not listed. */
export interface CountedFindings {
  readonly count: number;
  /** Predicted savings, added up. */
  readonly microseconds: number;
  /** How many there are of each rule, by its code; absent where there are none. */
  readonly byRule?: Readonly<Record<string, number>>;
  /** What of them half precision saves without the Casts that it needs; absent where that is nothing. */
  readonly withoutCasts?: number;
  /** What of them a setting of the stack saves, and no command; absent where that is nothing. */
  readonly withSetting?: { readonly option: string; readonly microseconds: number };
  /** Set where a threshold above the default hides what `--fix` repairs, or all that it saves is below it. */
  readonly hidesFix?: true;
}

export interface SkippedReport {
  readonly node: string;
  readonly op: string;
  readonly reason: string;
}

export interface NoticeReport {
  readonly code: string;
  readonly message: string;
}

/** What a budget of the configuration limits. */
export type BudgetName = "maxMicroseconds" | "minTensorCoreShare" | "maxRegression";

/** A budget held against a prediction. */
export interface BudgetReport {
  readonly budget: BudgetName;
  readonly target: ModelReport["target"];
  /**
   * Set where it names no precision and lint tells of the file as it is stored, of `maxRegression` of either file: the figures are of that, and not in
   * the target's precision.
   */
  readonly asStored?: true;
  /** Microseconds; of shares and regressions a part of the whole. `predicted`, `low` and `high` are in the same unit. */
  readonly limit: number;
  readonly predicted: number;
  /** The truth lies between `low` and `high` in nine cases of ten. */
  readonly low: number;
  readonly high: number;
  /**
   * `exceeded`: all of the interval is beyond the limit, which fails a run; `may-exceed`: a part of it is; `unpriced`: of a model of which
   * nothing could be looked at, nobody knows.
   */
  readonly verdict: "kept" | "may-exceed" | "exceeded" | "unpriced";
}

/** One kernel of the predicted run: a product with what its stack fuses to it, or a memory-bound step. */
export interface LayerReport {
  readonly node: string;
  readonly op: string;
  readonly graph: string;
  /** Other nodes computed in the same kernel. */
  readonly fused: readonly string[];
  readonly family: "conv" | "gemm" | "attention" | "recurrent" | "memory";
  readonly sizes: Readonly<Record<string, number | readonly number[]>>;
  /** The format its operands are multiplied in on the target. */
  readonly compute: string;
  /** How often it runs in one run of the model: a loop's trip count, else 1. The figures below are of all runs. */
  readonly runs: number;
  /** Multiply-adds counted as two. */
  readonly flops: number;
  /** Compulsory traffic: each operand once. */
  readonly bytes: number;
  /** FLOPs a byte. */
  readonly intensity: number;
  readonly bound: "tensor-core" | "cuda-core" | "dram" | "l2" | "launch";
  readonly tensorCore: boolean;
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
  /** Of the model's predicted time, 0 to 1. */
  readonly share: number;
  /** What the cost model says, where `microseconds` is measured. */
  readonly predicted?: number;
  /** Codes of the findings at its nodes. */
  readonly findings: readonly string[];
}

export type ProfileTool = "tensorrt" | "onnxruntime" | "pytorch" | "tc-lint";

/** Where measured times come from, and what of them belongs to no node. */
export interface ProfileReport {
  readonly tool: ProfileTool;
  /** As the user named them. */
  readonly files: readonly string[];
  /** Runs that count, and first ones that were left out because they warm up. */
  readonly runs: number;
  readonly leftOut: number;
  /** Of each layer over the runs. */
  readonly statistic: "median" | "mean";
  /** The GPU that it ran on, by its driver's name; absent where the file does not say. */
  readonly gpu?: string;
  /** Whether it ran on a CPU, which has no Tensor Cores; absent where the file does not say. */
  readonly onCpu?: true;
  /** One run, all layers. */
  readonly microseconds: number;
  /** One run, timed as a whole: layers that were timed one by one need not add up to it. Absent where the file does not say. */
  readonly wholeMicroseconds?: number;
  /** The same of the file in FP32, by the same benchmark: no state of the account, whose steps are timed one by one. */
  readonly wholeFp32Microseconds?: number;
  /** What the cost model says of the same. */
  readonly predicted: { readonly microseconds: number; readonly low: number; readonly high: number };
  /** What layers took that no node of the model is known to be in, and the largest of these. */
  readonly unmapped: {
    readonly microseconds: number;
    readonly share: number;
    readonly layers: readonly { readonly name: string; readonly microseconds: number }[];
  };
  /** Nodes that a kernel was predicted for and no layer computes; a share of those with a kernel. */
  readonly untimed: { readonly nodes: number; readonly share: number };
}

/** What one machine of the target's reached, or what its datasheet promises. */
export interface CeilingsReport {
  readonly kind: "measured" | "datasheet";
  /** TFLOP/s of products on Tensor Cores, by the format of their operands. */
  readonly tensorTflops: Readonly<Partial<Record<string, number>>>;
  /** TFLOP/s of FP32 on CUDA cores. */
  readonly cudaTflops: number;
  readonly dramGBps: number;
  readonly source: string;
}

export interface SurroundingNode {
  readonly node: string;
  readonly op: string;
  /** Of the kernel that it gives its name; null where it runs in another node's, or in none. */
  readonly microseconds: number | null;
  /** Types of its constant inputs: `float32[64,3,7,7]`. */
  readonly constants: readonly string[];
  /** Neighbours that are left out, up to 999. */
  readonly more: number;
}

/** A value that one node makes and another reads, by their places in `nodes`. */
export interface SurroundingEdge {
  readonly from: number;
  readonly to: number;
  readonly type: string;
}

/** The graph around one finding. */
export interface SurroundingsReport {
  /** Its fingerprint. */
  readonly finding: string;
  readonly graph: string;
  /** Nearest first: the node of the finding is at the head. */
  readonly nodes: readonly SurroundingNode[];
  readonly edges: readonly SurroundingEdge[];
}

export interface ModelReport {
  readonly path: string;
  /** Which of several targets and sizes this is of; absent where the model was linted once. */
  readonly scenario?: string;
  /** Samples of one run, by the size of the batch; only beside `scenario`, where the model has one. */
  readonly samples?: number;
  readonly irVersion: number;
  readonly opset: Readonly<Record<string, number>>;
  readonly producer: string;
  readonly nodes: number;
  readonly parameters: number;
  readonly target: { readonly gpu: string; readonly stack: string; readonly precision: string };
  /** Symbols and the size at which each is priced; `assumed` lists those nobody bound. */
  readonly symbols: Readonly<Record<string, number>>;
  readonly assumed: readonly string[];
  /** Of those, what the model finds when it runs: no input has them. Absent where there are none. */
  readonly found?: readonly string[];
  /** Configuration files that decided about it, the most general first. */
  readonly configFiles: readonly string[];
  readonly predicted: {
    readonly microseconds: number;
    readonly low: number;
    readonly high: number;
    /** What these are of: `target.precision`, or `as-is` where the file is predicted in the types that it stores, whatever was asked for. */
    readonly precision: string;
    /** Of the predicted time, in products that run on Tensor Cores: 0 to 1. */
    readonly tensorCoreShare: number;
    /** Microseconds by family of work: conv, gemm, attention, recurrent, memory. */
    readonly families: Readonly<Record<string, number>>;
    /**
     * `measured`: kernels fitted on this GPU, and whole files compared with it; `kernels`: kernels fitted on this GPU, what the
     * stack fuses taken from its source or documentation; `planned`: by the runtime's own planner; `scaled`: what was fitted on a GPU of the same
     * compute capability, scaled by both datasheets; `datasheet`: rates of the GPU's row;
     * `profile`: measured by whoever ran it, not predicted.
     */
    readonly basis: "measured" | "kernels" | "planned" | "scaled" | "datasheet" | "profile";
    /**
     * Set where the target's half is predicted to take longer than the file as it is stored, and no command is sure to gain by storing it: all else is then
     * told of the file as it is stored.
     */
    readonly half?: HalfBeside;
  };
  /** Present where its times are a profile's (`--profile`): `predicted` and the account's first state are then what it measured. */
  readonly profile?: ProfileReport;
  /** Where it stands as exported and after each step that could be taken: the steps' savings add up to the difference. */
  readonly account: readonly AccountStep[];
  readonly findings: readonly Finding[];
  /** The findings by cause, what matters most first: thresholds and severities are of these. */
  readonly groups: readonly FindingGroup[];
  readonly suppressed: number;
  /** Of these, what is of rules that `--fix` repairs by; absent where there is none. */
  readonly suppressedFixable?: number;
  /** Those findings; only where they were asked for (`--show-suppressed`). */
  readonly suppressions?: readonly SuppressedFinding[];
  /** Of groups that save less than the threshold. */
  readonly belowThreshold: CountedFindings;
  /** Of groups that may save nothing, so that nothing is claimed: their interval reaches zero, or no command stores the half that they rest on. */
  readonly uncertain: CountedFindings;
  /** What these two count; only where it was asked for (`--verbose`). */
  readonly unlisted?: {
    readonly groups: readonly FindingGroup[];
    readonly findings: readonly Finding[];
  };
  /** Of the configuration, in its order; absent where it has none for this model. */
  readonly budgets?: readonly BudgetReport[];
  readonly skipped: readonly SkippedReport[];
  /** Odd but harmless: missing weights, an unsorted graph, a newer IR. */
  readonly notices: readonly NoticeReport[];
  /** In graph order; only where they were asked for (`--table`). */
  readonly layers?: readonly LayerReport[];
  /** What the target could reach; only where a report draws it. */
  readonly ceilings?: CeilingsReport;
  /** Around the first place of entries, those that matter most; only where a report draws it. */
  readonly surroundings?: readonly SurroundingsReport[];
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface LintReport {
  readonly version: 1;
  readonly tool: { readonly name: "tc-lint"; readonly version: string };
  readonly models: readonly ModelReport[];
  /** Of models that failed, in their order; of a run that failed as a whole, why. */
  readonly errors: readonly ErrorReport[];
  readonly summary: {
    /** Entries (groups of findings), by severity. */
    readonly errors: number;
    readonly warnings: number;
    readonly infos: number;
    /** Entries that `--fix` is for. */
    readonly fixable: number;
    readonly failedModels: number;
    /** Of every model; each fails the run as an error does. */
    readonly budgetsExceeded: number;
    /** What may save nothing where times are a datasheet's: it is not claimed, and such a report is no clean one. Absent where there is none. */
    readonly unmeasured?: {
      /** Of every model and scenario, as are `microseconds` that they are predicted to save. */
      readonly findings: number;
      readonly microseconds: number;
      readonly targets: readonly { readonly gpu: string; readonly stack: string }[];
    };
  };
}
