/** @file Branches of models beside each other: what pays is, what shares memory is in order, and the account says what the run takes. */
import { describe, expect, it } from "vitest";
import { predictedMicroseconds } from "../../../cuda-runtime/cost/predict.ts";
import { h200, type Plan, type Step } from "../../../cuda-runtime/ir/step.ts";
import { lifetimesOf, placeBuffers, viewsOf } from "../../../cuda-runtime/plan/arena.ts";
import { withBranches } from "../../../cuda-runtime/plan/branches.ts";
import { placesIn } from "../../../cuda-runtime/plan/lanes.ts";
import { needsOf } from "../../../cuda-runtime/plan/needs.ts";
import { planSizes } from "../../../src/gpu/plan.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { openModel } from "../../../src/onnx/open.ts";
import { info, node } from "../../onnx/build.ts";
import { eachModel, zooModel } from "../../zoo.ts";
import { add, view } from "../fake-plan.ts";
import { attributes, planOf, weight } from "../small-plan.ts";
import { overBefore } from "./over-before.ts";

/** Steps that need each other are in order, and so are those whose buffers share memory. */
function expectInOrder({ steps }: Plan): void {
  const over = overBefore(placesIn(steps));
  for (const [step, needs] of needsOf(steps).entries())
    for (const need of needs) expect(over[step]?.has(need), `${step} behind ${need}`).toBe(true);
  const placed = placeBuffers(lifetimesOf(steps, ({ kind }) => kind === "temporary")).offsets;
  const users = new Map([...placed.keys()].map((buffer) => [buffer, [] as number[]]));
  for (const [index, step] of steps.entries())
    for (const buffer of new Set(viewsOf(step).map((each) => each.buffer))) users.get(buffer)?.push(index);
  const all = [...placed];
  for (const [a, from] of all)
    for (const [b, other] of all) {
      if (a.id >= b.id || from + a.bytes <= other || other + b.bytes <= from) continue;
      for (const one of users.get(a) ?? [])
        for (const two of users.get(b) ?? [])
          expect(over[Math.max(one, two)]?.has(Math.min(one, two)) ?? false, `${one} and ${two}`).toBe(true);
    }
}

function timeOf(steps: readonly Step[]): number {
  return steps.reduce((sum, { action }) => sum + predictedMicroseconds(action, h200), 0);
}

function inOrder(steps: readonly Step[]): Step[] {
  return steps.map((step) => ({ ...step, action: { ...step.action, runShare: undefined } }));
}

function conv(
  name: string,
  input: string,
  output: string,
  channels: readonly [number, number],
  kernel: number,
) {
  const [from, to] = channels;
  const padding = (kernel - 1) / 2;
  return {
    node: node("Conv", [input, `${name}.w`], [output], {
      name,
      attribute: [attributes("pads", [padding, padding, padding, padding])],
    }),
    weight: weight(`${name}.w`, [to, from, kernel, kernel]),
  };
}

/** Two ways from one tensor to a sum: `a`'s of two convolutions, `b`'s of one. */
function residual(): Plan {
  const layers = [
    conv("first", "x", "stem", [64, 64], 3),
    conv("a1", "stem", "a", [64, 64], 3),
    conv("a2", "a", "long", [64, 256], 1),
    conv("b", "stem", "short", [64, 256], 1),
  ];
  return planOf({
    node: [...layers.map((layer) => layer.node), node("Add", ["long", "short"], ["y"])],
    input: [info("x", [1, 64, 28, 28])],
    output: [info("y", [1, 256, 28, 28])],
    initializer: layers.map((layer) => layer.weight),
  });
}

describe("Branches", () => {
  it("run beside each other where that is predicted to pay, the sum where the longer way ends", () => {
    const { steps } = residual();
    const beside = steps.filter(({ action }) => action.runShare !== undefined);
    expect(beside.map(({ label }) => label)).toEqual(["a1", "b"]);
    expect(new Set(beside.map(({ lane }) => lane)).size).toBe(2);
    expect(timeOf(steps)).toBeLessThan(timeOf(inOrder(steps)) - 0.3);
    expect(steps.findLast(({ operator }) => operator === "Conv")?.label).toBe("a2");
    expectInOrder(residual());
  });

  it("stay in order on GPUs whose launches do not overlap", () => {
    const { steps } = residual();
    const plain = steps.map(({ lane: _, waits: __, ...step }) => step);
    expect(withBranches(inOrder(plain), machineNamed("a100")).every(({ lane }) => lane === undefined)).toBe(
      true,
    );
  });

  it("keep launches in order whose blocks wait for each other", () => {
    const meeting = (id: number): Step => {
      const step = add(view(0, "input"), view(0, "input"), view(id, "temporary"));
      if (step.action.kind !== "launch") throw new Error("a launch");
      const launch = { ...step.action.launch, isAtOnce: true, predictedMicroseconds: 20 };
      return { ...step, action: { kind: "launch", launch } };
    };
    const steps = [add(view(0, "input"), view(0, "input"), view(1, "temporary")), meeting(2), meeting(3)];
    expect(needsOf(steps)).toEqual([[], [], [1]]);
  });
});

eachModel(["googlenet", "resnet50", "yolo", "sd_unet", "video_unet_48", "siamese"])(
  "%s has lanes, on which no step is before what it needs or in memory that another still uses",
  (name) => {
    using model = openModel(zooModel(name));
    const request = { precision: "fp16", target: h200 } as const;
    const { plan } = planSizes(model, {}, request, { memoryBytes: undefined });
    expect(plan.steps.filter(({ action }) => action.runShare !== undefined).length).toBeGreaterThan(3);
    expectInOrder(plan);
  },
);
