/** @file Plans of the zoo: ten as texts, all of them made, in every precision. No GPU takes part. */
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Plan, PlanError, type PlanTarget } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { describePlan } from "../../../cuda-runtime/plan/print.ts";
import { findGpu } from "../../../src/hardware/gpus.ts";
import { machineOf } from "../../../src/hardware/machine.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { openZooModel, sizesFor } from "../../gpu/zoo-models.ts";
import { eachModel, zoo, zooNames } from "../../zoo.ts";
import { digestPlan } from "./digest.ts";

const precisions = ["fp32", "tf32", "fp16", "bf16"] as const satisfies readonly Precision[];

/** Each exercises something of its own: residuals, depthwise, attention, windows, concatenations in place, odd channels. */
const printed = [
  "bert",
  "densenet121",
  "llama_dynamo",
  "misaligned_cnn",
  "mobilenet_v2",
  "resnet50",
  "sd_unet",
  "swin_tiny",
  "vit_tiny",
  "yolo",
];

/** The same block a dozen times and more: each kind of step once. */
const digested = new Set(["densenet121", "swin_tiny", "vit_tiny"]);

function planOf(name: string, precision: Precision, target?: PlanTarget): Plan {
  using model = openZooModel(zoo, name);
  const dims = sizesFor(model, name, path.join(zoo, "manifest.json"));
  return planModel({ model, precision, dims, target, weights: weightsOf(model) });
}

/** "planned", or what stands in its way. */
function outcomeOf(name: string, precision: Precision): string {
  try {
    return planOf(name, precision).steps.length > 0 ? "planned" : "no steps";
  } catch (error) {
    if (error instanceof PlanError) return `${error.operator}: ${error.message}`;
    throw error;
  }
}

describe("plans of the zoo", () => {
  // After a change that is meant: npx vitest run test/cuda-runtime/plan/zoo.test.ts -u, and read the difference.
  eachModel(printed)("%s in fp16, step by step", async (name) => {
    const whole = describePlan(planOf(name, "fp16"));
    const text = digested.has(name) ? digestPlan(whole) : whole;
    await expect(text).toMatchFileSnapshot(`snapshots/${name}.fp16.txt`);
  });

  eachModel(printed)("%s is planned alike for the H200 that the hardware table knows", (name) => {
    const row = findGpu("h200");
    const target = row && machineOf(row);
    expect(describePlan(planOf(name, "fp16", target))).toBe(describePlan(planOf(name, "fp16")));
  });

  eachModel(["bert"])("%s has the same plan each time", (name) => {
    expect(describePlan(planOf(name, "fp16"))).toBe(describePlan(planOf(name, "fp16")));
  });

  test.each(precisions)("every model has one in %s", (precision) => {
    const outcomes = new Map(zooNames.map((name) => [name, outcomeOf(name, precision)]));
    const refused = [...outcomes].filter(([, outcome]) => outcome !== "planned");
    console.log(`${precision}: ${outcomes.size - refused.length} of ${outcomes.size} models planned`);
    expect(refused).toEqual([]);
  });
});
