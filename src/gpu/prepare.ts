/** @file A file to the model that is asked for: opened, perhaps repaired, its weights rounded, inner values exposed. */
import { decideSafe } from "../fix/decide.ts";
import { patched } from "../fix/edits.ts";
import type { FixSettings } from "../fix/pipeline.ts";

import { bytesOf } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { TensorRef } from "../ir/model.ts";
import type { TensorBytes } from "../ir/patch.ts";
import { exposeValues } from "../onnx/expose.ts";
import { modelFromSource, type OpenModel, openModel } from "../onnx/open.ts";
import { elementBytes } from "../onnx/tensor-bytes.ts";
import { weightFiles } from "../onnx/weights.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { roundWeights } from "../verify/rounded.ts";
import { countOf } from "../verify/tensor.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { ModelRequest } from "./protocol.ts";

/** A model as requested, for as long as the file that it reads from is open. */
export interface PreparedModel extends Disposable {
  readonly model: OpenModel;
  /** Whether the repair that was asked for changed anything; false where none was. */
  readonly isFixed: boolean;
}

/** What a repair is told for a model: rules and passes decide, which are above this folder. */
export type FixSettingsOf = (plan: LintPlan) => FixSettings;

export interface Preparation {
  readonly fixSettingsOf: FixSettingsOf;
  /** Whether it is to be run, not planned alone. */
  readonly isRun: boolean;
}

/** Throws InputError: `weights-missing` where it is to be run, repaired or rounded without its weights. */
export function prepareModel(
  { path, fix, rounded, expose = [] }: ModelRequest,
  { fixSettingsOf, isRun }: Preparation,
): PreparedModel {
  const original = openModel(path);
  try {
    const absent = missingWeights(original);
    if (absent !== undefined && (isRun || rounded !== undefined)) throw absent;
    let model = original;
    if (fix !== undefined) model = decideSafe(model, fixSettingsOf(fix)).fixed.model;
    const isFixed = model !== original;
    if (rounded !== undefined) model = patched(model, roundWeights(model, rounded), "tc-lint.rounded.data");
    if (expose.length > 0) {
      const segments = exposeValues(model, model.source, expose);
      model = modelFromSource(new SegmentSource(path, segments), model.files);
    }
    return { model, isFixed, [Symbol.dispose]: () => original[Symbol.dispose]() };
  } catch (error) {
    original[Symbol.dispose]();
    throw error;
  }
}

/** What to tell a user whose model's weights are elsewhere; undefined where they are there. */
export function missingWeights(model: OpenModel): InputError | undefined {
  // What a repair has made is nowhere on the disk.
  const absent = weightFiles(model).find(
    ({ present, location }) => !present && !model.files.made.has(location),
  );
  if (absent === undefined) return undefined;
  return new InputError(
    "weights-missing",
    `${model.path}: its weights are in "${absent.location}", which is not there; running it needs them`,
  );
}

/** A weight's bytes; where they are not there, whoever reads them is told so. */
export function weightOf(model: OpenModel, tensor: TensorRef, absent: InputError | undefined): TensorBytes {
  if (absent === undefined || tensor.data.kind !== "external")
    return elementBytes(model.source, model.files, tensor, encodeNumbers);
  const { dtype, dims } = tensor;
  const size = dtype === undefined ? 0 : countOf(dims) * Math.max(1, bytesOf(dtype, 1));
  return {
    size,
    readInto: () => {
      throw absent;
    },
  };
}
