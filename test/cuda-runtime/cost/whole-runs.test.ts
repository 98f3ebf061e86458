/**
 * @file Whole runs as planned, held to whole runs from a cold L2 on an H100, 2026-11-27, and on an H200: `dist/gpu/in-run.js --last` of the zoo's exports. Those on
 * the H100 ran one launch behind another: what is predicted so is held to them.
 */
import { expect } from "vitest";
import { planFile } from "../../../src/api/runs.ts";
import { findGpu } from "../../../src/hardware/gpus.ts";
import { inOrderMicroseconds } from "../../../src/report/steps-text.ts";
import { eachModel, zooModel } from "../../zoo.ts";
import { measuredRows } from "./measured-ways.ts";

interface WholeRun {
  readonly model: string;
  readonly launches: number;
  readonly microseconds: number;
}

const measured = {
  h100: measuredRows<WholeRun>("h100-runtime-models.jsonl"),
  /** 2026-11-30. No price is fitted to these runs; those of lanes are to others of bert, resnet50, shufflenet_v2, video_unet_48 and vit_tiny. */
  h200: measuredRows<WholeRun>("h200-runtime-runs.jsonl"),
} as const;

async function checkRun(name: string, gpuId: keyof typeof measured): Promise<void> {
  const run = measured[gpuId].find(({ model }) => model === name);
  const gpu = findGpu(gpuId);
  if (run === undefined || gpu === undefined) throw new Error(`${name} was not measured`);
  const choice = { precision: "fp16", fix: false, dims: {}, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => {} };
  const plan = await planFile(zooModel(name), gpu, choice, limits);
  const inOrder = plan.steps.reduce((sum, step) => sum + inOrderMicroseconds(step), 0);
  const predicted = gpuId === "h100" ? inOrder : plan.predictedMicroseconds;
  if (gpuId === "h200") expect(plan.steps).toHaveLength(run.launches);
  expect(Math.abs(Math.log(predicted / run.microseconds))).toBeLessThan(Math.log(1.125));
}

const models = ["resnet50", "shufflenet_v2", "efficientnet_b0", "mobilenet_v2", "bert", "video_unet_48"];

eachModel([...models, "densenet121"])("%s is predicted within an eighth of its run", async (name) =>
  checkRun(name, "h100"),
);

eachModel([...models, "vit_tiny", "siglip_so400m_d2"])(
  "%s is, on an H200, in as many launches",
  async (name) => checkRun(name, "h200"),
);
