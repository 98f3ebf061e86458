/** @file A sampling loop: iterations on the device, one behind the other, over weights that are prepared once. */
import { expect, test } from "vitest";
import { lifetimesOf, placeBuffers } from "../../../cuda-runtime/plan/arena.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { samplingModel } from "../../../fixtures/sampling.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";

const network = { batch: 1, channels: 4, size: 32, width: 16, depth: 2, dtype: "float16" } as const;

function planned(steps: number) {
  using model = modelFromBytes(samplingModel({ ...network, steps }));
  const plan = planModel({ model, weights: weightsOf(model) });
  const arena = placeBuffers(lifetimesOf(plan.steps, ({ kind }) => kind === "temporary"));
  return { plan, arenaBytes: arena.bytes };
}

test("a sampling loop of twenty steps is one plan, in the memory of two", () => {
  const [two, twenty] = [planned(2), planned(20)];
  const ofOne = (twenty.plan.steps.length - two.plan.steps.length) / 18;
  expect(Number.isInteger(ofOne)).toBe(true);
  // Of a network of 8 convolutions and 2 normalizations.
  expect(ofOne).toBeLessThanOrEqual(24);
  expect(twenty.plan.prepare.length).toBe(two.plan.prepare.length);
  expect(twenty.plan.uploads.length).toBe(two.plan.uploads.length);
  expect(twenty.arenaBytes).toBeLessThanOrEqual(two.arenaBytes * 1.1);
  expect(twenty.plan.inputs).toHaveLength(1);
});
