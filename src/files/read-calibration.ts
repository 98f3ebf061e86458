/** @file The file of `--calibration`. */
import type { Calibration } from "../cost/calibration.ts";
import { checkCalibration } from "../cost/check-calibration.ts";
import { InputError } from "../ir/errors.ts";
import { JsonError, parseJson } from "../settings/json.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";

/** A calibration has a few hundred numbers. */
const maxBytes = 16 << 20;

/** Undefined where no file is named. Throws InputError `bad-calibration`. */
export function readCalibration(path: string | null): Calibration | undefined {
  if (path === null) return undefined;
  const fail = (what: string, cause?: unknown) =>
    new InputError("bad-calibration", `${path}: ${what}`, { cause });
  let value: unknown;
  try {
    value = parseJson(readSmallFile(path, maxBytes).toString("utf8"));
  } catch (error) {
    if (error instanceof WireError) throw new InputError("bad-calibration", error.message, { cause: error });
    if (!(error instanceof JsonError)) throw error;
    throw fail(error.message, error);
  }
  const checked = checkCalibration(value);
  if ("problem" in checked) throw fail(checked.problem);
  return checked.calibration;
}
