/** @file How large values get inside a model, for half precision: on samples of the user, else on drawn inputs. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { observableValues } from "../fix/observable.ts";
import type { FixSettings } from "../fix/pipeline.ts";
import { InputError } from "../ir/errors.ts";
import { openModel } from "../onnx/open.ts";
import type { Ranges } from "../passes/pass.ts";
import { counted } from "../report/format.ts";
import { observeRanges, type Tensors } from "../verify/index.ts";
import type { FixFlags } from "./fix-options.ts";
import type { Guard } from "./guard.ts";
import { readInputs } from "./read-inputs.ts";

export interface ObservedRanges {
  readonly ranges: Ranges | undefined;
  /** For the report: `3 sets of sample inputs (samples/)`, or why there are none. */
  readonly from: string;
}

export interface RangeRequest {
  readonly path: string;
  readonly settings: Pick<FixSettings, "shapes" | "dims">;
  readonly flags: Pick<FixFlags, "samples" | "verify">;
  readonly childUrl: URL;
  readonly sizes: Readonly<Record<string, readonly number[]>>;
  readonly onProgress: (what: string) => void;
  /** Limits of the whole repair. */
  readonly guard?: Guard | undefined;
}

/** Throws InputError where the samples cannot be read or the model does not take them. */
export async function rangesFor(request: RangeRequest): Promise<ObservedRanges> {
  const { samples } = request.flags;
  if (samples !== undefined) {
    const sets = readSamples(samples);
    return {
      ranges: await observe(request, sets),
      from: `${counted(sets.length, "set")} of sample inputs (${samples})`,
    };
  }
  if (!request.flags.verify) return { ranges: undefined, from: "constants alone (--no-verify)" };
  try {
    return { ranges: await observe(request, undefined), from: "drawn inputs; --samples takes real ones" };
  } catch (error) {
    // Drawn inputs are a courtesy: without them, constants and operators decide.
    if (!(error instanceof InputError)) throw error;
    return { ranges: undefined, from: `constants alone (${error.message})` };
  }
}

async function observe(request: RangeRequest, samples: readonly Tensors[] | undefined): Promise<Ranges> {
  const { path, settings, childUrl, sizes, onProgress, guard } = request;
  const find = () => namesOf(path, settings);
  const values = guard === undefined ? find() : guard.run(find);
  const areSamples = samples !== undefined;
  if (values.length === 0) return { largest: new Map(), areSamples };
  const largest = await observeRanges(path, {
    values,
    samples,
    childUrl,
    sizes,
    onProgress,
    timeoutSeconds: guard?.timeoutSeconds,
  });
  return { largest, areSamples };
}

function namesOf(path: string, settings: RangeRequest["settings"]): readonly string[] {
  using model = openModel(path);
  return observableValues(model, settings);
}

/** One set of inputs an archive; a folder's archives in the order of their names. */
export function readSamples(path: string): readonly Tensors[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new InputError("unreadable", `--samples: ${path}: no such file or folder`);
  const files = stats.isDirectory()
    ? readdirSync(path)
        .filter((name) => name.endsWith(".npz"))
        .sort()
        .map((name) => join(path, name))
    : [path];
  if (files.length === 0) throw new InputError("unreadable", `--samples: ${path}: holds no .npz file`);
  return files.map(readInputs);
}
