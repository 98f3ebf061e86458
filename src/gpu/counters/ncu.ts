/** @file Nsight Compute around the GPU's process, and what is wrong with it said plainly. */
import { failureOf } from "../../../cuda-runtime/session/process.ts";
import { runWrapped, type WrappedRun } from "../../../cuda-runtime/session/wrapped.ts";
import { InputError } from "../../ir/errors.ts";
import { pushAll } from "../../ir/lists.ts";
import type { CaseRun, CaseTask } from "../case/report.ts";
import type { CountedRun, CountedTask } from "../protocol.ts";
import { type CountedLaunch, launchesOf } from "./csv.ts";

export interface NcuOptions {
  /** The program; undefined: on the PATH, or where CUDA puts it. */
  readonly ncu: string | undefined;
  readonly childUrl: URL;
  readonly metrics: readonly string[];
  readonly timeoutSeconds?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly onProgress?: ((what: string) => void) | undefined;
}

/** What is run below the profiler, and what each answers. */
type Task = CountedTask | CaseTask;
type RunOf<T extends Task> = T extends CountedTask ? CountedRun : CaseRun;

export interface Counted<Run = CountedRun> {
  readonly run: Run;
  readonly launches: readonly CountedLaunch[];
  /** Metrics that this ncu does not have for this GPU. */
  readonly absent: readonly string[];
}

const places = ["ncu", "/usr/local/cuda/bin/ncu"];

/** Throws InputError `ncu-…`, or what the model is at fault for. */
export async function countLaunches<T extends Task>(
  task: T,
  options: NcuOptions,
): Promise<Counted<RunOf<T>>> {
  const absent: string[] = [];
  for (;;) {
    const wanted = options.metrics.filter((name) => !absent.includes(name));
    const ended = await runNcu(task, wanted, options);
    const missing = unknownMetrics(ended.output, wanted);
    if (missing.length > 0) {
      pushAll(absent, missing);
      continue;
    }
    const problem = problemOf(ended, options);
    if (problem !== undefined) throw problem;
    const { answer } = ended;
    if (answer?.kind === "failed") throw failureOf(answer);
    const launches = launchesOf(ended.output);
    if (answer === undefined || launches.length === 0) throw failed(ended.output);
    return { run: answer.result, launches, absent };
  }
}

/** Up to the command that it runs, which says by the driver's calls what is to be seen. */
export function ncuArguments(metrics: readonly string[]): string[] {
  return [
    // One replay of the graph, launch by launch; loading is not seen.
    ...["--profile-from-start", "off", "--graph-profiling", "node", "--target-processes", "all"],
    // The clocks are left as they are, and so is the L2: launches find there what a run leaves there.
    ...["--clock-control", "none", "--cache-control", "none"],
    ...["--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "function"],
    ...["--metrics", metrics.join(",")],
  ];
}

async function runNcu<T extends Task>(
  task: T,
  metrics: readonly string[],
  { ncu, onProgress, ...limits }: NcuOptions,
): Promise<WrappedRun<RunOf<T>>> {
  const args = ncuArguments(metrics);
  const onLine = (line: string) => {
    const launch = /^==PROF== Profiling .* - (\d+)/.exec(line)?.[1];
    if (launch !== undefined) onProgress?.(`counting launch ${Number(launch) + 1}`);
  };
  for (const command of ncu === undefined ? places : [ncu]) {
    const run = await runWrapped<T, RunOf<T>>(task, {
      ...limits,
      // Numbers as programs read them.
      ...{ command, args, onLine, env: { LC_ALL: "C" } },
    });
    if (run !== undefined) return run;
  }
  const looked = ncu === undefined ? "neither on the PATH nor /usr/local/cuda/bin/ncu" : `not at ${ncu}`;
  throw new InputError(
    "ncu-missing",
    `Nsight Compute (ncu) is ${looked}: it comes with the CUDA toolkit, or by itself from https://developer.nvidia.com/nsight-compute; --ncu-path names it`,
  );
}

/** Which of the wanted metrics ncu says that it cannot find. */
export function unknownMetrics(output: string, wanted: readonly string[]): string[] {
  const lines = errorLines(output).filter((line) => /Failed to find metric/.test(line));
  const said = new Set(lines.flatMap((line) => line.match(/\w+__\w+/g) ?? []));
  return wanted.filter((name) => said.has(name.split(".")[0] ?? name));
}

/** What ncu says of itself, by words of its messages. */
const problems: readonly (readonly [RegExp, string, string])[] = [
  [
    /ERR_NVGPUCTRPERM/,
    "ncu-permission",
    "this user may not read the GPU's counters (ERR_NVGPUCTRPERM): run as root, in a container with --cap-add=SYS_ADMIN, or have the administrator load the driver with NVreg_RestrictProfilingToAdminUsers=0 (https://developer.nvidia.com/ERR_NVGPUCTRPERM)",
  ],
  [
    /driver is not compatible with Nsight Compute/i,
    "ncu-driver",
    "this version of Nsight Compute and the driver do not go together: install the version of the driver's CUDA, and name it with --ncu-path",
  ],
  [
    /driver resource was unavailable/i,
    "ncu-busy",
    "something else has the GPU's counters, such as DCGM or another profiler: stop it for the time (dcgmi profile --pause)",
  ],
];

function problemOf({ output, isLate }: WrappedRun<unknown>, { timeoutSeconds }: NcuOptions) {
  if (isLate) {
    const limit = timeoutSeconds === undefined ? "" : ` of ${timeoutSeconds} s`;
    return new InputError("ncu-hang", `ncu was stopped at the limit${limit}: it needs a longer --timeout`);
  }
  const said = errorLines(output).join("\n");
  const [, code, message] = problems.find(([pattern]) => pattern.test(said)) ?? [];
  return code === undefined || message === undefined ? undefined : new InputError(code, message);
}

function failed(output: string): InputError {
  const said = errorLines(output).map((line) => line.replace(/^==\w+== /, ""));
  const text = said.length > 0 ? said.slice(0, 6).join(" ") : output.trim().slice(-500);
  return new InputError("ncu-failed", `ncu counted nothing: ${text || "it says nothing"}`);
}

function errorLines(output: string): string[] {
  return output.split(/\r?\n/).filter((line) => /^==(ERROR|WARNING)==/.test(line));
}
