/** @file The GPU's process, asked for one task. */
import { runOnGpu } from "../../cuda-runtime/session/process.ts";
import type { GpuResult, GpuTask } from "./protocol.ts";

export const childUrl: URL = new URL("../gpu-child.js", import.meta.url);

/** Where the build puts the kernels: dist/cuda/. */
export const kernelsUrl = new URL("../cuda/", import.meta.url).href;

export interface GpuLimits {
  readonly timeoutSeconds?: number | undefined;
  /** Of the child, on the host; three quarters of the machine's unless given. */
  readonly memoryBytes?: number | undefined;
  readonly onProgress?: ((what: string) => void) | undefined;
  /** What is worth knowing and fails nothing; each thing once a process. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** Throws InputError: `gpu-missing`, `gpu-hang` and so on, or what the models are at fault for. */
export async function askGpu<Task extends GpuTask>(
  task: Task,
  limits: GpuLimits = {},
): Promise<Extract<GpuResult, { kind: Task["kind"] }>> {
  const options = { ...limits, childUrl };
  const result = await runOnGpu<Task, Extract<GpuResult, { kind: Task["kind"] }>>(task, options);
  noteOnce(cacheProblemOf(result), limits.onNotice);
  return result;
}

function cacheProblemOf(result: GpuResult): string | undefined {
  return result.kind === "doctor" ? undefined : result.cacheProblem;
}

let isNoted = false;

/** A command asks several times; the doctor has a line of its own. */
function noteOnce(problem: string | undefined, onNotice: GpuLimits["onNotice"]): void {
  if (problem === undefined || isNoted) return;
  isNoted = true;
  onNotice?.(`compiled kernels are not kept for the next time: ${problem}`);
}
