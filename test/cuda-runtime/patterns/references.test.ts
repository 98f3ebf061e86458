/** @file Attributes that a function takes from its call count as written out: in recognisers, and wherever nodes are fused. */
import { describe, expect, it } from "vitest";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import { extractProducts } from "../../../src/facts/products.ts";
import { modelFromBytes, type OpenModel } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { info, modelBytes, node, type types } from "../../onnx/build.ts";
import { attribute, attributes, launchesOf } from "../small-plan.ts";

type Given = types.IAttributeProto;
type Body = (given: (attribute: Given) => Given) => types.INodeProto[];

function nameOf({ name = "", type = 0 }: Given): Given {
  return { name, type };
}

/** The body over q, k and v, in a function whose attributes the call gives; or the same nodes in the graph itself. */
function modelOf(body: Body, isCall: boolean): OpenModel {
  const taken: Given[] = [];
  const nodes = body((written) => {
    taken.push(written);
    return isCall ? { ...nameOf(written), refAttrName: written.name ?? "" } : written;
  });
  const opsetImport = [
    { domain: "", version: 17 },
    { domain: "local", version: 1 },
  ];
  const inputs = ["q", "k", "v"];
  const call = node("F", inputs, ["y"], { domain: "local", attribute: taken });
  const graph = {
    node: isCall ? [call] : nodes,
    input: inputs.map((name) => info(name, [1, 16, 64, 64])),
    output: [info("y")],
  };
  const definition = {
    ...{ domain: "local", name: "F", input: inputs, output: ["y"], node: nodes, opsetImport },
    attribute: taken.map(({ name }) => name ?? ""),
  };
  return modelFromBytes(modelBytes(graph, { opsetImport, functions: isCall ? [definition] : [] }));
}

/** Every launch, with its parameters. */
function launchesIn(body: Body, isCall: boolean): unknown[] {
  using model = modelOf(body, isCall);
  const { steps } = planModel({ model, precision: "fp16", weights: weightsOf(model) });
  return launchesOf(steps).map(({ kernel, params }) => [
    kernel.entry,
    Buffer.from(params.bytes).toString("hex"),
  ]);
}

function productsIn(body: Body, isCall: boolean): unknown[] {
  using model = modelOf(body, isCall);
  return extractProducts(inferFacts(model)).products.map(({ work }) => work);
}

const swapped = attributes("perm", [0, 1, 3, 2]);

describe("A function's attribute is what the call gives", () => {
  it.each<readonly [string, Body]>([
    [
      "for the axis of attention's softmax",
      (given) => [
        node("Transpose", ["k"], ["kt"], { attribute: [swapped] }),
        node("MatMul", ["q", "kt"], ["s"]),
        node("Softmax", ["s"], ["p"], { attribute: [given(attribute("axis", 2))] }),
        node("MatMul", ["p", "v"], ["y"]),
      ],
    ],
    [
      "for the order of attention's keys",
      (given) => [
        node("Transpose", ["k"], ["kt"], { attribute: [given(swapped)] }),
        node("MatMul", ["q", "kt"], ["s"]),
        node("Softmax", ["s"], ["p"]),
        node("MatMul", ["p", "v"], ["y"]),
      ],
    ],
    [
      "for the epsilon of a normalization with a SiLU behind it",
      (given) => [
        node("ReduceMean", ["v"], ["m"], {
          attribute: [attributes("axes", [1, 2, 3]), attribute("keepdims", 0)],
        }),
        node("Concat", Array<string>(16).fill("m"), ["scale"], { attribute: [attribute("axis", 0)] }),
        node("InstanceNormalization", ["q", "scale", "scale"], ["n"], {
          attribute: [given({ name: "epsilon", type: 1, f: 0.5 })],
        }),
        node("Sigmoid", ["n"], ["g"]),
        node("Mul", ["n", "g"], ["y"]),
      ],
    ],
    [
      "for the axes of a mean",
      (given) => [
        node("ReduceMean", ["q"], ["m"], {
          attribute: [given(attributes("axes", [3])), given(attribute("keepdims", 0))],
        }),
        node("ReduceMean", ["k"], ["n"], { attribute: [attributes("axes", [3]), attribute("keepdims", 0)] }),
        node("Concat", ["m", "n"], ["y"], { attribute: [given(attribute("axis", 1))] }),
      ],
    ],
  ])("%s", (_, body) => {
    expect(launchesIn(body, true)).toEqual(launchesIn(body, false));
    expect(productsIn(body, true)).toEqual(productsIn(body, false));
  });
});
