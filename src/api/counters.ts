/** @file A model timed on the GPU, and counted there by Nsight Compute: one configuration, step by step. */
import type { BenchReport } from "../gpu/bench-report.ts";
import { mixMetrics, stepMetrics } from "../gpu/counters/metrics.ts";
import { countLaunches } from "../gpu/counters/ncu.ts";
import { type CountersReport, countersReport } from "../gpu/counters/report.ts";
import { childUrl, type GpuLimits, kernelsUrl } from "../gpu/process.ts";
import { architectureOf } from "../hardware/architectures.ts";
import { gpuOfDevice } from "../hardware/machine.ts";
import { type BenchRequest, benchModels, configurationsOf, listed, type RunListener } from "./runs.ts";
import { runtimeFix } from "./runtime-fix.ts";

export interface CountersRequest extends Omit<BenchRequest, "compare"> {
  /** The program; undefined: on the PATH, or where CUDA puts it. */
  readonly ncu: string | undefined;
}

/** FP16 unless a precision is given. Throws InputError: no GPU, a model that does not run, or `ncu-…`. */
export async function countModel(
  path: string,
  { precision = "fp16", ncu, ...given }: CountersRequest,
  limits: GpuLimits & RunListener,
): Promise<CountersReport> {
  const request: BenchRequest = { ...given, precision, compare: false };
  const bench: BenchReport = await benchModels([path], request, limits);
  const [configuration] = bench.configurations;
  const [{ fix } = { fix: false }] = configurationsOf(request);
  if (configuration === undefined) throw new Error("tc-lint bug: nothing was timed");
  const { dims, device, config } = request;
  // The settings were told by the run above.
  const quiet = { onNotice: () => undefined };
  const plan = fix ? await runtimeFix(path, { dims, gpu: undefined, config, ...quiet }) : undefined;
  const mix = mixMetrics(architectureOf(bench.gpu.computeCapability));
  const model = { path, precision, fix: plan };
  const counted = await countLaunches(
    { kind: "counted", device, kernels: kernelsUrl, model, sizes: listed(dims) },
    { ...limits, ncu, childUrl, metrics: [...Object.values(stepMetrics), ...Object.values(mix)] },
  );
  return countersReport(bench, configuration, counted, { row: gpuOfDevice(bench.gpu), mix });
}
