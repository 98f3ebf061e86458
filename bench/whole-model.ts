/** @file One whole model's predicted time at a batch; what `whole-models.ts` and its test compare with measurements. */
import { createCostModel } from "../src/cost/model.ts";
import { runPasses } from "../src/fix/pipeline.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import type { Target } from "../src/hardware/target.ts";
import type { ValueType } from "../src/ir/model.ts";
import { openModel } from "../src/onnx/open.ts";
import type { Work } from "../src/ops/work.ts";
import { channelsLast } from "../src/passes/channels-last/channels-last.ts";
import type { PassOptions } from "../src/passes/pass.ts";
import { type Step, timelineOf } from "../src/workload/timeline.ts";
import { priceModel } from "../src/workload/workload.ts";

export interface WholeModelRow {
  readonly model: string;
  readonly batch: number;
  readonly measuredMicroseconds: number;
  readonly predicted: number;
  readonly low: number;
  readonly high: number;
}

const options: PassOptions = {
  halfType: "float16",
  halfIo: false,
  ranges: undefined,
  nhwcIo: false,
  nhwcForm: "portable",
};

export function predictModel(
  path: string,
  model: string,
  batch: number,
  measuredMicroseconds: number,
): WholeModelRow {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("the H200's row is missing");
  // The network has operators where its export has several nodes: GELU, LayerNorm, SiLU, attention.
  const fuses = { ...stacks.cudnn.fuses, elementwise: "chains", attention: true } as const;
  const target: Target = { gpu, stack: { ...stacks.cudnn, fuses }, precision: "fp16" };
  using opened = openModel(path);
  const cost = createCostModel();
  // The measured networks ran channels_last: the graph is brought there by tc-lint's own pass.
  const { model: nhwc } = runPasses(opened, { target, cost, passes: [channelsLast], minSaving: 0, options });
  const { timeline } = priceModel(nhwc, { target, cost });
  const exported = exportedBatch(opened.graph.inputs[0]?.declared);
  const factor = batch / exported;
  const steps = timeline.steps.map((step): Step => {
    const work = scaleBatch(step.work, factor);
    const estimate = cost.estimate(work, target, step.detail);
    return { ...step, work, estimate, microseconds: estimate.microseconds * step.runs };
  });
  const { microseconds: predicted, low, high } = timelineOf(steps);
  return { model, batch, measuredMicroseconds, predicted, low, high };
}

/** A symbolic batch was costed at 1. */
function exportedBatch(type: ValueType | undefined): number {
  const first = type?.kind === "tensor" ? type.shape?.[0] : undefined;
  return typeof first === "number" ? first : 1;
}

/** The same work for `factor` times the samples: weights are shared, everything else grows. */
function scaleBatch(work: Work<number>, factor: number): Work<number> {
  switch (work.kind) {
    case "gemm":
      return work.sharedB && work.batch === 1
        ? { ...work, m: work.m * factor }
        : { ...work, batch: work.batch * factor };
    case "traffic": {
      const { rows, bytesRead, bytesWritten } = work;
      return {
        ...work,
        rows: rows * factor,
        bytesRead: bytesRead * factor,
        bytesWritten: bytesWritten * factor,
      };
    }
    default:
      return { ...work, batch: work.batch * factor };
  }
}
