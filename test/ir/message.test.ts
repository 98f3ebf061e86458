import { describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { addDims, symbol, unknownDim } from "../../src/ir/dim.ts";
import { listText, numberText, textOf } from "../../src/ir/message.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { info, modelBytes, node, type types } from "../onnx/build.ts";

describe("What messages print", () => {
  it.each([
    [0, "0"],
    [-3, "-3"],
    [0.25, "0.25"],
    [2 ** 53 - 1, "9007199254740991"],
    [2 ** 53, "about 9.007e+15"],
    [-(2 ** 63), "about -9.223e+18"],
    [Number.POSITIVE_INFINITY, "Infinity"],
  ])("of %d is %s", (value, expected) => {
    expect(numberText(value)).toBe(expected);
  });

  it("of sizes: symbols by name, and no number of an unknown one", () => {
    expect(listText([2, symbol("N"), unknownDim()])).toBe("[2,N,?]");
    expect(textOf`axis of ${addDims(unknownDim(), 1)}`).not.toMatch(/\?\d/);
  });

  it("of long lists is the head, and how many there are", () => {
    expect(listText([...Array(16).keys()])).toBe("[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]");
    expect(textOf`perm ${[...Array(2_000_000).keys()]} it is`).toBe(
      "perm [0,1,2,3,4,5,6,7,… 2,000,000 entries] it is",
    );
  });
});

describe("An operator's error", () => {
  function reasonOf(attribute: types.IAttributeProto, opType: string): string | undefined {
    const graph = {
      node: [node(opType, ["x"], ["y"], { attribute: [attribute] })],
      input: [info("x", [2, 3])],
      output: [info("y")],
    };
    using model = modelFromBytes(modelBytes(graph));
    return inferFacts(model).skipped[0]?.reason;
  }

  it("marks an integer that a double does not hold", () => {
    const axis = { name: "axis", type: 2, i: 2 ** 60 };
    expect(reasonOf(axis, "ArgMax")).toBe("axis about 1.153e+18 is outside a tensor of rank 2");
  });

  it("counts a list of thousands", () => {
    const perm = { name: "perm", type: 7, ints: [...Array(5000).keys()] };
    expect(reasonOf(perm, "Transpose")).toBe(
      "perm [0,1,2,3,4,5,6,7,… 5,000 entries] does not order the axes of a tensor of rank 2",
    );
  });
});
