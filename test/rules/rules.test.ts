import { describe, expect, it } from "vitest";
import { ruleFixtures } from "../../fixtures/rules.ts";
import { ruleDocs } from "../../rules/docs.ts";
import { rules } from "../../rules/index.ts";
import type { Finding } from "../../src/lint/result.ts";
import { findingsIn } from "./lint.ts";

/** What a finding says, without what moves when the cost model is fitted again: shares, and which multiple is best. */
function said({ code, node, op, message, data, fix }: Finding) {
  const kept = Object.entries(data).filter(([key]) => !/^(percent|share|change|padded)/.test(key));
  const words = message.replaceAll(/[\d.]+ %/g, "… %").replace(/; pad .*/, "; pad …");
  return { code, node, op, message: words, data: Object.fromEntries(kept), fix };
}

/** Rules that speak of what `--fix` does, where somebody asked it. */
const ofFixes = new Set(["TC410"]);

function findingsOf(code: string, bytes: Uint8Array): Finding[] {
  return findingsIn(bytes, { decided: ofFixes.has(code) }).filter((finding) => finding.code === code);
}

describe("every rule", () => {
  it("has a code and a name of its own", () => {
    expect(new Set(rules.map(({ code }) => code)).size).toBe(rules.length);
    expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length);
  });

  it("has a page and fixtures, and nothing else has", () => {
    const codes = rules.map(({ code }) => code);
    expect(ruleDocs.map(({ code }) => code)).toEqual(codes);
    expect(Object.keys(ruleFixtures).sort()).toEqual(codes);
  });

  it.each(rules)("$code $name flags what it is for", ({ code }) => {
    const fixture = ruleFixtures[code];
    expect(fixture && findingsOf(code, fixture.bad()).length).toBeGreaterThan(0);
    expect(fixture && findingsOf(code, fixture.bad()).map(said)).toMatchSnapshot();
  });

  it.each(rules)("$code $name is silent where nothing is wrong", ({ code }) => {
    const fixture = ruleFixtures[code];
    expect(fixture && findingsOf(code, fixture.good()).map(said)).toEqual([]);
  });

  it.each(["TC101", "TC102", "TC103", "TC106", "TC204"])("%s pads to a multiple", (code) => {
    for (const { data } of findingsOf(code, ruleFixtures[code]?.bad() ?? new Uint8Array())) {
      const padded = Object.entries(data).filter(([key]) => key.startsWith("padded"));
      expect(padded.every(([, size]) => Number(size) % 8 === 0 || size === data["m"])).toBe(true);
    }
  });

  it.each(rules)("$code $name fills every placeholder, and claims no loss", ({ code }) => {
    for (const finding of findingsOf(code, ruleFixtures[code]?.bad() ?? new Uint8Array())) {
      expect(finding.message).not.toMatch(/[{}]|undefined/);
      expect(finding.saves === null || finding.saves.microseconds > 0).toBe(true);
    }
  });
});
