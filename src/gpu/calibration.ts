/** @file The coefficients that a timed sweep of this GPU leads to. */
import { versionText } from "../../cuda-runtime/session/open.ts";
import type { Calibration, Range } from "../cost/calibration.ts";
import { Fitted } from "../cost/fitted.ts";
import { type SketchOf, searchCoefficients } from "../cost/search.ts";
import type { Family } from "../cost/sketch.ts";
import { type Coefficients, sketch } from "../cost/terms.ts";
import { gpuOfDevice } from "../hardware/machine.ts";
import { stacks } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import { counted, significant } from "../ir/format.ts";
import type { SweepReport } from "./protocol.ts";
import type { SweepItem } from "./sweep.ts";

const families = ["gemm", "conv", "attention", "traffic"] as const satisfies readonly Family[];
/** Rounds of the search; it ends earlier once nothing helps. */
const searchSweeps = 60;

interface Sample extends SweepItem {
  readonly microseconds: number;
}

export interface Calibrated {
  readonly calibration: Calibration;
  /** What the fit leaves over, a line a family. */
  readonly lines: readonly string[];
}

/** Throws InputError where there is no row of the GPU. */
export function calibrationOf(
  items: readonly SweepItem[],
  { device, driverVersion, microseconds }: SweepReport,
): Calibrated {
  const gpu = gpuOfDevice(device);
  if (gpu === undefined)
    throw new InputError("gpu-unsupported", `there is no row for ${device.name} (see tc-lint gpus)`);
  const target: Target = { gpu, stack: stacks["tc-runtime"], precision: "as-is" };
  const samples = items.map((item, index): Sample => ({ ...item, microseconds: microseconds[index] ?? 0 }));
  const sketchOf: SketchOf<Sample> = ({ work, variant }, coefficients) =>
    sketch(work, target, coefficients, { variant, biased: false });
  const coefficients: Partial<Coefficients> = {};
  const analytic: Partial<Record<Family, Range>> = {};
  const lines: string[] = [];
  for (const family of families) {
    const own = samples.filter((sample) => sample.family === family && sample.microseconds > 0);
    const start = new Fitted(target, []).coefficients;
    const found = searchCoefficients(family, own, start, searchSweeps, sketchOf);
    Object.assign(coefficients, { [family]: found[family] });
    const ratios = own.map((sample) => sample.microseconds / sketchOf(sample, found).microseconds);
    const range = rangeOf(ratios);
    analytic[family] = range;
    const ninety = `nine of ten within ${significant(range.low)} to ${significant(range.high)} times the prediction`;
    lines.push(`${family}: ${counted(own.length, "size")}, ${ninety}`);
  }
  const date = new Date().toISOString().slice(0, 10);
  const source = `tc-lint calibrate, ${device.name}, CUDA ${versionText(driverVersion)}, ${date}`;
  return {
    calibration: { schema: 1, gpu: gpu.id, stack: "tc-runtime", source, coefficients, analytic },
    lines,
  };
}

/** What encloses nine of ten. */
function rangeOf(ratios: readonly number[]): Range {
  const sorted = [...ratios].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 1;
  return { low: rounded(Math.min(1, at(0.05))), high: rounded(Math.max(1, at(0.95))) };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
