/** Every operator that says something of padded axes keeps its word, by ONNX Runtime. */
import { describe, expect, it } from "vitest";
import { allOps } from "../../src/ops/registry.ts";
import { contractCases, cpuLacks } from "./contract-cases.ts";
import { verdictOn } from "./contracts.ts";

const stated = [...allOps()]
  .filter(({ axes, lanes }) => axes !== undefined || lanes !== undefined)
  .map(({ domain, type }) => ({ domain, type, key: `${domain}::${type}` }));

let padded = 0;

describe("padded axes of one node", () => {
  it("have cases for every operator that says something of them, and for no other", () => {
    expect([...contractCases.keys()].sort()).toEqual(stated.map(({ key }) => key).sort());
  });

  it.each(stated)("$key", async ({ domain, type, key }) => {
    const failures: string[] = [];
    let ran = 0;
    for (const [at, given] of (contractCases.get(key) ?? []).entries()) {
      const verdict = await verdictOn(domain, type, given);
      if (verdict === undefined) continue;
      ran += 1;
      padded += verdict.padded;
      failures.push(...verdict.failures.map((failure) => `case ${at}, opset ${given.opset}: ${failure}`));
    }
    expect([...new Set(failures)]).toEqual([]);
    expect(ran === 0, "ONNX Runtime runs none of the cases").toBe(cpuLacks.has(key));
  });

  it("were padded at all", () => {
    console.log(`${padded} runs on padded operands`);
    expect(padded).toBeGreaterThan(3000);
  });
});
