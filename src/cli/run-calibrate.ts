/** @file Times a fixed sweep on this GPU, and writes the coefficients that it leads to. */
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
import { counted, significant } from "../report/format.ts";
import { type SweepItem, sweep } from "./calibrate-sweep.ts";
import { exitCodes } from "./exit-code.ts";
import { askGpu, kernelsUrl } from "./gpu-process.ts";
import type { SweepReport } from "./gpu-protocol.ts";
import { checkReportFiles, writeReportFile } from "./output.ts";
import { ProgressLine } from "./progress.ts";
import { writeStdout } from "./stdout.ts";

export interface CalibrateFlags {
  readonly device: number;
  readonly output: string;
  readonly timeoutSeconds: number | undefined;
}

const families = ["gemm", "conv", "attention", "traffic"] as const satisfies readonly Family[];
/** Rounds of the search; it ends earlier once nothing helps. */
const searchSweeps = 60;

interface Sample extends SweepItem {
  readonly microseconds: number;
}

/** Returns the exit code. Throws InputError. */
export async function runCalibrate({ device, output, timeoutSeconds }: CalibrateFlags): Promise<number> {
  checkReportFiles([output]);
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns,
  });
  const items = sweep();
  const limits = { timeoutSeconds, onProgress: (what: string) => progress.show(`timing ${what} …`) };
  const report = await askGpu({ kind: "sweep", device, kernels: kernelsUrl, items }, limits).finally(() =>
    progress.erase(),
  );
  const { calibration, lines } = calibrationOf(items, report);
  writeReportFile(output, `${JSON.stringify(calibration, null, 2)}\n`);
  const use = `${output} written; use it with --stack tc-runtime --gpu ${calibration.gpu} --calibration ${output}`;
  await writeStdout(`${[...lines, use].join("\n")}\n`);
  return exitCodes.clean;
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
