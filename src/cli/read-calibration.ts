/** @file The file of `--calibration`. */
import { readFileSync } from "node:fs";
import type { Calibration } from "../cost/calibration.ts";
import { checkCalibration } from "../cost/check-calibration.ts";
import { InputError } from "../ir/errors.ts";

/** Undefined where no file is named. Throws InputError `bad-calibration`. */
export function readCalibration(path: string | null): Calibration | undefined {
  if (path === null) return undefined;
  const fail = (what: string, cause?: unknown) =>
    new InputError("bad-calibration", `${path}: ${what}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw fail(`the calibration cannot be read: ${reason}`, error);
  }
  const checked = checkCalibration(value);
  if ("problem" in checked) throw fail(checked.problem);
  return checked.calibration;
}
