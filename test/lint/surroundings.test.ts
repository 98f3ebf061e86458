/** @file The graph around findings, as reports have it: near nodes, as many as a drawing takes, with what they read. */
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/index.ts";
import { reportOf } from "../../src/report/summary.ts";

/** A misaligned product whose result `readers` nodes read. */
function widelyRead(readers: number): Uint8Array {
  return model({ name: "wide", opset: 17 }, (graph) => {
    const input = graph.input("in", [512, 1027]);
    const relu = graph.node("Relu", [input], {}, { name: "before" });
    const weight = graph.weight([1027, 1027], { name: "w" });
    const product = graph.node("MatMul", [relu, weight], {}, { name: "product" });
    const outputs = Array.from({ length: readers }, (_, index) =>
      graph.node("Neg", [product], {}, { name: `r${index}` }),
    );
    graph.output(graph.node("Sum", outputs, {}, { name: "sum" }));
  });
}

const settings = { gpu: "h200", minSaving: 0, drawings: true, layers: true } as const;

describe("the graph around a finding", () => {
  it("has the node at its head, its neighbours with their times, and the values between them", async () => {
    const { surroundings = [], findings, layers = [] } = await lint(widelyRead(2), settings);
    const finding = findings.find(({ node }) => node === "product");
    const around = surroundings.find((each) => each.finding === finding?.fingerprint);
    expect(around?.nodes.map(({ node, op, more }) => [node, op, more])).toEqual([
      ["product", "MatMul", 0],
      ["before", "Relu", 0],
      ["r0", "Neg", 0],
      ["r1", "Neg", 0],
      ["sum", "Sum", 0],
    ]);
    expect(around?.nodes[0]?.constants).toEqual(["float32[1027,1027]"]);
    expect(around?.nodes[0]?.microseconds).toBe(layers.find(({ node }) => node === "product")?.microseconds);
    expect(around?.edges).toContainEqual({ from: 1, to: 0, type: "float32[512,1027]" });
    expect(around?.edges).toHaveLength(5);
  });

  it("leaves out what no drawing shows, and counts it", async () => {
    const { surroundings = [] } = await lint(widelyRead(2000), settings);
    const around = surroundings.find(({ nodes }) => nodes[0]?.node === "product");
    expect(around?.nodes).toHaveLength(24);
    expect(around?.nodes[0]?.more).toBe(999);
  });

  it("is there only where a report draws it, and is as the schema says", async () => {
    const plain = await lint(widelyRead(2), { ...settings, drawings: false });
    expect([plain.surroundings, plain.ceilings]).toEqual([undefined, undefined]);
    const schema = JSON.parse(
      readFileSync(new URL("../../schemas/report.schema.json", import.meta.url), "utf8"),
    );
    const validate = new Ajv({ strict: false }).compile(schema);
    for (const gpu of ["h200", "l4"]) {
      validate(reportOf([await lint(widelyRead(40), { ...settings, gpu })], "1.0.0"));
      expect(validate.errors).toBeNull();
    }
  });
});
