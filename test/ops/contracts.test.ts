/** Every operator that says something of padded axes keeps its word, by ONNX Runtime. */
import { describe, expect, it } from "vitest";
import { allOps } from "../../src/ops/registry.ts";
import { contractCases, cpuLacks } from "./contract-cases.ts";
import { verdictOn } from "./contracts.ts";

const stated = [...allOps()]
  .filter(({ axes, lanes }) => axes !== undefined || lanes !== undefined)
  .map(({ domain, type }) => ({ domain, type, key: `${domain}::${type}` }));

/** `npm run fuzz:fix` tries each case in every opset that ONNX Runtime takes it in. */
const { TC_LINT_FUZZ_RUNS: campaign } = process.env;
const everyOpset = campaign === undefined ? undefined : Array.from({ length: 20 }, (_, at) => at + 7);

let padded = 0;

describe("padded axes of one node", () => {
  it("have cases for every operator that says something of them, and for no other", () => {
    expect([...contractCases.keys()].sort()).toEqual(stated.map(({ key }) => key).sort());
  });

  it.each(stated)("$key", { timeout: 600_000 }, async ({ domain, type, key }) => {
    const failures: string[] = [];
    let ran = 0;
    for (const [at, given] of (contractCases.get(key) ?? []).entries()) {
      for (const opset of everyOpset ?? [given.opset]) {
        const verdict = await verdictOn(domain, type, { ...given, opset });
        if (verdict === undefined) continue;
        ran += 1;
        padded += verdict.padded;
        failures.push(...verdict.failures.map((failure) => `case ${at}, opset ${opset}: ${failure}`));
      }
    }
    expect([...new Set(failures)]).toEqual([]);
    const cases = contractCases.get(key) ?? [];
    if (everyOpset === undefined || cpuLacks.has(key)) {
      expect(ran, "cases that ONNX Runtime takes").toBe(cpuLacks.has(key) ? 0 : cases.length);
    }
  });

  it("were padded at all", () => {
    console.log(`${padded} runs on padded operands`);
    expect(padded).toBeGreaterThan(3000);
  });
});
