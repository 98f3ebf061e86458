/** @file Which node a step is said to be for, though it is launched when others ask for its result. */
import { describe, expect, test } from "vitest";
import { info, node, type types } from "../../onnx/build.ts";
import { attributes, planOf, weight } from "../small-plan.ts";

const pads = { attribute: [attributes("pads", [1, 1, 1, 1])] };

function stepsOf(nodes: types.INodeProto[], output: string) {
  const { prepare, steps } = planOf(
    {
      node: nodes.map((each) => ({ ...each, name: each.output?.[0] ?? "" })),
      initializer: [weight("w", [16, 16, 3, 3]), weight("v", [16, 16, 3, 3])],
      input: [info("x", [1, 16, 8, 8])],
      output: [info(output)],
    },
    "fp16",
  );
  const named = (all: typeof steps) => all.map(({ label, operator }) => `${operator} ${label}`);
  return { prepare: named(prepare), steps: named(steps) };
}

describe("a step is for", () => {
  test("the product that it computes, not the node that reads it", () => {
    const { prepare, steps } = stepsOf(
      [
        node("Conv", ["x", "w"], ["a"], pads),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "v"], ["c"], pads),
        node("MaxPool", ["c"], ["y"], { attribute: [attributes("kernel_shape", [2, 2])] }),
      ],
      "y",
    );
    expect(steps.filter((step) => step.startsWith("Conv"))).toEqual(
      expect.arrayContaining(["Conv a", "Conv c"]),
    );
    expect(steps.filter((step) => step.startsWith("MaxPool"))).toEqual(["MaxPool y"]);
    expect(steps.filter((step) => step.startsWith("Relu"))).toEqual([]);
    // Packing of weights goes with the product.
    expect(new Set(prepare)).toEqual(new Set(["Conv a", "Conv c"]));
  });

  test("the last node of the chain that it computes", () => {
    const { steps } = stepsOf(
      [
        node("Exp", ["x"], ["a"]),
        node("Neg", ["a"], ["b"]),
        node("MaxPool", ["b"], ["y"], { attribute: [attributes("kernel_shape", [2, 2])] }),
      ],
      "y",
    );
    expect(steps).toEqual(["Neg b", "MaxPool y", "output y"]);
  });

  test("the node that makes an output, where it writes there itself", () => {
    expect(stepsOf([node("Exp", ["x"], ["y"])], "y").steps).toEqual(["Exp y"]);
  });
});
