/** @file What an unknown rule is answered with: names of rules that there are. */
import { expect, test } from "vitest";
import { rules } from "../../rules/index.ts";
import { selectRules } from "../../src/settings/rule-selectors.ts";

test("suggests codes and names of rules alone, for any slip of a digit or a letter", () => {
  const known = new Set<string>(rules.flatMap(({ code, name }) => [code, name]));
  const slips = rules.flatMap(({ code, name }) => [`${code}9`, code.replace(/.$/, "x"), name.slice(1)]);
  for (const slip of [...slips, "TC999", "TC9999", "TCx", "TC00"]) {
    const message = (() => {
      try {
        selectRules(slip, rules, "--select");
        return "";
      } catch (error) {
        return String(error);
      }
    })();
    const suggested = /did you mean "([^"]*)"/.exec(message)?.[1];
    if (suggested !== undefined) expect(known, slip).toContain(suggested);
  }
});
