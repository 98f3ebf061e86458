/** @file What one case of the kernels' tests gave, ready for JSON. */
import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";
import type { Times } from "../../../cuda-runtime/session/timing.ts";
import { gpuOfDevice } from "../../hardware/machine.ts";
import type { Counted } from "../counters/ncu.ts";
import { countersOf, matched, type StepCounters } from "../counters/report.ts";

/** Checked; checked and timed; and counted by Nsight Compute besides. */
export const caseModes = ["check", "time", "ncu"] as const;
export type CaseMode = (typeof caseModes)[number];

export interface CaseTask {
  readonly kind: "case";
  readonly device: number;
  readonly kernels: string;
  /** URL of the family's module. */
  readonly module: string;
  /** `family/case`. */
  readonly name: string;
  /** Counted: run once for a profiler to see. */
  readonly mode: "check" | "time" | "counted";
}

/** Launches that a case makes at once, before it looks at what they wrote. */
export interface CaseGroup {
  /** Entries in order. */
  readonly kernels: readonly string[];
  readonly flops: number;
  /** What they read and write, every byte once a launch. */
  readonly bytes: number;
  /** Of all of them, by replays of a graph; undefined where nobody asked. */
  readonly times: Times | undefined;
}

export interface CaseRun {
  readonly kind: "case";
  readonly device: DeviceInfo;
  readonly driver: string;
  /** What is wrong; undefined where nothing is. */
  readonly problem: string | undefined;
  readonly groups: readonly CaseGroup[];
  /** One by one; null for what is no kernel. */
  readonly steps: readonly { readonly entry: string | null; readonly label: string }[];
  readonly cacheProblem: string | undefined;
}

export interface CaseReport {
  readonly name: string;
  readonly mode: CaseMode;
  readonly gpu: DeviceInfo;
  readonly row: string | undefined;
  readonly driver: string;
  readonly isRight: boolean;
  readonly problem: string | undefined;
  readonly groups: readonly CaseGroup[];
  /** By launch, with --ncu. */
  readonly counted: readonly { readonly kernel: string; readonly counters: StepCounters }[] | undefined;
  /** Metrics that ncu does not have for this GPU. */
  readonly absent: readonly string[];
}

/** Throws InputError `ncu-launches` where ncu saw something else than the case launches. */
export function caseReport(
  name: string,
  mode: CaseMode,
  { device, driver, problem, groups }: CaseRun,
  counted: { readonly run: Counted<CaseRun>; readonly mix: Readonly<Record<string, string>> } | undefined,
): CaseReport {
  const rows = counted === undefined ? [] : matched(counted.run.run.steps, counted.run.launches);
  const launches = rows.flatMap((launch) =>
    launch === undefined || counted === undefined
      ? []
      : [{ kernel: launch.kernel, counters: countersOf(launch, counted.mix) }],
  );
  return {
    ...{ name, mode, gpu: device, row: gpuOfDevice(device)?.id, driver },
    ...{ isRight: problem === undefined, problem, groups },
    counted: counted === undefined ? undefined : launches,
    absent: counted?.run.absent ?? [],
  };
}
