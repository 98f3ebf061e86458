import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { observeRanges } from "../../src/verify/index.ts";
import { tensorOf } from "../../src/verify/tensor.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { floats, info, node, type types } from "../onnx/build.ts";
import { Models } from "./models.ts";

let child: Bundle;
let models: Models;
beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
  models = new Models(child);
});
afterAll(() => models[Symbol.dispose]());

/** square = x², y = square · 1000 - 7. */
const graph: types.IGraphProto = {
  node: [
    node("Mul", ["x", "x"], ["square"]),
    node("Mul", ["square", "k"], ["scaled"]),
    node("Sub", ["scaled", "seven"], ["y"]),
  ],
  initializer: [floats("k", [], [1000]), floats("seven", [], [7])],
  input: [info("x", ["n", 4])],
  output: [info("y", ["n", 4])],
};

const values = ["x", "square", "scaled", "y"];

function observe(samples?: readonly number[][]) {
  const options = {
    childUrl: pathToFileURL(child.path),
    values,
    samples: samples?.map((numbers) => new Map([["x", tensorOf("float32", [1, 4], numbers)]])),
  };
  return observeRanges(models.write("ranges", graph), options);
}

describe("ranges of values", () => {
  it("are the largest magnitudes over the samples given", async () => {
    const ranges = await observe([
      [1, -2, 0, 0],
      [0, 3, 0, 0],
    ]);
    expect(Object.fromEntries(ranges)).toEqual({ x: 3, square: 9, scaled: 9000, y: 8993 });
  });

  it("are those of drawn inputs otherwise", async () => {
    const ranges = await observe();
    const x = ranges.get("x") ?? 0;
    expect(x).toBeGreaterThan(1);
    expect(x).toBeLessThan(6);
    expect(ranges.get("square")).toBeCloseTo(x * x, 4);
  });

  it("have no end where something was not finite", async () => {
    const large = await observe([[1e30, 0, 0, 0]]);
    expect(Object.fromEntries(large)).toMatchObject({
      x: Math.fround(1e30),
      square: Number.POSITIVE_INFINITY,
    });
    for (let at = 0; at < 4; at++) {
      const numbers = [1, 2, 3, 4];
      numbers[at] = Number.NaN;
      expect((await observe([numbers])).get("x")).toBe(Number.POSITIVE_INFINITY);
    }
  });
});
