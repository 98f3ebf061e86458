import { describe, expect, it } from "vitest";
import { ruleFixtures } from "../../fixtures/rules.ts";
import { rules } from "../../rules/index.ts";
import { mayBeLater } from "../../src/lint/ladder.ts";
import { findingsIn } from "../rules/lint.ts";

describe("a rule that is not asked of later states", () => {
  it.each(rules.filter((rule) => !mayBeLater(rule)).map(({ code }) => [code]))(
    "%s finds no later step",
    (code) => {
      const findings = findingsIn(ruleFixtures[code]?.bad() ?? new Uint8Array()).filter(
        (each) => each.code === code,
      );
      expect(findings).not.toEqual([]);
      for (const { saves, fix } of findings) expect(saves === null || fix === "unsafe").toBe(true);
    },
  );
});
