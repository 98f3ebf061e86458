/** @file `bench` and `plan` for programs: a model timed on the GPU, and what would be launched, without one. */
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { BenchReport } from "../gpu/bench-report.ts";
import type { PlanReport } from "../gpu/plan-report.ts";
import { findGpu, gpus } from "../hardware/gpus.ts";
import { invariant } from "../ir/errors.ts";
import {
  type CallOptions,
  checkOptions,
  checkPath,
  listening,
  type OptionSchemas,
  schemas,
} from "./options.ts";

interface RunOptions extends CallOptions {
  /** Data type that products are computed in; `model` runs the types that are stored. */
  readonly precision?: Precision;
  /** False runs the model as exported; by default it is repaired in memory first, where that is half precision. */
  readonly fix?: boolean;
  /** Sizes of symbolic dimensions; by default the first that run. */
  readonly dims?: Readonly<Record<string, number>>;
}

export interface PlanOptions extends RunOptions {
  /** A row of `tc-lint gpus`. Default `h200`. */
  readonly gpu?: string;
}

/** Without a precision: FP32, FP16 as exported, FP16 and BF16 repaired (not without `fix`). Steps of both in FP16 are timed. */
export interface BenchOptions extends RunOptions {
  /** Which GPU, as CUDA numbers them. Default 0. */
  readonly device?: number;
  /** Runs that are timed. Default 50. */
  readonly repeats?: number;
  /** Runs before these. Default 5. */
  readonly warmup?: number;
  /** Chooses kernels by timing them, for so many seconds a configuration at the most. By default predictions choose. */
  readonly autotuneSeconds?: number;
}

const runSchemas: OptionSchemas<Omit<RunOptions, keyof CallOptions>> = {
  precision: schemas.precision,
  fix: schemas.flag,
  dims: schemas.sizes,
};

const benchSchemas: OptionSchemas<Omit<BenchOptions, keyof CallOptions>> = {
  ...runSchemas,
  device: schemas.count,
  repeats: schemas.positive,
  warmup: schemas.count,
  autotuneSeconds: schemas.positive,
};

const planSchemas: OptionSchemas<Omit<PlanOptions, keyof CallOptions>> = {
  ...runSchemas,
  gpu: { type: "string", enum: [...gpus.keys()] },
};

/**
 * What the bundled runtime would launch for a model on a GPU that need not be here: kernels, bytes, predicted microseconds.
 *
 * @throws InputError Where the model cannot be read, or needs what the runtime does not do (`gpu-unsupported`).
 */
export async function plan(path: string, options: PlanOptions = {}): Promise<PlanReport> {
  checkPath(path);
  checkOptions(options, planSchemas);
  const { gpu: id = "h200", precision, fix = true, dims = {} } = options;
  const { timeoutSeconds, memoryBytes, onProgress, onNotice } = options;
  const gpu = findGpu(id);
  invariant(gpu !== undefined, `no row for the checked GPU "${id}"`);
  const { planFile } = await import("./runs.ts");
  const choice = { precision, fix, dims, config: { kind: "none" } } as const;
  return listening({ onProgress, onNotice }, ({ onNotice: told }) =>
    planFile(path, gpu, choice, { timeoutSeconds, memoryBytes, onNotice: told }),
  );
}

/**
 * Times a model on the GPU with the bundled kernels, whole and step by step. All times are microseconds; rates are TFLOP/s and GB/s.
 *
 * @throws InputError Where there is no GPU that can be used (`gpu-missing` and others that begin with `gpu-`), or a model that does not run.
 */
export async function bench(path: string, options: BenchOptions = {}): Promise<BenchReport> {
  checkPath(path);
  checkOptions(options, benchSchemas);
  const { precision, fix = true, dims = {}, device = 0, repeats, warmup, autotuneSeconds } = options;
  const { timeoutSeconds, memoryBytes, onProgress, onNotice } = options;
  const { benchModels } = await import("./runs.ts");
  const request = { precision, fix, dims, device, repeats, warmup, autotuneSeconds, compare: false };
  return listening({ onProgress, onNotice }, (listeners) =>
    benchModels(
      [path],
      { ...request, config: { kind: "none" } },
      { timeoutSeconds, memoryBytes, ...listeners },
    ),
  );
}
