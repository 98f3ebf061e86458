/** @file `validate` for programs: does a model compute on the GPU what it should, and how much faster? */
import type { ValidateReport } from "../gpu/validate/report.ts";
import type { ValidateOptions as Asked } from "../gpu/validate/validation.ts";
import {
  type CallOptions,
  checkOptions,
  checkPath,
  listening,
  type OptionSchemas,
  schemas,
} from "./options.ts";

/** What is left out is as in `tc-lint validate`: drawn inputs, the first sizes that run, FP16 or what is stored. */
export type ValidateOptions = CallOptions & {
  readonly [Name in keyof Asked]?: NonNullable<Asked[Name]>;
};

const ownSchemas: OptionSchemas<Asked> = {
  against: schemas.path,
  precision: schemas.precision,
  inputs: schemas.inputs,
  seeds: schemas.positive,
  dims: schemas.sizes,
  batch: schemas.positive,
  layers: schemas.flag,
  device: schemas.count,
  repeats: schemas.positive,
  warmup: schemas.count,
  autotuneSeconds: schemas.positive,
};

/**
 * Runs a model on the GPU, with the bundled kernels, and compares its outputs with ONNX Runtime's (or, where that is not
 * installed, with an FP32 run of the kernels). Times are microseconds of whole runs.
 *
 * @throws InputError Where there is no GPU that can be used (`gpu-missing` and others that begin with `gpu-`), or a model that does not run.
 */
export async function validate(path: string, options: ValidateOptions = {}): Promise<ValidateReport> {
  checkPath(path);
  checkOptions(options, ownSchemas);
  const { timeoutSeconds, memoryBytes, onProgress, onNotice, ...asked } = options;
  const { validateModel } = await import("../gpu/validate/validation.ts");
  const defaults: Asked = {
    against: undefined,
    precision: undefined,
    inputs: undefined,
    seeds: 1,
    dims: {},
    batch: undefined,
    layers: false,
    device: 0,
    repeats: undefined,
    warmup: undefined,
    autotuneSeconds: undefined,
  };
  return listening({ onProgress, onNotice }, (listeners) =>
    validateModel(path, { ...defaults, ...asked }, { timeoutSeconds, memoryBytes, ...listeners }),
  );
}
