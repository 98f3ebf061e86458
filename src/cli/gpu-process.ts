/** @file The GPU's process as the commands use it. */
import { runOnGpu } from "../../cuda-runtime/session/process.ts";
import type { GpuResult, GpuTask } from "./gpu-protocol.ts";

const childUrl = new URL("../gpu-child.js", import.meta.url);

/** Where the build puts the kernels: dist/cuda/. */
export const kernelsUrl = new URL("../cuda/", import.meta.url).href;

export interface GpuLimits {
  readonly timeoutSeconds?: number | undefined;
  readonly onProgress?: ((what: string) => void) | undefined;
}

/** Throws InputError: `gpu-missing`, `gpu-hang` and so on, or what the models are at fault for. */
export async function askGpu<Task extends GpuTask>(
  task: Task,
  limits: GpuLimits = {},
): Promise<Extract<GpuResult, { kind: Task["kind"] }>> {
  return await runOnGpu<Task, Extract<GpuResult, { kind: Task["kind"] }>>(task, { ...limits, childUrl });
}
