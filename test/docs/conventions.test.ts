import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/conventions.md", root), "utf8");
const rows = page.split("\n").flatMap((line) => {
  const [, number, , , tests] = /^\| (\d+) \| (.*?) \| (.*?) \| (.*) \|$/.exec(line) ?? [];
  return number === undefined ? [] : [{ number: Number(number), tests: tests ?? "" }];
});

/** Each file, with the titles that follow it. */
function citedIn(tests: string): (readonly [file: string, titles: readonly string[]])[] {
  return tests.split(/(?=`test\/)/).map((part) => {
    const [, file = ""] = /^`(test\/[^`]+)`/.exec(part) ?? [];
    return [file, [...part.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title)];
  });
}

it("the table has all fifteen", () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
});

it.each(rows)("$number is held by tests that are there", ({ tests }) => {
  const cited = citedIn(tests);
  expect(cited.length).toBeGreaterThan(0);
  for (const [file, titles] of cited) {
    expect(existsSync(new URL(file, root)), file).toBe(true);
    const text = readFileSync(new URL(file, root), "utf8");
    expect(titles.length, file).toBeGreaterThan(0);
    for (const title of titles) expect(text.includes(`("${title}"`), `${file}: ${title}`).toBe(true);
  }
});
