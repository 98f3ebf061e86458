/** Nodes that nobody could look at take a time that nobody knows: no report says 0 µs of them. */
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { compare, lint } from "../../src/index.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { lintFormats } from "../../src/report/registry.ts";
import { reportOf } from "../../src/report/summary.ts";
import { options } from "./sample.ts";

/** Operators of somebody else's, and a product behind them. */
function network(products: number): Uint8Array {
  return model({ name: "custom", opset: 17, domains: { "my.ops": 1 } }, (graph) => {
    let x = graph.node("Mystery", [graph.input("x", [512, 1024])], {}, { domain: "my.ops" });
    x = graph.node("Riddle", [x], {}, { domain: "my.ops" });
    const read = products === 0 ? x : graph.input("z", [512, 1024]);
    for (let at = 0; at < products; at++)
      graph.node("MatMul", [read, graph.weight([1024, 1024])], {}, { outputs: ["y"] });
    graph.output(x);
    if (products > 0) graph.output("y", "float32");
  });
}

/** Ticks of an axis begin there. */
const zero = /(?<![\d.,]|<span style="left:0%">)0 µs/;

function rendered(format: "text" | "markdown" | "html", models: readonly ModelReport[]) {
  return Promise.resolve(lintFormats[format](reportOf([...models], "1"), options));
}

describe.each(["text", "markdown", "html"] as const)("%s", (format) => {
  it("a model of unknown operators alone is not priced, alone and among others", async () => {
    const report = await lint(network(0));
    expect(report.predicted.microseconds).toBe(0);
    const other = await lint(network(1));
    for (const models of [
      [report],
      [report, other],
      [
        { ...report, scenario: "h200" },
        { ...other, path: report.path, scenario: "l4" },
      ],
    ]) {
      const text = await rendered(format, models);
      expect(text).toContain("not priced");
      expect(text).not.toMatch(zero);
    }
    expect(await rendered(format, [report])).toContain("2 nodes could not be looked at");
  });

  it("a time that unknown operators are no part of says so", async () => {
    const text = await rendered(format, [await lint(network(1))]);
    expect(text).toContain("without 2 nodes that could not be looked at");
    expect(text).not.toContain("not priced");
  });
});

it("what is not priced is neither faster nor slower than anything", async () => {
  const sides = [
    [network(0), network(1)],
    [network(1), network(0)],
  ] as const;
  for (const [base, head] of sides) {
    const { time, stored, verdict } = await compare(base, head);
    expect([time, stored, verdict]).toEqual([null, null, null]);
  }
});
