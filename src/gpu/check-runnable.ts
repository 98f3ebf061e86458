/** @file Whether there is anything to run, before anybody waits for a reference or a repair of it. */
import type { InputError } from "../ir/errors.ts";
import { openModel } from "../onnx/open.ts";
import { missingWeights } from "./prepare.ts";
import { askGpu, type GpuLimits, kernelsUrl } from "./process.ts";

/**
 * Throws InputError: a file that cannot be read; `gpu-…` where weights are missing and the GPU is, too, for nobody should fetch them for
 * that; else `weights-missing`. A GPU is asked for here where something is wrong alone.
 */
export async function checkRunnable(
  paths: readonly string[],
  device: number,
  limits: GpuLimits,
): Promise<void> {
  const [absent] = paths.flatMap((path) => absentOf(path) ?? []);
  if (absent === undefined) return;
  await askGpu({ kind: "run", device, kernels: kernelsUrl, runs: [] }, limits);
  throw absent;
}

function absentOf(path: string): InputError | undefined {
  using model = openModel(path);
  return missingWeights(model);
}
