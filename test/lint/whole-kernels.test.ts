/** The bundled runtime's planner may price a kernel far from the cost model: what a finding saves is a part of the planner's time. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { expectKernelsStay } from "./sums.ts";

const options = { stack: "tc-runtime", verbose: true, layers: true } as const;

describe("on tc-runtime", () => {
  eachModel(zooNames)(
    "%s: what is changed and stays saves a part of its time, and no prediction is sure",
    async (name) => expectKernelsStay(await lint(zooModel(name), options)),
    60_000,
  );

  eachModel(["llama", "llama_dynamo"])(
    "%s: products in one launch share its time, before a repair brings them together and behind it",
    async (name) => {
      const { layers = [], groups } = await lint(zooModel(name), options);
      const products = layers.filter(({ op, family }) => op === "MatMul" && family === "gemm");
      expect(products.length).toBeGreaterThan(0);
      for (const { node, microseconds } of products) expect(microseconds, node).toBeGreaterThan(0);
      // Gate and up gain alike, in both blocks.
      const padded = groups.filter(({ code, fix }) => code === "TC102" && fix === "safe");
      expect(padded.map(({ findings }) => findings.length)).toEqual([4]);
    },
    60_000,
  );
});
