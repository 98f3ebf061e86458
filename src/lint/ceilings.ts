/** @file What the target could reach: the roofs of a roofline plot. */
import { ceilingsOf } from "../hardware/ceilings.ts";
import type { Gpu } from "../hardware/gpus.ts";
import type { CeilingsReport } from "./result.ts";

/** What one machine reached, where one was measured; else what the datasheet promises. */
export function ceilingsReport(gpu: Gpu): CeilingsReport {
  const measured = ceilingsOf(gpu.id);
  return {
    kind: measured === undefined ? "datasheet" : "measured",
    tensorTflops: { ...gpu.tensorTflops, ...measured?.tensorTflops },
    cudaTflops: measured?.cudaTflops ?? gpu.cudaTflops,
    dramGBps: measured?.dramGBps ?? gpu.dramGBps,
    source: measured?.source ?? gpu.source,
  };
}
