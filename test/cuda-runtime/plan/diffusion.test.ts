/** @file Steps of diffusion are one launch each, whatever their sizes. */
import { describe, expect, it, test } from "vitest";
import type { Step } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { ddimStep, ddpmStep, flowStep, type StepSizes, temporalBlend } from "../../../fixtures/diffusion.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { floats, info, node } from "../../onnx/build.ts";
import { familiesOf, planOf } from "../small-plan.ts";

const steps = { ddimStep, ddpmStep, flowStep, temporalBlend };

function stepsOf(bytes: Uint8Array, precision: Precision): readonly Step[] {
  using model = modelFromBytes(bytes);
  return planModel({ model, precision, weights: weightsOf(model) }).steps;
}

/** Ranks 3 to 5 (latents, images, videos), from one sample of a few elements to 16 million. */
function drawnSizes(): StepSizes[] {
  let state = 7;
  const upTo = (most: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return 1 + Math.floor(((state >>> 8) / 2 ** 24) * most);
  };
  const drawn = Array.from({ length: 24 }, (_, at) => {
    const inner = Array.from({ length: 1 + (at % 3) }, () => 1 + upTo(60));
    return {
      shape: [upTo(8), upTo(16), ...inner],
      dtype: at % 2 === 0 ? ("float32" as const) : ("float16" as const),
    };
  });
  return [...drawn, { shape: [16, 4, 512, 512] }, { shape: [1, 16, 1024, 1024], dtype: "float16" }];
}

describe("a step of diffusion", () => {
  it.each(Object.entries(steps))("%s is one launch", (_name, build) => {
    for (const sizes of drawnSizes()) {
      for (const precision of ["model", "fp16", "bf16"] as const) {
        const found = familiesOf(stepsOf(build(sizes), precision));
        expect([sizes.shape, precision, found]).toEqual([sizes.shape, precision, ["chain"]]);
      }
    }
  });

  test("stores what it would compute anew for every element", () => {
    // One number a column: neighbouring elements do not share it.
    const plan = planOf({
      node: [
        node("Sub", ["one", "a"], ["rest"]),
        node("Sqrt", ["rest"], ["root"]),
        node("Mul", ["root", "x"], ["y"]),
      ],
      initializer: [floats("one", [], [1])],
      input: [info("x", [256, 512]), info("a", [512])],
      output: [info("y", [256, 512])],
    });
    expect(familiesOf(plan.steps)).toEqual(["chain", "chain"]);
  });
});
