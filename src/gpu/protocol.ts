/** @file What the GPU's process is sent, and what it answers: plain data. */
import type { DeviceInfo } from "../../cuda-runtime/driver/driver.ts";
import type { ChosenBy } from "../../cuda-runtime/ir/step.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { MemoryUse } from "../../cuda-runtime/session/memory.ts";
import type { EntryFacts } from "../../cuda-runtime/session/store.ts";
import type { TimeOptions, Times } from "../../cuda-runtime/session/timing.ts";
import type { LeftPiece, Piece } from "../fix/bisect.ts";
import type { FixChoice } from "../fix/choice.ts";
import type { Measurement } from "../fix/measured.ts";
import type { ComputeType } from "../hardware/target.ts";
import type { Ranges } from "../passes/pass.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import type { HalfType } from "../verify/budget.ts";
import type { Decoded } from "../verify/decode/greedy.ts";
import type { GivenSizes } from "../verify/sizes.ts";
import type { Tensors } from "../verify/tensor.ts";
import type { AutotuneReport } from "./autotune/report.ts";
import type { CaseRun, CaseTask } from "./case/report.ts";
import type { LadderRun, LadderTask } from "./ladder/report.ts";
import type { SweepItem } from "./sweep.ts";

/** A model as it is to be run, made from a file. */
export interface ModelRequest {
  readonly path: string;
  readonly precision: Precision;
  /** Repairs it in memory first: padding and folding, as this plan says. Half precision and NHWC are the planner's own. */
  readonly fix?: LintPlan | undefined;
  /** Rounds its weights to half and back first: what half precision costs at the least. */
  readonly rounded?: HalfType | undefined;
  /** Inner values that become outputs. */
  readonly expose?: readonly string[] | undefined;
}

export interface ModelRun {
  /** For progress. */
  readonly label: string;
  readonly model: ModelRequest;
  /** What it is run on, or sizes for inputs that are drawn. */
  readonly inputs:
    | { readonly kind: "given"; readonly sets: readonly Tensors[] }
    | { readonly kind: "drawn"; readonly sizes: GivenSizes };
  /** Times whole runs on the first inputs. */
  readonly time?: TimeOptions | undefined;
  /** Times every step as well. */
  readonly steps?: boolean | undefined;
  /** Chooses kernels by timing them, for so many seconds at the most. */
  readonly autotuneSeconds?: number | undefined;
}

/** Greedy decoding of tokens that are known: each step is given the reference's, so that steps compare one by one. */
export interface DecodeTask {
  readonly kind: "decode";
  readonly device: number;
  readonly kernels: string;
  readonly path: string;
  readonly precision: Precision;
  readonly prompt: readonly number[];
  /** What the reference says behind the prompt. */
  readonly tokens: readonly number[];
  readonly time: TimeOptions;
}

/** One of the two plans that decoding runs. */
export interface DecodePhase {
  /** Of one run, from a cold L2. */
  readonly times: Times;
  readonly launches: number;
  readonly memory: MemoryUse;
  /** Weights that a run reads, every byte once. */
  readonly weightBytes: number;
}

export interface DecodeRun extends Decoded {
  readonly kind: "decode";
  readonly device: DeviceInfo;
  readonly driverVersion: number;
  /** The whole prompt, and one token behind it. */
  readonly prefill: DecodePhase;
  readonly step: DecodePhase;
  /** Whether caches stay where they are between steps; else they go by way of the host. */
  readonly isInPlace: boolean;
  readonly cacheProblem: string | undefined;
}

/** A model to be run once below a profiler, which sees one replay of its graph. */
export interface CountedTask {
  readonly kind: "counted";
  readonly device: number;
  readonly kernels: string;
  readonly model: ModelRequest;
  readonly sizes: GivenSizes;
}

export interface CountedStep extends StepFacts {
  /** The kernel as it is launched; null for what is none. */
  readonly entry: string | null;
}

export interface CountedRun {
  readonly kind: "counted";
  readonly device: DeviceInfo;
  readonly driverVersion: number;
  readonly sizes: Readonly<Record<string, number>>;
  readonly steps: readonly CountedStep[];
  readonly cacheProblem: string | undefined;
}

export type GpuTask =
  | CaseTask
  | CountedTask
  | DecodeTask
  | LadderTask
  | { readonly kind: "doctor"; readonly kernels: string }
  | {
      readonly kind: "sweep";
      readonly device: number;
      readonly kernels: string;
      readonly items: readonly SweepItem[];
    }
  | ProveTask
  | {
      readonly kind: "run";
      readonly device: number;
      /** Folder of the fatbins, as a URL. */
      readonly kernels: string;
      readonly runs: readonly ModelRun[];
    };

/** A repair, to be measured change by change. */
export interface ProveTask {
  readonly kind: "prove";
  readonly device: number;
  readonly kernels: string;
  /** The model, its settings, and what its repair may do. */
  readonly plan: LintPlan;
  readonly choice: FixChoice;
  /** What is known of the sizes of values, for half precision. */
  readonly ranges: Ranges | undefined;
  readonly precision: Precision;
  readonly sizes: GivenSizes;
}

export interface ProveReport {
  readonly kind: "prove";
  readonly measurement: Measurement;
  readonly kept: readonly Piece[];
  readonly left: readonly LeftPiece[];
  readonly cacheProblem: string | undefined;
}

/** A step without its time. */
export interface StepFacts {
  readonly operator: string;
  readonly label: string;
  readonly kernel: string;
  /** Tile and variant, as the kernel's choice says it. */
  readonly detail: string;
  readonly shapes: string;
  readonly flops: number;
  /** What it reads and writes, every byte once. */
  readonly bytes: number;
  /** The Tensor Core instruction in the kernel; null for none. */
  readonly tensor: EntryFacts["tensor"];
  /** What a product multiplies in. */
  readonly compute: ComputeType;
  /** Other products that it computes, as their nodes are called: of the same activation, or of the first one's result. */
  readonly beside: readonly string[];
  /** How the kernel was chosen; null where there is only one. */
  readonly chosenBy: ChosenBy | null;
  /** As part of the run of a model: by its kernel's own model from a cold L2, and what of its bytes nothing hides. */
  readonly predictedMicroseconds: number;
  /** Where others run beside it, the lane that it is launched on, one launch behind another; null: it comes behind all before it. */
  readonly lane: number | null;
  /** Steps of other lanes that it waits for, by their places in the run. */
  readonly waits: readonly number[];
  /**
   * Where others run beside it, what such a stretch of steps takes, of what it would take in order: the same for all of them, whichever of its ways is the longest;
   * null: none do.
   */
  readonly runShare: number | null;
}

export interface StepReport extends StepFacts {
  readonly times: Times;
}

export interface RunReport {
  /** By set of inputs. */
  readonly outputs: readonly Tensors[];
  /** Whether the repair that was asked for changed anything. */
  readonly isFixed: boolean;
  readonly sizes: Readonly<Record<string, number>>;
  readonly launches: number;
  readonly memory: MemoryUse;
  readonly times: Times | undefined;
  readonly steps: readonly StepReport[] | undefined;
  /** Seconds: opening and repairing, planning, uploading and compiling, the first run. */
  readonly seconds: {
    readonly open: number;
    readonly plan: number;
    readonly load: number;
    readonly run: number;
  };
  /** Undefined where kernels were chosen by prediction alone. */
  readonly autotune?: AutotuneReport | undefined;
  /** Kernels that the driver compiled now; others came from the cache or with tc-lint. */
  readonly compiled: number;
}

export interface RunsReport {
  readonly kind: "run";
  readonly device: DeviceInfo;
  readonly driverVersion: number;
  readonly runs: readonly RunReport[];
  /** Why kernels that the driver compiled are not kept for the next time, if so. */
  readonly cacheProblem: string | undefined;
}

/** One thing that was tried. */
export interface Check {
  readonly what: string;
  readonly ok: boolean;
  /** Without it something else is used, or less is known. */
  readonly optional?: boolean;
  /** What was found, or what is missing and how to get it. */
  readonly detail: string;
}

export interface DoctorReport {
  readonly kind: "doctor";
  readonly checks: readonly Check[];
  readonly devices: readonly DeviceInfo[];
  readonly driverVersion: number | undefined;
}

export interface SweepReport {
  readonly kind: "sweep";
  readonly device: DeviceInfo;
  readonly driverVersion: number;
  /** By item. */
  readonly microseconds: readonly number[];
  /** Why kernels that the driver compiled are not kept for the next time, if so. */
  readonly cacheProblem: string | undefined;
}

export type GpuResult =
  | CaseRun
  | CountedRun
  | DecodeRun
  | LadderRun
  | RunsReport
  | DoctorReport
  | SweepReport
  | ProveReport;
