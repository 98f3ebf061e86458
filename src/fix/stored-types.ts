/** @file Repairs that keep a file's types, and are told in these, whatever the file is to be computed in. */
import { isOfTypes } from "../ir/fix-command.ts";
import type { OpenModel } from "../onnx/open.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { changesTypes, type FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";

/**
 * Whether another layout is asked for by name, and half precision is not: NHWC is written where it gains in half alone, too, into a file that
 * stays FP32.
 */
export function keepsTypes(settings: FixSettings): boolean {
  return !changesTypes(settings) && asksForLayout(settings) && isOfTypes(settings.target.precision);
}

/** By name, and not where it is predicted to be faster. */
export function asksForLayout({ passes, options }: FixSettings): boolean {
  return options.nhwcOnlyWhereFaster !== true && passes.some(({ name }) => name === "channels-last");
}

/** Whether times are of the types that the file stores: those of one that is to be brought to half, or may be, and of one that keeps its types. */
export function isTimedAsStored(settings: FixSettings): boolean {
  return changesTypes(settings) || keepsTypes(settings) || settings.isHalfLeft === true;
}

/** A file that is to be brought to half, or may be, and one that keeps its types, is priced in the types that it stores. */
export function asWritten(model: OpenModel, settings: FixSettings): Workload {
  const workload = priced(model, settings);
  return isTimedAsStored(settings) ? pricedAt(workload, "as-is", settings.cost) : workload;
}
