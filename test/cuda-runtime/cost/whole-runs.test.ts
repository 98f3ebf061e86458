/** @file Whole runs as planned, held to whole runs from a cold L2 on an H100, 2026-11-27: what bench/runtime-truth.ts prints of the zoo. */
import { expect } from "vitest";
import { planFile } from "../../../src/api/runs.ts";
import { findGpu } from "../../../src/hardware/gpus.ts";
import { eachModel, zooModel } from "../../zoo.ts";
import { measuredRows } from "./measured-ways.ts";

interface WholeRun {
  readonly model: string;
  readonly launches: number;
  readonly microseconds: number;
}

const measured = measuredRows<WholeRun>("h100-runtime-models.jsonl");

eachModel([
  ...["resnet50", "shufflenet_v2", "efficientnet_b0", "densenet121", "mobilenet_v2", "bert"],
  "video_unet_48",
])("%s is predicted within an eighth of its run, in as many launches", async (name) => {
  const run = measured.find(({ model }) => model === name);
  const gpu = findGpu("h100");
  if (run === undefined || gpu === undefined) throw new Error(`${name} was not measured`);
  const choice = { precision: "fp16", fix: false, dims: {}, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => {} };
  const plan = await planFile(zooModel(name), gpu, choice, limits);
  expect(plan.steps).toHaveLength(run.launches);
  expect(Math.abs(Math.log(plan.predictedMicroseconds / run.microseconds))).toBeLessThan(Math.log(1.125));
});
