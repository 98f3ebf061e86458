/** The bundled runtime runs several products in one launch: each has its part of the time. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

const options = { stack: "tc-runtime", verbose: true, layers: true } as const;

describe("on tc-runtime", () => {
  eachModel(["llama", "llama_dynamo"])(
    "%s: products in one launch share its time, before a repair brings them together and behind it",
    async (name) => {
      const { layers = [], groups, unlisted } = await lint(zooModel(name), options);
      const products = layers.filter(({ op, family }) => op === "MatMul" && family === "gemm");
      expect(products.length).toBeGreaterThan(0);
      for (const { node, microseconds } of products) expect(microseconds, node).toBeGreaterThan(0);
      // Down, and gate and up, gain alike in both blocks, listed or not.
      const told = [...groups, ...(unlisted?.groups ?? [])];
      const padded = told.filter(({ code }) => code === "TC102");
      expect(padded.map(({ findings }) => findings.length)).toEqual([2, 4]);
    },
    60_000,
  );
});
