/** @file Every test that docs/reliability.md names is there. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
/** The tables of faults: those with a column for the test. */
const rows = readFileSync(path.join(root, "docs/reliability.md"), "utf8")
  .split("\n## ")
  .filter((section) => section.includes("| test |"))
  .flatMap((section) =>
    section.split("\n").filter((line) => line.startsWith("| ") && !line.endsWith("| test |")),
  );

it("there are faults, and each row names its test", () => {
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((row) => !/\| `test\/[^`]*\.test\.ts` ".*" \|$/.test(row))).toEqual([]);
});

it.each(rows.map((row) => [row.split("|")[1]?.trim(), row] as const))("%s", (_, row) => {
  const [, file = "", name = ""] = /`(test\/[^`]*)` "(.*)" \|$/.exec(row) ?? [];
  expect(existsSync(path.join(root, file))).toBe(true);
  const source = readFileSync(path.join(root, file), "utf8");
  expect(titlesOf(source)).toContain(name);
});

/** What stands first in a call of `it` or `test`, or in a row of its table. */
function titlesOf(source: string): readonly string[] {
  return [...source.matchAll(/(?:[(,[]\s*)(["`])((?:(?!\1).)*)\1\s*,/g)].map(([, , title = ""]) => title);
}
