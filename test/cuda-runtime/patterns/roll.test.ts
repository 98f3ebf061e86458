/** @file Rolled tensors, as exporters write `torch.roll`: one launch along one axis or two, of ONNX Runtime's results. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import { elementCount } from "../../../cuda-runtime/ir/view.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { info, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { interpret } from "../lower/movement-interpreter.ts";
import { runPlan } from "../plan/machine.ts";
import { type Feeds, ran } from "../resample-model.ts";
import { attribute, launchesFor } from "../small-plan.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (importOriginal) => {
  const real = await importOriginal<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("../plan/machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

type Nodes = readonly types.INodeProto[];

interface Graph {
  readonly shape: readonly number[];
  readonly nodes: Nodes;
  readonly constants: readonly types.ITensorProto[];
  readonly outputs: readonly (readonly [string, readonly number[]])[];
}

/** `to` is `from` from `start` on, and what is before that behind it; by Slices, or by a Split. */
function roll(from: string, to: string, axis: number, size: number, start: number, isSplit: boolean) {
  const list = (name: string, ...values: number[]) => integers(`${to}_${name}`, [values.length], values);
  const [front, back] = [`${to}_front`, `${to}_back`];
  const cut = (output: string, begin: string, end: string) =>
    node("Slice", [from, `${to}_${begin}`, `${to}_${end}`, `${to}_axis`], [output]);
  const parts = isSplit
    ? [node("Split", [from, `${to}_sizes`], [front, back], { attribute: [attribute("axis", axis)] })]
    : [cut(front, "zero", "start"), cut(back, "fromEnd", "most")];
  return {
    nodes: [...parts, node("Concat", [back, front], [to], { attribute: [attribute("axis", axis)] })],
    constants: isSplit
      ? [list("sizes", start, size - start)]
      : [
          list("zero", 0),
          list("start", start),
          list("fromEnd", start - size),
          list("most", 2 ** 31),
          list("axis", axis),
        ],
  };
}

function bytesOf({ shape, nodes, constants, outputs }: Graph): Uint8Array {
  return modelBytes({
    name: "roll",
    input: [info("x", [...shape])],
    output: outputs.map(([name, sizes]) => info(name, [...sizes])),
    initializer: [...constants],
    node: [...nodes],
  });
}

async function planRight(bytes: Uint8Array, precision: Precision): Promise<Plan> {
  using model = modelFromBytes(bytes);
  const plan = planModel({ model, precision, weights: weightsOf(model) });
  const [shape = []] = model.graph.inputs.map(({ declared }) =>
    declared?.kind === "tensor" ? declared.shape : [],
  );
  const sizes = (shape ?? []).map((size) => (typeof size === "number" ? size : Number.NaN));
  // Multiples of 1/32 up to 2: exact in half.
  const values = Array.from({ length: elementCount(sizes) }, (_, at) => ((at * 37) % 101) / 32 - 1);
  const feeds: Feeds = { x: { type: "float32", shape: sizes, values } };
  const [actual = []] = Object.values(runPlan(plan, { x: values }, interpret));
  expect(actual).toEqual(Array.from((await ran(bytes, feeds)) ?? []));
  return plan;
}

const forms = fc
  .record({
    shape: fc.array(fc.integer({ min: 2, max: 6 }), { minLength: 2, maxLength: 4 }),
    axes: fc.tuple(fc.nat(3), fc.nat(3)),
    starts: fc.tuple(fc.nat(9), fc.nat(9)),
    isSplit: fc.tuple(fc.boolean(), fc.boolean()),
    precision: fc.constantFrom<Precision>("fp32", "fp16"),
  })
  .map(({ shape, axes, starts, ...rest }) => {
    const [a, b] = axes.map((axis) => axis % shape.length) as [number, number];
    const within = (axis: number, start: number) => 1 + (start % ((shape[axis] ?? 2) - 1));
    return {
      shape,
      axes: [a, b] as const,
      starts: [within(a, starts[0]), within(b, starts[1])] as const,
      ...rest,
    };
  });

describe("a rolled tensor", () => {
  it("is one launch, with one along another axis before it, whose results are ONNX Runtime's", async () => {
    await fc.assert(
      fc.asyncProperty(forms, async ({ shape, axes, starts, isSplit, precision }) => {
        const size = (axis: number) => shape[axis] ?? 1;
        const first = roll("x", "first", axes[0], size(axes[0]), starts[0], isSplit[0]);
        const second = roll("first", "second", axes[1], size(axes[1]), starts[1], isSplit[1]);
        const nodes = [...first.nodes, ...second.nodes, node("Relu", ["second"], ["y"])];
        const constants = [...first.constants, ...second.constants];
        const plan = await planRight(
          bytesOf({ shape, nodes, constants, outputs: [["y", shape]] }),
          precision,
        );
        const rolls = launchesFor(plan.steps, "Roll").filter(({ kernel }) => kernel.kind === "built");
        expect(rolls).toHaveLength(axes[0] === axes[1] ? 2 : 1);
        expect(plan.steps.filter(({ operator }) => operator === "Concat")).toEqual([]);
      }),
      { numRuns: 120, seed: 7 },
    );
  });

  it("is a launch of its own where somebody reads what is between", async () => {
    const first = roll("x", "first", 0, 4, 1, false);
    const second = roll("first", "second", 1, 6, 2, false);
    const nodes = [...first.nodes, ...second.nodes, node("Mul", ["second", "first"], ["y"])];
    const constants = [...first.constants, ...second.constants];
    const plan = await planRight(
      bytesOf({ shape: [4, 6], nodes, constants, outputs: [["y", [4, 6]]] }),
      "fp32",
    );
    expect(launchesFor(plan.steps, "Roll")).toHaveLength(2);
  });
});

describe("what is copied into a concatenation anyway", () => {
  it.each(["fp32", "fp16"] as const)(
    "is written there at once: enlarged and padded parts in %s",
    async (precision) => {
      const list = (name: string, ...values: number[]) => integers(name, [values.length], values);
      const plan = await planRight(
        bytesOf({
          shape: [1, 4, 3, 2],
          nodes: [
            node("Relu", ["x"], ["r"]),
            node("Pad", ["r", "pads"], ["padded"]),
            node("Resize", ["r", "", "", "sizes"], ["resized"], {
              attribute: [
                { name: "mode", type: 3, s: new TextEncoder().encode("nearest") },
                {
                  name: "coordinate_transformation_mode",
                  type: 3,
                  s: new TextEncoder().encode("asymmetric"),
                },
                { name: "nearest_mode", type: 3, s: new TextEncoder().encode("floor") },
              ],
            }),
            node("Concat", ["padded", "resized"], ["y"], { attribute: [attribute("axis", 1)] }),
          ],
          constants: [list("pads", 0, 0, 0, 0, 0, 0, 3, 2), list("sizes", 1, 4, 6, 4)],
          outputs: [["y", [1, 8, 6, 4]]],
        }),
        precision,
      );
      expect(plan.steps.filter(({ operator }) => operator === "Concat")).toEqual([]);
    },
  );
});
