/** @file How large values get inside a model, for half precision: on samples of the user, else on drawn inputs. */

import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import { openModel } from "../onnx/open.ts";
import type { Ranges } from "../passes/pass.ts";
import { type GivenSizes, observeRanges, type Tensors, type VerifyOptions } from "../verify/index.ts";
import type { Within } from "./fix.ts";
import { observableValues } from "./observable.ts";
import { type FixSettings, sizedAs } from "./pipeline.ts";

export interface ObservedRanges {
  readonly ranges: Ranges | undefined;
  /** For the report: `3 sets of sample inputs (samples/)`, or why there are none. */
  readonly from: string;
}

export interface Samples {
  /** As reports name them: the file or folder. */
  readonly name: string;
  readonly sets: readonly Tensors[];
}

export interface RangeRequest
  extends Pick<VerifyOptions, "childUrl" | "sizes" | "onProgress" | "timeoutSeconds"> {
  readonly path: string;
  readonly settings: Pick<FixSettings, "shapes" | "dims" | "rebatch">;
  /** Of the user; where there are none, inputs are drawn. */
  readonly samples: Samples | undefined;
  /** Whether inputs may be drawn: not where the user wants nothing to be run. */
  readonly mayDraw: boolean;
  /** Limits of the whole repair. */
  readonly within: Within;
}

/** Throws InputError where the model does not take the samples. */
export async function rangesFor(request: RangeRequest): Promise<ObservedRanges> {
  const { samples } = request;
  if (samples !== undefined) {
    return {
      ranges: await observe(request, samples.sets),
      from: `${counted(samples.sets.length, "set")} of sample inputs (${samples.name})`,
    };
  }
  if (!request.mayDraw) return { ranges: undefined, from: "constants alone (--no-verify)" };
  try {
    return { ranges: await observe(request, undefined), from: "drawn inputs; --samples takes real ones" };
  } catch (error) {
    // Drawn inputs are a courtesy: without them, constants and operators decide.
    if (!(error instanceof InputError)) throw error;
    return { ranges: undefined, from: `constants alone (${error.message})` };
  }
}

async function observe(request: RangeRequest, samples: readonly Tensors[] | undefined): Promise<Ranges> {
  const { path, childUrl, onProgress, timeoutSeconds, within } = request;
  const { values, sizes } = within(() => observedIn(request));
  const areSamples = samples !== undefined;
  if (values.length === 0) return { largest: new Map(), areSamples };
  const options = { values, samples, childUrl, sizes, onProgress, timeoutSeconds };
  return { largest: await observeRanges(path, options), areSamples };
}

/** The file is run as it is, at what is said of its own symbols. */
function observedIn({ path, settings, sizes }: RangeRequest): {
  readonly values: readonly string[];
  readonly sizes: GivenSizes | undefined;
} {
  using model = openModel(path);
  const here = sizedAs(model, settings);
  const isHere = ([name]: [string, unknown]) => here.dims === undefined || here.dims.has(name);
  return {
    values: observableValues(model, here),
    sizes: sizes && Object.fromEntries(Object.entries(sizes).filter(isHere)),
  };
}
