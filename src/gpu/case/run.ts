/** @file In the GPU's process: one case of the kernels' tests checked, timed, or run for a profiler to see. */
import { movedBytes } from "../../../cuda-runtime/cost/predict.ts";
import { CudaError } from "../../../cuda-runtime/driver/errors.ts";
import { lockOfGpu } from "../../../cuda-runtime/session/cubin-folder.ts";
import { exclusively } from "../../../cuda-runtime/session/exclusive.ts";
import { HarnessHost, type KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { gpuFailure, versionText } from "../../../cuda-runtime/session/open.ts";
import type { ReadyStep } from "../../../cuda-runtime/session/steps.ts";
import { timeReplays } from "../../../cuda-runtime/session/timing.ts";
import { InputError } from "../../ir/errors.ts";
import { casesIn } from "./module.ts";
import type { CaseGroup, CaseRun, CaseTask } from "./report.ts";

/** Bytes that memory is full of before it is written: what is read unwritten differs. */
const poisons = [0xff, 0x41] as const;
/** Rounds in a graph, and graphs that are timed. */
const replays = { copies: 10, groups: 9 };

/** Throws what is wrong with a result, and CudaError. `onExecuted` is told of steps whose results are right. */
export async function checkCase(
  host: HarnessHost,
  each: KernelCase,
  isTwice: boolean,
  onExecuted: (steps: readonly ReadyStep[]) => void,
): Promise<void> {
  const digests: string[] = [];
  for (const poison of isTwice ? poisons : poisons.slice(0, 1)) {
    const executed: (readonly ReadyStep[])[] = [];
    using harness = host.harness(poison, (steps) => void executed.push(steps));
    await each.run(harness);
    // Of a result that is right, and not before it is looked at: a kernel may change what it reads.
    if (digests.length === 0) for (const steps of executed) onExecuted(steps);
    digests.push(harness.digest());
  }
  if (new Set(digests).size > 1)
    throw new Error("a second run, over memory with other contents, gives other results");
}

/** Launches at once, timed where somebody asks. */
export function groupOf(host: HarnessHost, steps: readonly ReadyStep[], isTimed: boolean): CaseGroup {
  const actions = steps.map(({ step }) => step.action);
  const launches = actions.flatMap((action) => (action.kind === "launch" ? [action.launch] : []));
  return {
    kernels: launches.map(({ kernel }) => kernel.entry),
    flops: launches.reduce((total, launch) => total + (launch.flops ?? 0), 0),
    bytes: actions.reduce((total, action) => total + movedBytes(action), 0),
    times: isTimed ? timeReplays(host, steps, replays.copies, replays.groups) : undefined,
  };
}

/** One replay, for a profiler to see. */
export function profileOnce({ context, stream, runner }: HarnessHost, steps: readonly ReadyStep[]): void {
  using graph = stream.capture(() => {
    for (const step of steps) runner.launch(step, stream);
  });
  graph.launch(stream);
  stream.synchronize();
  context.profiled(() => graph.launch(stream));
}

/** Throws InputError: `usage` for a case that is none, `gpu-…`. */
export async function runCase(task: CaseTask, onProgress: (what: string) => void): Promise<CaseRun> {
  const { name, mode, kernels, module } = task;
  const own = name.slice(name.indexOf("/") + 1);
  const each = (await casesIn(module)).find((found) => found.name === own);
  if (each === undefined) throw new InputError("usage", `there is no case ${name}`);
  onProgress("opening the GPU");
  try {
    using host = await HarnessHost.open({ kernels: new URL(kernels), device: task.device });
    const groups: CaseGroup[] = [];
    const steps: CaseRun["steps"][number][] = [];
    onProgress(name);
    const look = (executed: readonly ReadyStep[]) => {
      groups.push(groupOf(host, executed, mode === "time"));
      for (const { step } of executed) steps.push({ entry: entryOf(step.action), label: name });
      if (mode === "counted") exclusively(lockOfGpu(task.device), () => profileOnce(host, executed));
    };
    const problem = await problemOf(checkCase(host, each, mode !== "counted", look));
    const { device, driver } = host.context;
    const { cacheProblem } = host.store;
    const version = `CUDA ${versionText(driver.version)}`;
    return { kind: "case", device, driver: version, problem, groups, steps, cacheProblem };
  } catch (error) {
    throw gpuFailure(error);
  }
}

/** A wrong result is an answer; a fault is none. */
async function problemOf(check: Promise<void>): Promise<string | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    if (error instanceof CudaError || error instanceof InputError || !(error instanceof Error)) throw error;
    return error.message;
  }
}

/** What is launched: memory that is cleared, and a grid of nothing, are no kernels. */
function entryOf(action: ReadyStep["step"]["action"]): string | null {
  if (action.kind === "clear" || action.launch.grid.some((size) => size === 0)) return null;
  return action.launch.kernel.entry;
}
